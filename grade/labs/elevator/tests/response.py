"""With a full queue, requests wait less than under first come, first served."""

from dataclasses import replace
from statistics import mean

from grade.engine.assertions import Slide, expect
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

from ..loads import find_disk, list_drives

READERS = 12


def _scenario(bench: Workbench) -> Scenario:
    """Some readers read at random at the same time, so the disk's queue is full."""
    rng = bench.random("load")
    seed, reads = rng.randrange(1, 10**9), rng.randrange(50, 80)
    jobs = " -- ".join(
        f"name=j{i} rw=randread seed={seed + i} filename=/dev/disk1 bs=4k number_ios={reads}"
        for i in range(READERS)
    )
    return Scenario(
        name="response",
        script=f"beacon 1\niogen {jobs} > /dev/null\nbeacon 2\n",
        args="update=none sched=clook nbuf=100",
        size="500M",
        disk=find_disk(bench, "response"),
        drives=list_drives(bench, "response"),
    )


def _reads_ms(run: Run) -> list[float]:
    start_ns, end_ns = run.beacon(1), run.beacon(2)
    return [r.response_ms for r in run.data(write=False) if start_ns <= r.queued_ns < end_ns]


def random_reads_wait_less(bench: Workbench) -> Slide:
    """The mean response time of twelve processes' reads all over the disk."""
    scenario = _scenario(bench)
    plain = replace(
        scenario, name="response-fcfs", args=scenario.args.replace("sched=clook", "sched=fcfs")
    )
    best, worst = _reads_ms(bench.reference(scenario)), _reads_ms(bench.reference(plain))
    value = _reads_ms(bench.run(scenario, despite_faults=True))
    expect(len(value) >= len(best), f"{len(best)} reads", f"{len(value)}")
    full, none = mean(best), mean(worst)
    return Slide("mean read response", "ms", mean(value), full + 0.2 * (none - full), none)
