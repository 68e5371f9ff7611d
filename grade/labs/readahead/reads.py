"""The reads of a file's blocks, as the disk saw them."""

from itertools import pairwise

from grade.engine.assertions import expect
from grade.engine.scenario import Request, Run
from grade.engine.workbench import Workbench


def size(bench: Workbench, name: str) -> str:
    """Return the size of a file: about a megabyte."""
    return f"{4 * bench.random(f'size of {name}').randrange(200, 400)}K"


def reads(run: Run, path: str) -> list[tuple[int, Request]]:
    """Return block and request of each read, in the order in which they were queued."""
    number = run.sectors(path)
    found = [(number[r.sector], r) for r in run.data(write=False) if r.sector in number]
    return sorted(found, key=lambda read: read[1].queued_ns)


def expect_blocks(run: Run, path: str, first: int, last: int) -> dict[int, Request]:
    """Raise Wrong unless exactly these blocks were read, each once.

    Returns the requests by block.
    """
    came = [block for block, _ in reads(run, path)]
    wanted = list(range(first, last + 1))
    expect(
        sorted(came) == wanted, f"reads of blocks {first} to {last}, each once", f"blocks {came}"
    )
    return dict(reads(run, path))


def expect_reads_ahead(run: Run, path: str, first: int = 0) -> None:
    """Raise Wrong unless the read of the block after `first` was queued early.

    Early means: before the read of `first` was done.
    """
    found = dict(reads(run, path))
    expect(
        {first, first + 1} <= found.keys(),
        f"reads of blocks {first} and {first + 1}",
        f"blocks {list(found)}",
    )
    late_ns = found[first + 1].queued_ns - found[first].completed_ns
    run.expect(
        late_ns < 0,
        f"block {first + 1} to be queued before block {first} is done",
        f"it was queued {late_ns / 1e6:.3f} ms after that",
        found[first + 1],
    )


def expect_any_ahead(run: Run, path: str) -> None:
    """Raise Wrong unless some read was queued while the read before it was not done yet."""
    queued = [request for _, request in reads(run, path)]
    ahead = any(after.queued_ns < before.completed_ns for before, after in pairwise(queued))
    expect(ahead, f"blocks of {path} to be read ahead", "none was")
