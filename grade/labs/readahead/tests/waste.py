"""A program that reads at random causes no read of a block that it did not ask for."""

from grade.engine.assertions import expect
from grade.engine.workbench import Workbench

from ..loads import RANDOM_READS, reading
from ..reads import expect_any_ahead, reads

BY_CHANCE = 5  # random reads that happen to be in sequence, or of the same block


def random_reads_are_not_read_ahead(bench: Workbench) -> None:
    """Ten blocks of one file are read in sequence, then sixty of another at random."""
    run = bench.run(reading(bench), despite_faults=True)
    expect_any_ahead(run, "/ten")
    came = len(reads(run, "/r"))
    expect(
        RANDOM_READS - BY_CHANCE <= came <= RANDOM_READS + BY_CHANCE,
        f"about {RANDOM_READS} blocks to be read, as many as the program asked for",
        f"{came} were",
    )
