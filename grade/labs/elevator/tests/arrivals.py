"""A request that arrives ahead of the head is served in this sweep, one behind it in the next;
reads and writes alike."""

from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

from ..choices import check


def _job(bench: Workbench, number: int, mode: str) -> str:
    """One process: reads anywhere on the disk, or writes a file of its own."""
    rng = bench.random(f"job {number}")
    seed, requests = rng.randrange(1, 10**9), rng.randrange(80, 120)
    where = "/dev/disk1" if mode == "randread" else f"/data/f{number}"
    return f"name=j{number} rw={mode} seed={seed} filename={where} bs=4k number_ios={requests}"


def _jobs(bench: Workbench, name: str, modes: list[str]) -> Scenario:
    jobs = " -- ".join(_job(bench, i, mode) for i, mode in enumerate(modes))
    return Scenario(
        name=name,
        script=f"beacon 1\niogen {jobs} > /dev/null\nbeacon 2\n",
        args="write=through update=none sched=clook nbuf=100",
        data=tuple((f"/f{i}", "1536K") for i in range(len(modes))),
    )


def each_reader_is_served_where_the_head_passes(bench: Workbench) -> None:
    """Eight processes read random blocks; each asks for the next when it has the last."""
    run = bench.run(_jobs(bench, "readers", ["randread"] * 8), despite_faults=True)
    check(run, run.beacon(1), run.beacon(2), 400)


def reads_and_writes_are_served_in_one_sweep(bench: Workbench) -> None:
    """Four processes read and four write through to the disk."""
    run = bench.run(_jobs(bench, "mixed", ["randread", "randwrite"] * 4), despite_faults=True)
    check(run, run.beacon(1), run.beacon(2), 300)
