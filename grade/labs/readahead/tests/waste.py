"""A program that reads at random causes no read of a block that it did not ask for."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

from ..reads import expect_reads_ahead, reads, size

READS = 60
BY_CHANCE = 5  # random reads that happen to be in sequence


def random_reads_are_not_read_ahead(bench: Workbench) -> None:
    """Ten blocks of one file are read in sequence, then sixty of another at random."""
    seed = bench.random("seed").randrange(1, 10**9)
    scenario = Scenario(
        name="waste",
        script=f"""
dd if=/data/f of=/dev/null bs=4k count=10 2> /dev/null
iogen rw=randread filename=/data/r bs=4k seed={seed} number_ios={READS} > /dev/null
""",
        args="update=none prefetch=oneblock nbuf=1000",
        data=(("/f", size(bench, "waste")), ("/r", "12M")),
    )
    run = bench.run(scenario)
    expect_reads_ahead(run, "/f")
    came = len(reads(run, "/r"))
    expect(
        READS - BY_CHANCE <= came <= READS + BY_CHANCE,
        f"about {READS} blocks to be read, as many as the program asked for",
        f"{came} were",
    )
