"""A dirty block's age counts from when it first became dirty, and a flush writes the oldest
block first."""

from grade.engine.scenario import BLOCK_BYTES, Run, Scenario
from grade.engine.workbench import Workbench

from ..places import find_disk

BLOCKS = 16


def _dirty(file: str, blocks: list[int]) -> str:
    """Return commands that write these blocks of a file, one after the other."""
    lines = (
        f"dd if=/input of=/data/{file} bs=4k count=1 seek={block} conv=notrunc 2> /dev/null\n"
        for block in blocks
    )
    return "".join(lines)


def _orders(bench: Workbench) -> tuple[list[int], list[int], list[int]]:
    """Return three orders: of all blocks, of some older ones among them, and of all again."""
    rng = bench.random("orders")
    first = rng.sample(range(BLOCKS), BLOCKS)
    again = rng.sample(first[: BLOCKS // 2], BLOCKS // 3)
    return first, again, rng.sample(range(BLOCKS), BLOCKS)


def _run(bench: Workbench) -> Run:
    """Make blocks dirty three times, each time in another order, with a sync after each."""
    first, again, second = _orders(bench)
    script = f"""
{_dirty("f", first + again)}
beacon 1
sync
beacon 2
{_dirty("f", second)}
beacon 3
sync
beacon 4
dd if=/input of=/data/g bs=4k 2> /dev/null
rm /data/g
dd if=/input of=/data/h bs=4k 2> /dev/null
beacon 5
sync
beacon 6
"""
    return bench.run(
        Scenario(
            name="age",
            script=script,
            args="write=delayed update=none nbuf=1000",
            files=(("/input", bytes(BLOCKS * BLOCK_BYTES)),),
            data=(("/f", "1M"),),
            disk=find_disk(bench, "age"),
        )
    )


def _expect_order(run: Run, path: str, first: int, wanted: list[int]) -> None:
    """Expect that the sync between this beacon and the next queues these blocks in this order."""
    came = run.writes_of(path, run.beacon(first), run.beacon(first + 1))
    blocks = [write.block for write in came]
    astray = (write for write, block in zip(came, wanted, strict=False) if write.block != block)
    run.expect(
        blocks == wanted,
        f"the sync to queue blocks {wanted} of {path}, in this order",
        f"blocks {blocks}",
        next(astray, None),
    )


def writing_a_dirty_block_again_does_not_make_it_younger(bench: Workbench) -> None:
    """Blocks are written in a random order, then older ones again; then there is a sync."""
    first, _, _ = _orders(bench)
    _expect_order(_run(bench), "/f", 1, first)


def once_clean_a_block_is_young_again(bench: Workbench) -> None:
    """Blocks become dirty, are written by sync, and become dirty again in another order."""
    _, _, second = _orders(bench)
    _expect_order(_run(bench), "/f", 3, second)


def a_block_that_was_freed_while_dirty_is_young_again(bench: Workbench) -> None:
    """A new file is removed while its blocks are dirty; the next new file gets the same blocks."""
    _expect_order(_run(bench), "/h", 5, list(range(BLOCKS)))
