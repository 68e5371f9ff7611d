"""Counts the events of a run's trace in bins of time.

All numbers are integers, so that a result has the same bytes on every host. Time begins with the
measured commands. The trace is that of the whole run, so requests that were queued before the
beginning count as queued.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sluice.experiment.records import DiskBins, TraceSeries
from sluice.system.trace import Event, filter_named

MOST_BINS = 1000
MS = 10**6
COUNTED = ("queued", "completed", "flush")  # events
STEPS = (1, 2, 5)  # of the bins' widths, times a power of ten
HEAT_BITS = 3  # a bucket of response times keeps this many of their first bits


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


@dataclass
class DiskSeries:
    """The numbers of one disk, for each bin."""

    bins: int
    bin: int = 0  # the bin up to which the queue's length is known
    queue: int = 0  # requests queued and not completed

    def __post_init__(self) -> None:
        self.done = {write: [0] * self.bins for write in (False, True)}
        self.sector: dict[bool, list[int | None]] = {w: [None] * self.bins for w in (False, True)}
        self.queue_max = [0] * self.bins
        self.queue_end = [0] * self.bins
        self.heat: dict[tuple[int, int], int] = {}

    def move_to(self, bin: int) -> None:
        """Record the queue's length in all bins up to this one."""
        for i in range(self.bin, bin):
            self.queue_end[i] = self.queue
            self.queue_max[i + 1] = self.queue
        self.bin = bin

    def count_queued(self, bin: int) -> None:
        """Count a request that was queued in this bin."""
        self.move_to(bin)
        self.queue += 1
        self.queue_max[bin] = max(self.queue_max[bin], self.queue)

    def count_completed(self, bin: int, event: Event) -> None:
        """Count a request that was completed in this bin."""
        self.move_to(bin)
        self.queue = max(self.queue - 1, 0)  # its queueing may be among the lost events
        self.done[event.write][bin] += 1
        self.sector[event.write][bin] = event.block
        if not event.write:
            key = (bin, bucket_low(event.argument // 1000))
            self.heat[key] = self.heat.get(key, 0) + 1

    def result(self) -> DiskBins:
        """Return the series in the form of a result."""
        self.move_to(self.bins - 1)
        self.queue_end[-1] = self.queue
        return {
            "reads": self.done[False],
            "writes": self.done[True],
            "queue_max": self.queue_max,
            "queue_end": self.queue_end,
            "read_sector": self.sector[False],
            "write_sector": self.sector[True],
            "read_heat": [[*key, n] for key, n in sorted(self.heat.items())],
        }


@dataclass
class Gatherer:
    """Counts events, which must come in the order of time."""

    start_ns: int
    width_ns: int
    bins: int
    disks: dict[int, DiskSeries] = field(default_factory=dict)
    flushes: dict[int, list[int]] = field(default_factory=dict)

    def disk(self, number: int) -> DiskSeries:
        """Return the series of a disk, which is made for its first event."""
        if number not in self.disks:
            self.disks[number] = DiskSeries(self.bins)
        return self.disks[number]

    def add_before_start(self, event: Event) -> None:
        """Count an event that is earlier than the first bin."""
        if event.name == "queued":
            self.disk(event.disk).queue += 1
        elif event.name == "completed":
            disk = self.disk(event.disk)
            disk.queue = max(disk.queue - 1, 0)

    def add(self, event: Event) -> None:
        """Count an event in its bin."""
        bin = (event.time_ns - self.start_ns) // self.width_ns
        if event.name == "queued":
            self.disk(event.disk).count_queued(bin)
        elif event.name == "completed":
            self.disk(event.disk).count_completed(bin, event)
        elif event.name == "flush":
            flushes, blocks, most = self.flushes.get(bin, (0, 0, 0))
            self.flushes[bin] = [flushes + 1, blocks + event.argument, max(most, event.argument)]


def first_whole_bin(events: Sequence[Event], lost: int, gatherer: Gatherer) -> int:
    """Return the first bin of which no event was lost."""
    if not lost:
        return 0
    since_ns = events[0].time_ns - gatherer.start_ns if events else 0
    return min(max(since_ns // gatherer.width_ns + 1, 0), gatherer.bins)


def gather_series(events: Sequence[Event], lost: int, start_ms: int, end_ms: int) -> TraceSeries:
    """Return the series of a result (result.py).

    lost: how many events of the measured time are missing; start_ms, end_ms: the measured time
    since boot, on the clock of the events.
    """
    width_ms = bin_width_ms(end_ms - start_ms)
    bins = -(-(end_ms - start_ms) // width_ms) or 1
    gatherer = Gatherer(start_ms * MS, width_ms * MS, bins)
    for event in filter_named(events, *COUNTED):
        if event.time_ns < gatherer.start_ns:
            gatherer.add_before_start(event)
        elif event.time_ns < end_ms * MS:
            gatherer.add(event)
    disks = {f"disk{n}": disk.result() for n, disk in sorted(gatherer.disks.items())}
    return {
        "bin_ms": width_ms,
        "bins": bins,
        "lost": lost,
        "from_bin": first_whole_bin(events, lost, gatherer),
        "disks": {name: row for name, row in disks.items() if any(row["reads"] + row["writes"])},
        "flushes": [[bin, *row] for bin, row in sorted(gatherer.flushes.items())],
    }
