"""A block is written at its age: no sooner, unless its age was raised, and never later."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import BLOCK_BYTES, Run, Scenario
from grade.scoring.workbench import Workbench

from ..writes import Dirtying, dirtyings, expect_written

SCAN_S = 1.05  # from one scan to the end of the next
BLOCKS = 12
BUSY_S = 12


def _age_s(bench: Workbench) -> int:
    return bench.random("age").randrange(4, 8)


def _alone(bench: Workbench) -> Run:
    """Blocks become dirty one by one."""
    rng, age_s = bench.random("pauses"), _age_s(bench)
    lines = []
    for block in range(BLOCKS):
        lines.append(f"dd if=/input of=/data/f bs=4k count=1 seek={block} conv=notrunc 2>/dev/null")
        lines.append(f"sleep 0.{rng.randrange(600, 999)}")
    return bench.run(
        Scenario(
            name="due-alone",
            script="\n".join([*lines, "beacon 1", f"sleep {age_s + 3}", "beacon 2"]),
            args=f"write=delayed update=ldcl nbuf=1000 ldcl.age_s={age_s}",
            check=False,
            files=(("/input", bytes(BLOCK_BYTES)),),
            data=(("/f", "1M"),),
        )
    )


def _dirtyings(run: Run) -> list[Dirtying]:
    return dirtyings(run, "/f", run.beacon(1), run.beacon(2))


def a_block_that_is_alone_is_not_written_before_its_age(bench: Workbench) -> None:
    """Twelve blocks become dirty, one or two each second."""
    found = _dirtyings(_alone(bench))
    expect_written(found, _age_s(bench) + BLOCKS)
    for one in found:
        expect(
            one.age_s >= _age_s(bench),
            f"block {one.block} to stay for ldcl.age_s={_age_s(bench)} s",
            f"it was written after {one.age_s:.3f} s",
        )


def each_block_is_written_by_the_next_scan_after_its_age(bench: Workbench) -> None:
    """The same twelve blocks are each written by the next scan."""
    expect_written(_dirtyings(_alone(bench)), _age_s(bench) + SCAN_S)


def no_block_grows_older_in_bursts_either(bench: Workbench) -> None:
    """Four programs dirty blocks of one file, now and then many at once."""
    rng, age_s = bench.random("bursts"), _age_s(bench)
    jobs = " -- ".join(
        f"name=w{i} rw=randwrite filename=/data/f bs=4k seed={rng.randrange(10**6)} "
        f"thinktime_blocks={rng.randrange(10, 60)} thinktime_us={rng.randrange(700, 2500)}000 "
        f"runtime_s={BUSY_S}"
        for i in range(4)
    )
    run = bench.run(
        Scenario(
            name="due-bursts",
            script=f"iogen {jobs} > /dev/null\nbeacon 1\nsleep {age_s + 3}\nbeacon 2",
            args=f"write=delayed update=ldcl nbuf=2000 ldcl.age_s={age_s} ldcl.range_s=3",
            check=False,
            data=(("/f", "8M"),),
        )
    )
    found = _dirtyings(run)
    expect(len(found) > 100, "many blocks to become dirty", f"{len(found)}")
    expect_written(found, age_s + SCAN_S)
