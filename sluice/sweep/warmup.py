"""Read --warmup: the part of a trace that fills the cache before requests count."""

import re
from pathlib import Path

import numpy as np

from sluice.blocks.batch import Trace
from sluice.sweep.ranges import BadSweep
from sluice.trace.common import REQUEST
from sluice.trace.packed import HEAD

UNITS_S = {"s": 1, "min": 60, "h": 3600, "d": 86400}
SHARE = "%"
WORD = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join([SHARE, *UNITS_S])})?")


def read_times(path: Path) -> np.ndarray:
    """Return the times of a decoded trace's requests in ns, as the file has them."""
    times: np.ndarray = np.memmap(path, REQUEST, "r", HEAD.size)["time_ns"]
    return times


def expect_warmup(text: str) -> None:
    """Raise BadSweep unless a text is a number of requests, a share or a time."""
    if text and not WORD.fullmatch(text):
        units = ", ".join(UNITS_S)
        raise BadSweep(
            f"--warmup={text}: must be a number of requests, a share of them as 10%, or a time "
            f"with its unit ({units}), as 24h"
        )


def count_warmup(text: str, trace: Trace) -> int:
    """Return how many requests --warmup means. Raises BadSweep if none is left, or the trace has no
    times."""
    if not text:
        return 0
    expect_warmup(text)
    found = WORD.fullmatch(text)
    assert found
    number, unit = float(found[1]), found[2]
    requests = trace.known.requests
    if unit in UNITS_S:
        if trace.known.timeless:
            raise BadSweep(f"--warmup={text}: the trace has no times: give a share of it, as 10%")
        begins_ns = round(number * UNITS_S[unit] * 1e9)
        count = int(np.searchsorted(read_times(trace.path), begins_ns))
    else:
        count = round(requests * number / 100) if unit == SHARE else int(number)
    if count >= requests:
        raise BadSweep(f"--warmup={text}: no request is left of {requests:,}: give less")
    return count
