"""Programs that read and compute wait less."""

from dataclasses import replace

from grade.scoring.bench import Bench
from grade.scoring.run import Run, Scenario
from grade.scoring.verdict import Slide

READS = 100

JOBS = " -- ".join(
    f"name={name} rw=read filename=/data/{name} bs=4k number_ios={READS} thinktime_us=30000"
    for name in "ab"
)
SCENARIO = Scenario(
    name="wait",
    script=f"beacon 1\niogen {JOBS} > /dev/null\nbeacon 2",
    args="update=none prefetch=oneblock nbuf=1000",
    data=(("/a", "1M"), ("/b", "1M")),
)
NONE = replace(
    SCENARIO, name="wait-none", args=SCENARIO.args.replace("prefetch=oneblock", "prefetch=none")
)


def _took_ms(run: Run) -> float:
    return (run.beacon(2) - run.beacon(1)) / 1e6


def two_programs_that_compute_between_reads_wait_less(bench: Bench) -> Slide:
    """Two programs each read a file in sequence, and compute after each block."""
    full, none = _took_ms(bench.reference(SCENARIO)), _took_ms(bench.reference(NONE))
    value = _took_ms(bench.run(SCENARIO))
    return Slide("time of both", "ms", value, full + 0.2 * (none - full), none)
