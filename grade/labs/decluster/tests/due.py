"""A block is written at its age: no sooner, unless its age was raised, and never later."""

from dataclasses import replace

from grade.engine.assertions import expect
from grade.engine.counters import counter_growth
from grade.engine.scenario import BLOCK_BYTES, FOR_EVER, Run, Scenario
from grade.engine.workbench import Workbench

from ..burst import Burst, list_bursts, scenario
from ..writes import Dirtying, dirtyings, expect_written

SCAN_S = 1.05  # from the begin of a scan to the end of the next one
BLOCKS = 12
BUSY_S = 12
LOWERED = 20  # a beacon
SLACK = 4  # blocks that became dirty while a scan began


def _age_s(bench: Workbench) -> int:
    return bench.random("age").randrange(4, 8)


def _alone(bench: Workbench) -> Run:
    """Return a run in which BLOCKS blocks become dirty one by one, with pauses between them."""
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
        one.expect_age(_age_s(bench), FOR_EVER, f"to stay for ldcl.age_s={_age_s(bench)} s")


def each_block_is_written_by_the_next_scan_after_its_age(bench: Workbench) -> None:
    """The same twelve blocks are each written by the next scan."""
    expect_written(_dirtyings(_alone(bench)), _age_s(bench) + SCAN_S)


def _bursts(bench: Workbench) -> tuple[Run, int]:
    """Four programs dirty blocks of one file, now and then many at once. With the age."""
    rng, age_s = bench.random("bursts"), _age_s(bench)
    jobs = " -- ".join(
        f"name=w{i} rw=randwrite filename=/data/f bs=4k seed={rng.randrange(10**6)} "
        f"thinktime_blocks={rng.randrange(10, 60)} thinktime_us={rng.randrange(700, 2500)}000 "
        f"runtime_s={BUSY_S}"
        for i in range(4)
    )
    return bench.run(
        Scenario(
            name="due-bursts",
            script=f"iogen {jobs} > /dev/null\nbeacon 1\nsleep {age_s + 3}\nbeacon 2",
            args=f"write=delayed update=ldcl nbuf=2000 ldcl.age_s={age_s} ldcl.range_s=3",
            check=False,
            data=(("/f", "8M"),),
        )
    ), age_s


def _run_counted_load(bench: Workbench) -> tuple[Run, list[Burst]]:
    """Run a burst of ten blocks; then write others, and set their age to one second when they are
    older."""
    made = [Burst(_age_s(bench), 100, 3, 10)]
    asked = scenario("due-counted", made)
    script = f"""
{asked.script}
policy set ldcl.age_s 30
policy use update ldcl
iogen rw=write filename=/data/f bs=4k number_ios=5 > /dev/null
sleep 3
beacon {LOWERED}
policy set ldcl.age_s 1
sleep 2
beacon {LOWERED + 1}
"""
    return bench.run(replace(asked, script=script, data=(*asked.data, ("/f", "1M")))), made


def blocks_that_are_older_than_the_age_are_written(bench: Workbench) -> None:
    """Blocks are dirty for three seconds when age_s is set to one second; and many become dirty at
    any time, so that some pass from below the age to beyond it between two scans."""
    run, _ = _run_counted_load(bench)
    lowered_ns, end_ns = run.beacon(LOWERED), run.beacon(LOWERED + 1)
    found = dirtyings(run, "/f", lowered_ns, end_ns)
    expect_written(found, (end_ns - lowered_ns) / 1e9 + 3.5)
    run, age_s = _bursts(bench)
    found = _dirtyings(run)
    expect(len(found) > 100, "many blocks to become dirty", f"{len(found)}")
    expect_written(found, age_s + SCAN_S)


def each_block_that_a_scan_looks_at_is_counted(bench: Workbench) -> None:
    """Ten blocks become dirty at once. The counter `scanned` agrees with the trace."""
    run, made = _run_counted_load(bench)
    (seen,) = list_bursts(run, made)
    expect_written(seen.dirtyings, made[0].age_s + SCAN_S)
    wanted = sum(map(seen.count_scans, seen.written_blocks))
    came = counter_growth(run, 1, 2, "ldcl.scanned")
    expect(abs(came - wanted) <= SLACK, f"ldcl.scanned to grow by about {wanted}", f"{came}")
