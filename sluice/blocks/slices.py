"""A replay's measurements in each slice of a trace (slices.h), with confidence intervals.

    slices = read_slices(path)
    slices.requests.quantile_ns(0.99), bootstrap(slices.requests)["p99_ns"]

Response times depend on each other: a burst makes many of them long. So an interval is made by the
bootstrap of blocks of time (H. Künsch, 1989): runs of neighbouring slices are drawn at random until
there are as many slices as in the trace, a thousand times, and the middle 95 % of the results are
the interval. The draws are the same for all replays of a trace.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Interval = tuple[float, float]

KINDS = ("reads", "writes")
HEAD = 10  # numbers of a slice and kind, before its buckets
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
DRAWS, SEED = 1000, 1
SHARE = 0.95
LEAST = 16  # slices that an interval needs
HOUR_NS = 3600 * 10**9
STEPS_S = (3600, 1800, 1200, 900, 600, 300, 240, 120, 60, 30, 20, 10, 5, 2, 1, 0.1, 0.01)
WANTED = 48  # slices at least, if the trace is long enough
MOST = 2000  # slices
HOURS = (1, 2, 4, 6, 12, 24, 168)  # of a slice of a long trace


@dataclass(frozen=True, eq=False)
class Measured:
    """Requests of one kind in each slice, shape (slices,): their number, bytes, hits, bytes that
    hit, and the sum of their response times in ns; and how many there were of each response time:
    at_ns, shape (times,), rising, and counts, shape (slices, times)."""

    count: Numbers
    bytes: Numbers
    hits: Numbers
    hit_bytes: Numbers
    sum_ns: Numbers
    at_ns: Numbers
    counts: Numbers

    def mean_ns(self) -> float:
        """Return the mean response time of all slices."""
        return float(self.sum_ns.sum()) / max(int(self.count.sum()), 1)

    def quantile_ns(self, share: float) -> int:
        """Return the response time that this share of the requests does not exceed; it is at most
        1/128 too high. 0 if there is no request."""
        if not len(self.at_ns):
            return 0
        return int(quantiles(self.counts.sum(0).cumsum()[None, :], self.at_ns, share)[0])

    def choose(self, chosen: NDArray[np.bool_]) -> "Measured":
        """Return the slices that are chosen."""
        return Measured(
            self.count[chosen],
            self.bytes[chosen],
            self.hits[chosen],
            self.hit_bytes[chosen],
            self.sum_ns[chosen],
            self.at_ns,
            self.counts[chosen],
        )


@dataclass(frozen=True, eq=False)
class Slices:
    """A trace's slices by kind, all with the same number of slices."""

    reads: Measured
    writes: Measured

    @property
    def requests(self) -> Measured:
        """Return reads and writes together."""
        return add_measured(self.reads, self.writes)


def add_measured(one: Measured, other: Measured) -> Measured:
    """Return two kinds of requests as one."""
    at_ns = np.union1d(one.at_ns, other.at_ns)
    counts = np.zeros((len(one.count), len(at_ns)), np.int64)
    for part in (one, other):
        counts[:, np.searchsorted(at_ns, part.at_ns)] += part.counts
    return Measured(
        one.count + other.count,
        one.bytes + other.bytes,
        one.hits + other.hits,
        one.hit_bytes + other.hit_bytes,
        one.sum_ns + other.sum_ns,
        at_ns,
        counts,
    )


def quantiles(upto: NDArray[np.float64] | Numbers, at_ns: Numbers, share: float) -> Numbers:
    """Return the response time that this share of the requests does not exceed, for each row of
    upto: the number of requests that took each of the times at_ns at most."""
    # The rank of the wanted request; 1e-6 allows for rounding errors of the product.
    rank = np.maximum(np.ceil(upto[:, -1] * share - 1e-6), 1)
    columns = (upto < rank[:, None]).sum(1)
    found: Numbers = at_ns[np.minimum(columns, len(at_ns) - 1)]
    return found


def split_records(numbers: Numbers) -> list[tuple[Numbers, Numbers]]:
    """Return the head and the buckets, shape (buckets, 2), of each slice and kind of a file."""
    found, at = [], 0
    while at < len(numbers):
        head = numbers[at : at + HEAD]  # its last field is the number of buckets
        end = at + HEAD + 2 * int(head[-1])
        found.append((head, numbers[at + HEAD : end].reshape(-1, 2)))
        at = end
    return found


def measured_of(records: list[tuple[Numbers, Numbers]], kind: int, nslices: int) -> Measured:
    """Return the slices of one kind. A record is the head of a slice, whose fields slices.h names,
    and its buckets: response time in ns, number of requests."""
    own = [(head, buckets) for head, buckets in records if head[1] == kind]
    times_ns = [buckets[:, 0] for _, buckets in own]
    at_ns = np.unique(np.concatenate(times_ns or [np.zeros(0, int)]))
    count, size, hits, hit_bytes, sum_ns = sums = np.zeros((5, nslices), np.int64)
    counts = np.zeros((nslices, len(at_ns)), np.int64)
    for head, buckets in own:
        number = head[0]  # of the slice
        sums[:, number] = head[[2, 3, 6, 7, 8]]  # in the order of the five names above
        np.add.at(counts[number], np.searchsorted(at_ns, buckets[:, 0]), buckets[:, 1])
    return Measured(count, size, hits, hit_bytes, sum_ns, at_ns, counts)


def read_slices(path: Path) -> Slices:
    """Return the slices of a file that the replayer wrote."""
    return parse_slices(path.read_bytes())


def parse_slices(data: bytes) -> Slices:
    """Return the slices of the bytes of a file that the replayer wrote. A bucket's time is its
    upper end, which may be more than the longest response of all; then it is cut to this."""
    records = split_records(np.frombuffer(data, "<i8"))
    longest_ns = max((int(head[5]) for head, _ in records), default=0)
    limits = [longest_ns, 1 << 62]  # of a bucket's time, and of its count, which stays as it is
    records = [(head, np.minimum(buckets, limits)) for head, buckets in records]
    nslices = 1 + max((int(head[0]) for head, _ in records), default=0)
    return Slices(*(measured_of(records, kind, nslices) for kind in range(len(KINDS))))


def dump_slices(slices: Slices) -> bytes:
    """Return slices in the form of the file: for each slice and kind with requests a record, its
    head and its buckets."""
    found: list[Numbers] = []
    for number in range(len(slices.reads.count)):
        for kind, one in enumerate((slices.reads, slices.writes)):
            used = np.flatnonzero(one.counts[number])
            if not one.count[number]:
                continue
            least, most = one.at_ns[used[0]], one.at_ns[used[-1]]
            head = [number, kind, one.count[number], one.bytes[number], least, most]
            head += [one.hits[number], one.hit_bytes[number], one.sum_ns[number], len(used)]
            pairs = np.stack([one.at_ns[used], one.counts[number, used]], axis=1)
            found += [np.array(head, np.int64), pairs.ravel()]
    return np.concatenate(found).astype("<i8").tobytes()


def draw_weights(nslices: int) -> NDArray[np.float64]:
    """Return how often each draw has each slice, shape (DRAWS, slices).

    A draw has as many slices as there are, in runs of `length` neighbours that begin anywhere; the
    first slice follows the last one.
    """
    length = max(round(nslices ** (1 / 3)), 1)
    runs = -(-nslices // length)  # rounded up
    begins = np.random.default_rng(SEED).integers(0, nslices, (DRAWS, runs))
    members = (begins[:, :, None] + np.arange(length)) % nslices  # shape (DRAWS, runs, length)
    drawn = members.reshape(DRAWS, -1)[:, :nslices]
    places = nslices * np.arange(DRAWS)[:, None] + drawn
    times = np.bincount(places.ravel(), minlength=DRAWS * nslices)
    return times.reshape(DRAWS, nslices).astype(float)


def middle(values: NDArray[np.float64] | Numbers) -> Interval:
    """Return the middle SHARE of some values."""
    tail = (1 - SHARE) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def bootstrap(measured: Measured) -> dict[str, Interval]:
    """Return 95 % intervals: of mean_ns, of each of QUANTILES as p99_ns, and of hit_ratio and
    byte_hit_ratio. None of them if there are fewer than LEAST slices with requests."""
    used = measured.choose(measured.count > 0)
    if len(used.count) < LEAST:
        return {}
    weights = draw_weights(len(used.count))
    count, size = weights @ used.count, weights @ used.bytes
    upto = np.cumsum(weights @ used.counts, axis=1)
    found = {
        "mean_ns": middle(weights @ used.sum_ns / count),
        "hit_ratio": middle(weights @ used.hits / count),
        "byte_hit_ratio": middle(weights @ used.hit_bytes / size),
    }
    for name, share in QUANTILES.items():
        found[f"{name}_ns"] = middle(quantiles(upto, used.at_ns, share))
    return found


def slice_length(last_ns: int) -> int:
    """Return the length in ns of the slices of a trace whose last request comes at last_ns: a part
    of an hour, or whole hours, so that there are WANTED slices at least, and MOST at most."""
    if last_ns >= WANTED * HOUR_NS:
        fitting = (n for n in HOURS if last_ns / (n * HOUR_NS) <= MOST)
        return next(fitting, math.ceil(last_ns / MOST / HOUR_NS)) * HOUR_NS
    enough = (s for s in STEPS_S if last_ns >= WANTED * s * 1e9)
    return int(next(enough, STEPS_S[-1]) * 1e9)


def hours_of(measured: Measured, length_ns: int) -> list[tuple[int, Measured]]:
    """Return the requests of each hour of the trace that has some, with the hour's number from 0.
    Slices that are longer than an hour count for the hour in which they begin."""
    hours = np.arange(len(measured.count)) * length_ns // HOUR_NS
    return [
        (int(hour), measured.choose(hours == hour))
        for hour in np.unique(hours[measured.count > 0]).tolist()
    ]
