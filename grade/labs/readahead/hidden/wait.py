"""Programs that read and compute are done sooner."""

from dataclasses import replace

from grade.engine.assertions import Slide
from grade.engine.parameters import SMALL_DRIVE
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

from ..reads import size

READS = 100

JOBS = " -- ".join(
    f"name={name} rw=read filename=/data/{name} bs=4k number_ios={READS} thinktime_us=30000"
    for name in "ab"
)


def _scenario(bench: Workbench) -> Scenario:
    """Two programs read a file each, and compute between their reads."""
    return Scenario(
        name="wait",
        script=f"beacon 1\niogen {JOBS} > /dev/null\nbeacon 2",
        args="update=none prefetch=oneblock nbuf=1000",
        data=tuple((f"/{name}", size(bench, name)) for name in "ab"),
        drives=(SMALL_DRIVE,),
    )


def _took_ms(run: Run) -> float:
    return (run.beacon(2) - run.beacon(1)) / 1e6


def two_programs_that_compute_between_reads_wait_less(bench: Workbench) -> Slide:
    """Two programs each read a file in sequence, and compute after each block.

    The drive has no cache of its own, which would hide how much is read ahead. Who reads every
    other block ahead saves half of the time, and earns nothing.
    """
    ahead = _scenario(bench)
    plain = replace(ahead, name="wait-none", args=ahead.args.replace("=oneblock", "=none"))
    full, none = _took_ms(bench.reference(ahead)), _took_ms(bench.reference(plain))
    value = _took_ms(bench.run(ahead))
    share = (none - full) / 100
    return Slide("time of both programs", "ms", value, full + 20 * share, full + 45 * share)
