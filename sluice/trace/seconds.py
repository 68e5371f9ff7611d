"""Spreads the requests of a trace whose times are whole seconds over their seconds."""

from collections.abc import Iterator

import numpy as np

from sluice.trace.common import empty_table

SECOND_NS = 10**9


def spread_runs(rows: np.ndarray) -> np.ndarray:
    """Return requests, shape (requests,), with those that follow one another at one time spaced
    evenly over its second."""
    spread = rows.copy()
    times = rows["time_ns"]
    # Where another time begins, and how many requests have it.
    starts = np.flatnonzero(np.concatenate([[True], times[1:] != times[:-1]]))
    counts = np.diff(np.append(starts, len(rows)))
    # Of each request: its place among those of its time, and how many these are.
    rank = np.arange(len(rows)) - np.repeat(starts, counts)
    of = np.repeat(counts, counts)
    spread["time_ns"] += (rank * SECOND_NS // of).astype("<u8")
    return spread


def spread_seconds(tables: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield tables of requests whose times are whole seconds, with the requests of each second
    spaced evenly over it. One second at a time is held back until its end is known."""
    held = empty_table()
    for table in tables:
        rows = np.concatenate([held, table])
        others = np.flatnonzero(rows["time_ns"] != rows["time_ns"][-1])
        first = int(others[-1]) + 1 if len(others) else 0  # of the last second
        if first:
            yield spread_runs(rows[:first])
        held = rows[first:]
    if len(held):
        yield spread_runs(held)
