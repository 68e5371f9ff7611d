"""A read in the middle of a file begins a stream. Nothing is read ahead before it goes on."""

from grade.engine.assertions import expect
from grade.engine.workbench import Workbench

from ..loads import middle, reading
from ..reads import reads


def a_stream_in_the_middle_begins_with_its_second_read(bench: Workbench) -> None:
    """Six blocks are read, the first of them somewhere in a file. Which block is read ahead, and
    how many are, does not matter here."""
    first = middle(bench)
    run = bench.run(reading(bench), despite_faults=True)
    queued = reads(run, "/middle")  # blocks and their requests
    read = dict(queued)
    wanted, came = f"reads of blocks {first} and {first + 1}", f"blocks {sorted(read)}"
    expect({first, first + 1} <= read.keys(), wanted, came)
    done_ns = read[first].completed_ns
    early = [(block, r) for block, r in queued if block != first and r.queued_ns < done_ns]
    run.expect(
        not early,
        f"no other block's read to be queued before that of block {first} is done",
        f"that of block {early[0][0]} was" if early else "",
        early[0][1] if early else None,
    )
    second = read[first + 1]
    run.expect(
        any(block > first + 1 and r.queued_ns < second.completed_ns for block, r in queued),
        f"a block to be read ahead when the program asks for block {first + 1}",
        "none was",
        second,
    )
