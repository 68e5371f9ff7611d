"""By how much the twin's results are off from the machine's, of the same runs."""

from collections.abc import Iterator

import numpy as np

LIMITS = {"mean": 2.0, "deviation": 5.0, "writes": 1.0}  # per cent, of each kind of figure


def figures(line: dict) -> Iterator[tuple[str, str, float]]:
    """What is compared of a result: which job's or disk's, the kind of figure, and the figure."""
    for job in line["jobs"]:
        times = job.get("response_ns")
        if times and times["mean"]:
            yield job["job"], "mean", times["mean"]
            yield job["job"], "deviation", times["std"]
    yield "disks", "writes", line["counters"]["disk.writes"][0]


def off(machine: list[dict], twin: list[dict]) -> dict[tuple[str, str], np.ndarray]:
    """By how many per cent the twin is off in each figure, run by run. The runs are in one
    order."""
    found: dict[tuple[str, str], list[float]] = {}
    for a, b in zip(machine, twin, strict=True):
        for (whose, kind, x), (_, _, y) in zip(figures(a), figures(b), strict=True):
            if x:
                found.setdefault((whose, kind), []).append(100 * (y / x - 1))
    return {key: np.array(values) for key, values in found.items()}


def by_arm(machine: list[dict], twin: list[dict]) -> dict[str, dict[tuple[str, str], np.ndarray]]:
    """The same, of each arm of an experiment."""
    arms = dict.fromkeys(line["arm"] for line in machine)
    both = machine, twin
    return {
        arm: off(*([line for line in found if line["arm"] == arm] for found in both))
        for arm in arms
    }
