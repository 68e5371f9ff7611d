"""Counts the events of a run's trace in bins of time.

All numbers are integers, so that a result has the same bytes on every host. Time begins with the
measured commands. The trace is that of the whole run, so requests that were queued before the
beginning count as queued.
"""

from typing import TYPE_CHECKING

from sluice.experiment.records import DiskBins, TraceSeries
from sluice.system.trace import WRITE, Events, event_names

if TYPE_CHECKING:
    import numpy as np  # loaded where it is used: what only starts machines does without it

MOST_BINS = 1000
MS = 10**6
STEPS = (1, 2, 5)  # of the bins' widths, times a power of ten
HEAT_BITS = 3  # a bucket of response times keeps this many of their first bits
BIN_SHIFT = 53  # a bin in a number with a response time in us, of less than 285 years


def bin_width_ms(length_ms: int) -> int:
    """Return the smallest of 1 s, 2 s, 5 s, 10 s and so on, in ms, that makes at most MOST_BINS
    bins."""
    width_ms = 1000
    while length_ms > width_ms * MOST_BINS:
        first = int(str(width_ms)[0])
        width_ms = width_ms // first * (*STEPS, 10)[STEPS.index(first) + 1]
    return width_ms


def bucket_low(us: int) -> int:
    """Return the start of a response time's bucket, in us. There are four buckets to a power of
    two."""
    rest = max(us.bit_length() - HEAT_BITS, 0)
    return us >> rest << rest


def bucket_high(low_us: int) -> int:
    """Return the end of the bucket that begins at `low_us`."""
    return low_us + (1 << max(low_us.bit_length() - HEAT_BITS, 0))


def bucket_lows(us: "np.ndarray") -> "np.ndarray":
    """Return bucket_low() of each of many response times: the time with only its highest HEAT_BITS
    bits."""
    import numpy as np

    _, bits = np.frexp(us.astype(np.float64))  # how many bits each time has
    dropped = np.maximum(bits - HEAT_BITS, 0).astype(np.uint64)
    lows: np.ndarray = us >> dropped << dropped
    return lows


def queue_lengths(queued: "np.ndarray") -> "np.ndarray":
    """Return the length of a disk's queue after each event. queued: for each event True if it
    queues a request, False if it completes one.

    A request may be completed whose queueing is among the lost events. Then the queue is empty
    before it and stays empty, so no length is below 0.
    """
    import numpy as np

    lengths = np.where(queued, 1, -1).cumsum()
    below_0 = np.minimum(np.minimum.accumulate(lengths), 0)  # the least length so far
    return lengths - below_0


def last_by_bin(bin: "np.ndarray", value: "np.ndarray", bins: int) -> list[int | None]:
    """Return the last value of each bin, or None."""
    found: list[int | None] = [None] * bins
    for i, last in dict(zip(bin.tolist(), value.tolist(), strict=True)).items():
        found[i] = last
    return found


def count_heat(bin: "np.ndarray", response_ns: "np.ndarray") -> list[list[int]]:
    """Return [bin, lowest response of a bucket in us, number of responses] for each bin and bucket
    that has any. bin, response_ns: of each response."""
    import numpy as np

    # A bin and a bucket are counted together, as one number.
    keys = bin.astype(np.uint64) << np.uint64(BIN_SHIFT) | bucket_lows(response_ns // 1000)
    found, counts = np.unique(keys, return_counts=True)
    low_us = (1 << BIN_SHIFT) - 1  # a mask
    pairs = zip(found.tolist(), counts.tolist(), strict=True)
    return [[key >> BIN_SHIFT, key & low_us, count] for key, count in pairs]


def queue_bins(
    bin: "np.ndarray", queued: "np.ndarray", queue: "np.ndarray", bins: int
) -> tuple[list[int], list[int]]:
    """Return the longest queue of each bin, and the queue at its end.

    bin, queued, queue: for each event its bin (less than 0 before the first bin), whether the event
    queued a request, and the queue's length after the event.
    """
    import numpy as np

    edges = np.searchsorted(bin, np.arange(bins), side="right")  # behind each bin's events
    at_end = np.where(edges > 0, queue[edges - 1], 0) if len(queue) else np.zeros(bins, np.int64)
    longest = np.concatenate(([0], at_end[:-1]))
    counted = queued & (bin >= 0)
    np.maximum.at(longest, bin[counted], queue[counted])
    return longest.tolist(), at_end.tolist()


def disk_bins(
    records: "np.ndarray", queued: "np.ndarray", bin: "np.ndarray", bins: int
) -> DiskBins:
    """Return the series of one disk.

    records: its requests that were queued or completed, all before the end of the measured time, in
    the order of time; queued: which were queued; bin: of each, less than 0 before the first one.
    """
    import numpy as np

    queue_max, queue_end = queue_bins(bin, queued, queue_lengths(queued), bins)
    write = records["argument"] >= WRITE
    reads, writes = (~queued & (bin >= 0) & (write == kind) for kind in (False, True))
    return {
        "reads": np.bincount(bin[reads], minlength=bins).tolist(),
        "writes": np.bincount(bin[writes], minlength=bins).tolist(),
        "queue_max": queue_max,
        "queue_end": queue_end,
        "read_sector": last_by_bin(bin[reads], records["block"][reads], bins),
        "write_sector": last_by_bin(bin[writes], records["block"][writes], bins),
        "read_heat": count_heat(bin[reads], records["argument"][reads]),
    }


def count_flushes(bin: "np.ndarray", blocks: "np.ndarray") -> list[list[int]]:
    """Return, for each bin that has any, its flushes, their blocks, and the most blocks of one."""
    found: dict[int, list[int]] = {}
    for i, n in zip(bin.tolist(), blocks.tolist(), strict=True):
        flushes, sum_, most = found.get(i, (0, 0, 0))
        found[i] = [flushes + 1, sum_ + n, max(most, n)]
    return [[i, *row] for i, row in sorted(found.items())]


def first_whole_bin(events: Events, lost: int, start_ns: int, width_ns: int, bins: int) -> int:
    """Return the first bin of which no event was lost."""
    if not lost:
        return 0
    since_ns = events[0].time_ns - start_ns if events else 0
    return min(max(since_ns // width_ns + 1, 0), bins)


def gather_series(events: Events, lost: int, start_ms: int, end_ms: int) -> TraceSeries:
    """Return the series of a result (result.py).

    events: in the order of time; lost: how many events of the measured time are missing; start_ms,
    end_ms: the measured time since boot, on the clock of the events.
    """
    import numpy as np

    width_ms = bin_width_ms(end_ms - start_ms)
    bins = -(-(end_ms - start_ms) // width_ms) or 1
    records = events.records()
    number = records["number"]
    queued, completed, flush = (
        number == event_names().index(name) for name in ("queued", "completed", "flush")
    )
    some = (queued | completed | flush) & (records["time_ns"] < np.uint64(end_ms * MS))
    records, queued, flush = records[some], queued[some], flush[some]
    bin = (records["time_ns"].astype(np.int64) - start_ms * MS) // (width_ms * MS)
    disks = {}
    for n in np.unique(records["disk"][~flush]).tolist():
        its = ~flush & (records["disk"] == n)
        disks[f"disk{n}"] = disk_bins(records[its], queued[its], bin[its], bins)
    flushed = flush & (bin >= 0)
    return {
        "bin_ms": width_ms,
        "bins": bins,
        "lost": lost,
        "from_bin": first_whole_bin(events, lost, start_ms * MS, width_ms * MS, bins),
        "disks": {name: row for name, row in disks.items() if any(row["reads"] + row["writes"])},
        "flushes": count_flushes(bin[flushed], records["argument"][flushed] & (WRITE - 1)),
    }
