"""`sluice bench`, second part: the promised speeds, each with its target, and build/targets.json.

Some are in virtual time and the same on every host: costs that must not grow with the cache, for a
thousand and for a million buffers. Those of the host's clock are meaningful on an idle host.
"""

import json
import os
import platform
import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from statistics import median

from sluice.experiment import runner, trial
from sluice.experiment.aligned import Growing
from sluice.experiment.schema import Experiment
from sluice.experiment.selection import load_experiments, twin_variant
from sluice.host.paths import BUILD, NATIVE, ROOT
from sluice.twin import engine
from tools.bench import replay_speed, scaling

SMALL, LARGE = 1_000, 1_000_000  # dirty blocks
SMALL_CACHE, LARGE_CACHE = 8 << 10, 1 << 20  # buffers
REQUESTS = 10_000  # of a replayed trace
REPLAYS = 5
MOGUL = "mogul-4.1"  # three experiments, 79 runs
COMPARED = ("read", "disks")  # not its writes, which only compute: some microseconds
TRIALS = 20  # of the twin
FIGURES = ("virtual_ms", "counters", "histograms", "jobs", "series")  # of a result
TABLE = Growing(["value", "", "target", ""], [41, 9, 5, 9, 6], words=(2, 4))
# How many times as fast as another program the replayer is, at least.
REPLAY_TARGETS = {"lru, drive none": 1.0, "lru, drive cheetah4lp": 0.3, "twin": 5}
SWEPT_S = 2 * 3600 / 100_000  # for 100,000 trials in an hour of two processors


@dataclass(frozen=True)
class Row:
    """A speed, of which less is better, or more.

    target: its limit, or None; more: the value must be at least its limit, in place of at most.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    more: bool = False

    def format_cells(self) -> list[str]:
        """Return the row as the table shows it."""
        if self.target is None:
            return [self.name, f"{self.value:.4g}", self.unit, "", ""]
        good = self.value >= self.target if self.more else self.value <= self.target
        verdict = "met" if good else "MISSED"
        return [self.name, f"{self.value:.4g}", self.unit, f"{self.target:.4g}", verdict]


def growth_rows(
    name: str, small: float, large: float, sizes: tuple[int, int], bound: float
) -> list[Row]:
    """Return two rows: the cost, in ns, at two sizes.

    bound: the larger cost may be this many times the smaller.
    """
    return [
        Row(f"{name} {sizes[0]:,}", small / 1e3, "us"),
        Row(f"{name} {sizes[1]:,}", large / 1e3, "us", small * bound / 1e3),
    ]


def scaling_rows() -> Iterator[Row]:
    """Yield the costs at both sizes."""
    ticks = [scaling.measure_idle_scan(dirty) for dirty in (SMALL, LARGE)]
    name = "aipu's look with nothing due; dirty blocks:"
    yield from growth_rows(name, ticks[0].cpu_ns, ticks[1].cpu_ns, (SMALL, LARGE), 1.01)
    small, large = scaling.measure_reads(SMALL_CACHE), scaling.measure_reads(LARGE_CACHE)
    sizes = (SMALL_CACHE, LARGE_CACHE)
    yield from growth_rows(
        "read of 4 cached blocks; buffers:", small.hit_ns, large.hit_ns, sizes, 1.01
    )
    yield from growth_rows(
        "read of 4 others, CPU; buffers:", small.miss_ns, large.miss_ns, sizes, 1.03
    )


def cpu_s() -> float:
    """Return the processor time of this process and of the children that it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@dataclass(frozen=True)
class Made:
    """Repeated runs: their host time, their processor time, and each experiment's results."""

    host_s: float
    cpu_s: float
    results: list[list[dict]]


def repeat_runs(experiments: list[Experiment], most_runs: int, jobs: int) -> Made:
    """Repeat runs of the experiments, of each at most `most_runs`."""
    start_s, start_cpu_s, results = time.monotonic(), cpu_s(), []
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        for experiment in experiments:
            runs = experiment.runs[:most_runs]
            outcome = runner.execute(experiment, runs, jobs, lambda step: None, Path(folder))
            if outcome.errors:
                raise AssertionError(outcome.errors)
            results.append(outcome.results)
    return Made(time.monotonic() - start_s, cpu_s() - start_cpu_s, results)


def count_differences(machine: list[list[dict]], twin: list[list[dict]]) -> int:
    """Return how many runs the twin has made with other figures than the machine."""
    pairs = zip(chain(*machine), chain(*twin), strict=True)
    return sum(any(one[part] != other[part] for part in FIGURES) for one, other in pairs)


def experiment_rows() -> Iterator[Row]:
    """Yield the cost of one trial, and of all trials of both systems."""
    experiments = load_experiments(MOGUL, None)
    count = sum(len(experiment.runs) for experiment in experiments)
    jobs = os.cpu_count()
    yield Row(
        "trial of 10,000 reads, processor time", repeat_runs(experiments[:1], 1, 1).cpu_s, "s", 3
    )
    machine = repeat_runs(experiments, count, jobs)
    yield Row(f"{count} trials, processor time", machine.cpu_s, "s")
    yield Row(f"{count} trials, {jobs} jobs", machine.host_s, "s", 120)
    if platform.machine() in engine.HOSTS:
        twin = repeat_runs([twin_variant(experiment) for experiment in experiments], count, jobs)
        unequal = count_differences(machine.results, twin.results)
        yield Row("trials of which the twin has other figures", unequal, "", 0)


def twin_rows() -> Iterator[Row]:
    """Yield the cost of a trial of a resident twin: alone, and with a sweep's own work."""
    if platform.machine() not in engine.HOSTS:
        return
    run = twin_variant(load_experiments(MOGUL, None)[0]).runs[0]
    trial.measure_run(run)  # starts it
    start_s = time.process_time()
    twin_s = median(trial.measure_run(run).cpu_s for _ in range(TRIALS))
    here_s = (time.process_time() - start_s) / TRIALS
    yield Row("trial of 10,000 reads on the twin, processor time", twin_s, "s", 0.03)
    yield Row("the same in a sweep, processor time", twin_s + here_s, "s", SWEPT_S)
    name = f"twin with {LARGE:,} dirty blocks of 1 KiB, memory over that of blocks and tables"
    yield Row(name, scaling.measure_twin_memory(LARGE), "times", 2)


def write_trace(path: Path) -> None:
    """Write requests at random places, half of them reads, as drive_replay_tool reads them."""
    draw = random.Random(1)
    lines = [
        f"{draw.choice('RW')} Miss {draw.randrange(8_000_000)} {draw.choice((4, 8, 16))} 9000 9000"
        for _ in range(REQUESTS)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure_replay_s() -> float:
    """Return the host time of a replay, the shortest of several."""
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        trace = Path(folder) / "made.trace"
        write_trace(trace)
        times = []
        for _ in range(REPLAYS):
            start_s = time.monotonic()
            subprocess.run([NATIVE / "drive_replay_tool", trace], check=True, capture_output=True)
            times.append(time.monotonic() - start_s)
    return min(times)


def replay_rows() -> Iterator[Row]:
    """Yield how many times as fast as libCacheSim's process_trace, and as the twin, we replay.

    Without libCacheSim there are no rows.
    """
    try:
        for name, ratios in replay_speed.measure_ratios():
            than = "the twin" if name == "twin" else f"libCacheSim: {name}"
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            target = REPLAY_TARGETS.get(name)
            yield Row(f"replayer / {than}; {spread}", median(ratios), "times", target, more=True)
    except subprocess.CalledProcessError as error:
        print(f"no rows of the replayer: libCacheSim is not there: {error}")


def measure_rows() -> Iterator[Row]:
    """Yield all rows, as they are measured."""
    yield from replay_rows()
    yield Row(f"replay of {REQUESTS:,} requests", measure_replay_s(), "s", 0.2)
    yield from twin_rows()
    yield from experiment_rows()
    yield from scaling_rows()


def run_benchmark() -> None:
    """Measure, print each row when it is done, and write the JSON."""
    measured = []
    print("\n".join(TABLE.format_head()))
    for row in measure_rows():
        print("\n".join(TABLE.format_row(*row.format_cells())), flush=True)
        measured.append(asdict(row))
    out = BUILD / "targets.json"
    out.write_text(json.dumps(measured, indent=2), encoding="utf-8")
    print(f"also in {out.relative_to(ROOT)}")
