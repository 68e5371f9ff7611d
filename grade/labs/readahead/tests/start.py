"""A read in the middle of a file begins a stream. Nothing is read ahead before it goes on."""

from grade.scoring.workbench import Workbench

from ..loads import MIDDLE_BLOCKS, middle, reading
from ..reads import expect_blocks


def a_stream_in_the_middle_begins_with_its_second_read(bench: Workbench) -> None:
    """Six blocks are read, the first of them somewhere in a file."""
    first = middle(bench)
    run = bench.run(reading(bench), despite_faults=True)
    read = expect_blocks(run, "/middle", first, first + MIDDLE_BLOCKS)
    early_ns = read[first].completed_ns - read[first + 1].queued_ns
    run.expect(
        early_ns <= 0,
        f"the read of block {first + 1} not to be queued before that of block {first} is done",
        f"it was queued {early_ns / 1e6:.3f} ms before",
        read[first + 1],
    )
