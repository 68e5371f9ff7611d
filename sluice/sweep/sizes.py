"""Reads --cache: sizes of the cache for a trace, in percent of the blocks that the trace reads."""

from pathlib import Path

import numpy as np

from sluice.experiment.schema import MACHINE
from sluice.experiment.summary import format_number
from sluice.sweep.ranges import BadSweep
from sluice.trace import reader
from sluice.trace.stream import NUMBER

BLOCK = 4096
LEAST = MACHINE["nbuf"].low  # buffers that the kernel needs


def parse_shares(text: str) -> list[float]:
    """Return the percentages of --cache. Raises BadSweep."""
    words = [word.strip() for word in text.split(",")]
    if not all(NUMBER.fullmatch(word) and 0 < float(word) <= 100 for word in words):
        raise BadSweep(f"--cache={text}: must be percentages, as 10, 25, 50")
    return [float(word) for word in words]


def count_blocks_read(requests: np.ndarray) -> int:
    """Return how many different blocks a trace reads."""
    reads = requests[requests["write"] == 0]
    if not len(reads):
        return 0
    reads = reads[np.argsort(reads["offset"])]
    first, last = reads["offset"] // BLOCK, (reads["offset"] + reads["bytes"] - 1) // BLOCK
    first, last = first.astype("<i8"), last.astype("<i8")
    # The highest block of all requests before each request: what lies above is new.
    before = np.concatenate([[-1], np.maximum.accumulate(last)[:-1]])
    first_new = np.maximum(first, before + 1)
    return int(np.maximum(last - first_new + 1, 0).sum())


def buffer_counts(path: Path, format: str, count: int | None, cache: str) -> list[int]:
    """Return the sizes of the cache, in buffers, with which a trace is replayed.

    Raises BadSweep.
    """
    wanted = parse_shares(cache)
    there = count_blocks_read(reader.read_requests(path, format, count))
    if not there:
        raise BadSweep(f"{path.name}: reads nothing, so no cache can help it")
    found = {share: round(there * share / 100) for share in wanted}
    for share, size in found.items():
        if size < LEAST:
            do = "give a larger share" if there >= LEAST else "give no --cache"
            raise BadSweep(
                f"--cache={cache}: {share:g} % of the {format_number(there)} blocks that "
                f"{path.name} reads are {size} buffers, and the kernel needs {LEAST}: {do}"
            )
    return list(dict.fromkeys(found.values()))
