"""A dirty block's age counts from when it first became dirty, and a flush writes the oldest
block first."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import BLOCK_BYTES, Run, Scenario
from grade.scoring.workbench import Workbench

BLOCKS = 24


def _dirty(block: int) -> str:
    return f"dd if=/input of=/data/f bs=4k count=1 seek={block} conv=notrunc 2> /dev/null\n"


def _scenario(name: str, before: list[int], after: list[int]) -> Scenario:
    """Blocks become dirty before and after a sync; then there is a second sync."""
    return Scenario(
        name=name,
        script="".join(map(_dirty, before))
        + "beacon 1\nsync\nbeacon 2\n"
        + "".join(map(_dirty, after))
        + "beacon 3\nsync\nbeacon 4\n",
        args="write=delayed update=none nbuf=1000",
        files=(("/input", bytes(BLOCK_BYTES)),),
        data=(("/f", "1M"),),
    )


def _expect_order(run: Run, between: tuple[int, int], wanted: list[int]) -> None:
    start_ns, end_ns = map(run.beacon, between)
    came = [write.block for write in run.writes_of("/f", start_ns, end_ns)]
    expect(came == wanted, f"the sync to queue blocks {wanted}, in this order", f"blocks {came}")


def writing_a_dirty_block_again_does_not_make_it_younger(bench: Workbench) -> None:
    """Blocks are written in a random order, then the oldest again; then there is a sync."""
    rng = bench.random("again")
    order = rng.sample(range(BLOCKS), BLOCKS)
    again = rng.sample(order[: BLOCKS // 2], BLOCKS // 3)
    run = bench.run(_scenario("age-again", order + again, []))
    _expect_order(run, (1, 2), order)


def once_clean_a_block_is_young_again(bench: Workbench) -> None:
    """Blocks become dirty, are written by sync, and become dirty again in another order."""
    rng = bench.random("clean")
    first = rng.sample(range(BLOCKS), BLOCKS)
    second = rng.sample(range(BLOCKS), BLOCKS)
    run = bench.run(_scenario("age-clean", first, second))
    _expect_order(run, (3, 4), second)
