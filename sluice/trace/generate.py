"""Makes a trace of a week of one server, from a seed, with the figures of a real volume.

The volume is prn_1 of the traces of MSR Cambridge: the second disk of a print server (D. Narayanan
et al., Write Off-Loading, FAST 2008). The trace is written in the format of those traces.

- Data is read and written in *runs*: requests of one size and direction, one behind the other. Run
  number j is a function of j and the seed alone: its place, size, length and direction.
- Each run is either the next new one, or an earlier one again. How many runs lie between is drawn
  so that the distance's logarithm has a fixed distribution (REUSE); if it is further back than the
  first run, the run is new. So nothing has to be remembered of what was written before, and memory
  is that of a slice of time.
- Runs begin at random in each slice of ten minutes. How many requests a slice has follows the hour
  of the day, the day of the week, and bursts.
- All random numbers are hashes of the seed and of counters (splitmix64, G. Steele et al., OOPSLA
  2014), so a seed gives the same bytes with every version of NumPy.

Figures of the volume, and what a week of the full size has with seed 1:

    requests in the week                    11,233,411    11,233,411
    blocks of 4 KiB that they use           19,343,730    19,501,549
    hits of LRU, cache of 256 MiB               0.291         0.273
    reads                                      75.3 %        75.2 %
    size of a read, of a write        22.5, 11.7 KiB    22.5, 11.7 KiB

The first three are counts of the real trace that public repositories of cache studies state, the
last two those of tables in papers that use it. (An LRU cache of these studies takes a request's
first byte for an object.) Which hours are busy, bursts, how long runs are, and the response times,
which are 0, are ours: they are not published for this volume.
"""

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluice.trace.common import REQUEST
from sluice.trace.errors import BadTraceFile

KIB, GIB = 1 << 10, 1 << 30
REQUESTS = 11_233_411  # of the real volume in its week
READ_SHARE = 0.753
# Shares of the requests by their size in bytes, so that the means are those above.
READ_SIZES = {512: 0.015, 4096: 0.30, 8192: 0.14, 16384: 0.14, 32768: 0.25, 65536: 0.155}
WRITE_SIZES = {512: 0.05, 4096: 0.481, 8192: 0.20, 16384: 0.12, 32768: 0.104, 65536: 0.045}
LONGEST_RUN = 256 * KIB  # bytes, and what a run's place has room for
GOES_ON = 0.75  # probability that a run has a further request, up to LONGEST_RUN
NEIGHBOURS = 16  # new runs that lie side by side, as files do that were written together
VOLUME = 385 * GIB
NEW_SHARE = 0.17  # of the runs that are new whatever the distance drawn
REUSE = 0.62  # exponent of the uniform number that gives the logarithm of the distance
FURTHEST = 4_000_000  # runs
SLICE_S = 600
SLICES = 7 * 24 * 6
GAP_NS = 2_000_000  # mean time between the requests of a run
# Weights of the hours of a working day in an office, and of the days, of which the first is a
# Thursday, as in the real week.
HOURS = (3, 3, 3, 3, 3, 3, 4, 6, 10, 14, 15, 15, 12, 13, 15, 15, 14, 11, 7, 5, 4, 4, 3, 3)
DAYS = (1.0, 1.0, 0.35, 0.35, 1.0, 1.0, 1.0)
BURST = 3.0  # the busiest slice of an hour has up to this many times the requests of the calmest
START_TICKS = 128_166_372_000_000_000  # 2007-02-22 in 100 ns since 1601, as in the real traces
TICK_NS = 100
HOST, DISK = "prn", 1

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def hash_numbers(numbers: Words, seed: int, use: int) -> Words:
    """Return a hash of each number, shape as given. use: which of a number's hashes it is."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64((seed * 0x9E3779B97F4A7C15 + use * 0xD1B54A32D192ED03) % 2**64)
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def uniform(numbers: Words, seed: int, use: int) -> Floats:
    """Return a number from 0 to below 1 for each number, shape as given."""
    return (hash_numbers(numbers, seed, use) >> np.uint64(11)).astype("f8") / float(1 << 53)


@cache
def mean_length(size: int) -> float:
    """Return how many requests a run with requests of this size has on average."""
    most = LONGEST_RUN // size
    return float(sum(GOES_ON**i for i in range(most)))


def size_table(shares: dict[int, float]) -> tuple[NDArray[np.int64], Floats]:
    """Return sizes in bytes and the cumulated probability with which a run has them, so that the
    requests have these shares."""
    sizes = np.array(list(shares), "<i8")
    weights = np.array([share / mean_length(size) for size, share in shares.items()])
    return sizes, np.cumsum(weights) / weights.sum()


def run_weight(shares: dict[int, float]) -> float:
    """Return the mean length of runs, in requests, whose requests have these shares of sizes."""
    return 1 / sum(share / mean_length(size) for size, share in shares.items())


@dataclass(frozen=True)
class Runs:
    """Runs by their numbers: arrays of one shape. place, size: in bytes; length: in requests."""

    place: NDArray[np.int64]
    size: NDArray[np.int64]
    length: NDArray[np.int64]
    write: NDArray[np.bool_]


def make_runs(numbers: Words, seed: int) -> Runs:
    """Return the runs with these numbers: each one's place, size of a request, number of requests,
    and whether it writes."""
    # READ_SHARE is a share of the requests; these are the frequencies of runs.
    reads = READ_SHARE / run_weight(READ_SIZES)
    writes = (1 - READ_SHARE) / run_weight(WRITE_SIZES)
    write = uniform(numbers, seed, 1) >= reads / (reads + writes)
    size = np.zeros(len(numbers), "<i8")
    for chosen, shares in ((~write, READ_SIZES), (write, WRITE_SIZES)):
        sizes, upto = size_table(shares)
        drawn = np.searchsorted(upto, uniform(numbers[chosen], seed, 2), side="right")
        size[chosen] = sizes[drawn]
    # A geometric distribution: after each request the run goes on with the probability GOES_ON.
    chance = 1 - uniform(numbers, seed, 3)  # above 0
    length = 1 + np.floor(np.log(chance) / np.log(GOES_ON)).astype("<i8")
    return Runs(places(numbers), size, np.minimum(length, LONGEST_RUN // size), write)


def places(numbers: Words) -> Places:
    """Return where the runs lie, in bytes: groups of NEIGHBOURS side by side, and the groups spread
    over the volume, each at a place of its own."""
    groups = VOLUME // LONGEST_RUN // NEIGHBOURS
    step = int(groups * 0.6180339887) | 1  # the golden section spreads any number of groups
    while np.gcd(step, groups) != 1:
        step += 2
    group, within = np.divmod(numbers.astype("<i8"), NEIGHBOURS)
    found: Places = ((group * step % groups) * NEIGHBOURS + within) * LONGEST_RUN
    return found


def slice_counts(count: int, seed: int) -> NDArray[np.int64]:
    """Return how many requests each slice of the week has, shape (SLICES,); `count` in all. The
    weight of a slice is a product: of its hour of the day, of its day, and of a random burst. The
    bursts of an hour's six slices have the mean 1."""
    slices = np.arange(SLICES, dtype="<u8")
    by_hour = (1 + (BURST - 1) * uniform(slices, seed, 4) ** 2).reshape(-1, 6)
    burst = (by_hour / by_hour.mean(axis=1, keepdims=True)).ravel()
    hours = slices.astype("<i8") // 6
    weight = np.array(HOURS)[hours % 24] * np.array(DAYS)[hours // 24] * burst
    # Sums are rounded, not the counts, so that the counts add up to `count`.
    upto = np.round(np.cumsum(weight) / weight.sum() * count).astype("<i8")
    counts: Places = np.diff(upto, prepend=0)
    return counts


def draw_numbers(drawn: int, new: int, count: int, seed: int) -> tuple[Words, int]:
    """Return the numbers of the next `count` runs, and how many runs have been new by then. A new
    run gets the next number; any other run has the number of an earlier run.

    drawn: how many runs have been drawn before; new: how many of them were new.
    """
    counters = np.arange(drawn, drawn + count, dtype="<u8")
    distance = np.exp(uniform(counters, seed, 5) ** REUSE * np.log(FURTHEST)).astype("<i8")
    is_new = uniform(counters, seed, 6) < NEW_SHARE
    # A run that would reuse one before the first is new as well. Then later runs have more runs
    # before them, so this is done twice.
    for _ in range(2):
        new_before = new + np.cumsum(is_new) - is_new  # of each run: the new runs before it
        is_new |= distance > new_before
    new_before = new + np.cumsum(is_new) - is_new
    number = np.where(is_new, new_before, np.maximum(new_before - distance, 0))
    return number.astype("<u8"), new + int(is_new.sum())


def make_slices(count: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the requests of a week, `count` in all: a table for each slice of time, in the order of
    time."""
    drawn = new = 0
    for number, wanted in enumerate(slice_counts(count, seed).tolist()):
        if not wanted:
            continue
        numbers, _ = draw_numbers(drawn, new, wanted, seed)
        lengths = np.cumsum(make_runs(numbers, seed).length)
        used = int(np.searchsorted(lengths, wanted)) + 1  # runs; the last may be cut
        numbers, new = draw_numbers(drawn, new, used, seed)
        yield slice_table(make_runs(numbers, seed), drawn, number, wanted, seed)
        drawn += used


def slice_table(runs: Runs, drawn: int, number: int, wanted: int, seed: int) -> np.ndarray:
    """Return the first `wanted` requests of runs as the table of a slice of time. drawn: the number
    of runs before these; number: the slice's."""
    # Of each request: its run, and its place in the run.
    run = np.repeat(np.arange(len(runs.length)), runs.length)
    first_request = np.cumsum(runs.length) - runs.length  # of each run
    rank = np.arange(len(run)) - first_request[run]
    run, rank = run[:wanted], rank[:wanted]
    # Of each run: its begin within the slice, and the time between two of its requests.
    counters = np.arange(drawn, drawn + len(runs.length), dtype="<u8")
    begins_ns = np.sort(uniform(counters, seed, 7)) * SLICE_S * 1e9
    gap_ns = -np.log(1 - uniform(counters, seed, 8)) * GAP_NS
    table = np.zeros(wanted, REQUEST)
    last_ns = SLICE_S * 10**9 - 1  # of the slice
    within_ns = np.minimum(begins_ns[run] + gap_ns[run] * rank, last_ns).astype("<u8")
    table["time_ns"] = np.uint64(number * SLICE_S * 10**9) + within_ns
    table["offset"] = runs.place[run] + runs.size[run] * rank
    table["bytes"], table["write"] = runs.size[run], runs.write[run]
    return table[np.argsort(table["time_ns"], kind="stable")]


def msr_lines(table: np.ndarray) -> str:
    """Return requests as lines of MSR Cambridge."""
    ticks = START_TICKS + table["time_ns"].astype("<i8") // TICK_NS
    kinds = np.array(["Read", "Write"], object)[table["write"]]
    columns = (ticks.tolist(), kinds.tolist(), table["offset"].tolist(), table["bytes"].tolist())
    form = f"%d,{HOST},{DISK},%s,%d,%d,0\n"
    return "".join([form % row for row in zip(*columns, strict=True)])


def open_packed(path: Path) -> Any:
    """Return a new file that packs as its ending says: .gz, .bz2, .xz, .zst, or not at all. Raises
    BadTraceFile if what packs .zst is not installed."""
    if path.suffix == ".zst":
        try:
            import zstandard
        except ModuleNotFoundError:
            why = "what packs it is not installed; type: sh tools/setup.sh sweep"
            raise BadTraceFile(f"{path}: {why}") from None
        return zstandard.open(path, mode="wb")
    if path.suffix == ".gz":
        return gzip.GzipFile(path, "wb", compresslevel=4, mtime=0)
    ways: dict[str, Callable[[Path, str], Any]] = {".bz2": bz2.open, ".xz": lzma.open}
    return ways.get(path.suffix, Path.open)(path, "wb")


def write_trace(
    path: Path, count: int, seed: int, seen: Callable[[int], None] = lambda n: None
) -> None:
    """Write a week's trace to a file, which is packed as its ending says. seen: called with the
    number of further requests. Raises BadTraceFile if the file cannot be written."""
    part = path.with_name(f"{path.name}.part{path.suffix}")
    try:
        with open_packed(part) as stream:
            for table in make_slices(count, seed):
                stream.write(msr_lines(table).encode())
                seen(len(table))
        part.replace(path)
    except OSError as error:
        raise BadTraceFile(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
