"""The drive's time for the misses of Belady's optimum: how much a cache that knows the
future would leave of the response times.

- The optimum says which reads miss (curves/optimum.c). Only these are replayed, at their times, on
  the drive, without prefetching. All other reads, and all writes, take 0 ns.
- The replay's own cache has as few buffers as the kernel can do with, so nearly every miss goes to
  the drive.
- The figures are no proved bound: the optimum has the fewest misses of blocks, and other misses may
  take the drive less time. Prefetching may hide a miss, too.
"""

import math
from dataclasses import asdict, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from sluice.blocks.batch import (
    Planned,
    Trace,
    hash_words,
    keep,
    load_kept,
    load_kept_slices,
    pack_slices,
)
from sluice.blocks.miss_curve import CURVE, Curve, Hits, run_optimum
from sluice.blocks.replayer import Figures, Settings, Times, replayer_hash, run_replay
from sluice.blocks.slices import Measured, Slices, dump_slices, read_slices
from sluice.host.scratch import BASE, scratch_folder
from sluice.trace.common import REQUEST
from sluice.trace.packed import HEAD

NAME = "optimum"
BUFFERS = 64  # of the cache before the drive
POLICIES = {"replace": "lru", "prefetch": "none"}
PIECE = 1 << 20  # requests


@cache
def curve_hash() -> str:
    """Return the hash of the program `curve`."""
    return sha256(CURVE.read_bytes()).hexdigest()


def plan_optimum(trace: Trace, settings: Settings) -> Planned:
    """Return the replay of the optimum's misses in a cache of settings.buffers."""
    named = replace(settings, policies={"replace": NAME}, tunables={})
    words = (trace.path.stem, asdict(named), replayer_hash(), curve_hash())
    return Planned(trace, named, hash_words(*words))


def sum_slices(path: Path, settings: Settings) -> dict[str, list[int]]:
    """Return the number of reads and of writes, and their bytes, in each slice after the
    warm-up."""
    table = np.memmap(path, REQUEST, "r", HEAD.size)
    nslices = int(table["time_ns"][-1]) // settings.slice + 1
    counts, sizes = np.zeros((2, nslices), np.int64), np.zeros((2, nslices), np.int64)
    for low in range(settings.warmup, len(table), PIECE):
        rows = np.array(table[low : low + PIECE])
        in_slice = (rows["time_ns"] // settings.slice).astype(np.int64)
        is_write = rows["write"] == 1
        for kind, chosen in enumerate((~is_write, is_write)):
            counts[kind] += np.bincount(in_slice[chosen], minlength=nslices)
            size = np.bincount(in_slice[chosen], rows["bytes"][chosen], nslices)
            sizes[kind] += size.astype(np.int64)
    names = ("reads", "writes", "read_bytes", "write_bytes")
    return dict(zip(names, [*counts.tolist(), *sizes.tolist()], strict=True))


def add_zeros(misses: Measured | None, count: list[int], size: list[int]) -> Measured:
    """Return the figures of all requests: hits took 0 ns, and misses as long as `misses` says.

    count, size: requests and bytes in each slice. misses: the requests that missed, in as many
    slices or fewer; None if no request missed.
    """
    nslices = len(count)
    zeros = np.zeros(nslices, np.int64)
    at_ns, counts = np.zeros(1, np.int64), np.zeros((nslices, 1), np.int64)
    missed, missed_bytes, sum_ns = zeros.copy(), zeros.copy(), zeros.copy()
    if misses is not None:
        there = len(misses.count)
        at_ns = np.union1d(at_ns, misses.at_ns)
        counts = np.zeros((nslices, len(at_ns)), np.int64)
        counts[:there, np.searchsorted(at_ns, misses.at_ns)] = misses.counts
        missed[:there], missed_bytes[:there] = misses.count, misses.bytes
        sum_ns[:there] = misses.sum_ns
    counts[:, 0] += np.array(count) - missed
    return Measured(
        np.array(count),
        np.array(size),
        np.array(count) - missed,
        np.array(size) - missed_bytes,
        sum_ns,
        at_ns,
        counts,
    )


def times_of(measured: Measured) -> Times:
    """Return the figures of requests. The standard deviation is computed from the buckets: the
    square root of the mean square minus the square of the mean."""
    in_buckets = measured.counts.sum(0)
    count, mean = int(measured.count.sum()), measured.mean_ns()
    squares = measured.at_ns.astype(float) ** 2
    mean_square = float((in_buckets * squares).sum()) / max(count, 1)
    used_ns = measured.at_ns[in_buckets > 0]
    return Times(
        count=count,
        bytes=int(measured.bytes.sum()),
        hits=int(measured.hits.sum()),
        hit_bytes=int(measured.hit_bytes.sum()),
        min_ns=int(used_ns[0]) if len(used_ns) else 0,
        mean_ns=round(mean),
        std_ns=round(math.sqrt(max(mean_square - mean**2, 0))),
        p50_ns=measured.quantile_ns(0.5),
        p90_ns=measured.quantile_ns(0.9),
        p99_ns=measured.quantile_ns(0.99),
        p99_9_ns=measured.quantile_ns(0.999),
        p99_99_ns=measured.quantile_ns(0.9999),
        max_ns=int(used_ns[-1]) if len(used_ns) else 0,
    )


def replace_hits(times: Times, hits: float, size: float) -> Times:
    """Return figures with the hits of the optimum's cache."""
    return replace(times, hits=round(hits), hit_bytes=round(size))


def figures_of(slices: Slices, optimum: Curve, replayed: Figures | None) -> Figures:
    """Return the figures of the optimum. Its hits of reads and writes together are those of its
    cache."""
    found: Hits = optimum.hits[0]
    whole = times_of(slices.requests)
    return Figures(
        requests=whole.count,
        errors=replayed.errors if replayed else 0,
        late_ns=replayed.late_ns if replayed else 0,
        mean_late_ns=replayed.mean_late_ns if replayed else 0,
        elapsed_ns=replayed.elapsed_ns if replayed else 0,
        all=replace_hits(whole, found.requests, found.bytes),
        reads=times_of(slices.reads),
        writes=times_of(slices.writes),
        cpu_s=optimum.cpu_s + (replayed.cpu_s if replayed else 0),
        memory_kb=max(optimum.memory_kb, replayed.memory_kb if replayed else 0),
        counters=replayed.counters if replayed else {},
    )


def replay_misses(planned: Planned, scratch: Path) -> tuple[Curve, Figures | None, Slices | None]:
    """Replay the reads that miss. Returns the optimum's hits, and the figures and slices of the
    misses, or None if no read misses. Raises CurveFailed and ReplayFailed."""
    trace, settings = planned.trace, planned.settings
    misses, slices = scratch / "misses", scratch / "slices"
    optimum = run_optimum(trace.path, [settings.buffers], settings.warmup, misses)
    if misses.stat().st_size == HEAD.size:
        return optimum, None, None
    own = replace(settings, policies=POLICIES, buffers=BUFFERS, warmup=0)
    figures = run_replay(misses, trace.known.volume_bytes, own, slices=slices)
    return optimum, figures, read_slices(slices)


def make_optimum(planned: Planned, folder: Path) -> tuple[Figures, Slices]:
    """Replay the optimum's misses, unless that was done before. Returns the figures, and the
    slices. The loop must be open, and the settings have slices. Raises CurveFailed and
    ReplayFailed."""
    figures, slices = load_kept(folder, planned), load_kept_slices(folder, planned)
    if figures and slices:
        return figures, slices
    with scratch_folder(folder / BASE) as scratch:
        optimum, replayed, misses = replay_misses(planned, scratch)
        sums = sum_slices(planned.trace.path, planned.settings)
        slices = Slices(
            add_zeros(misses.reads if misses else None, sums["reads"], sums["read_bytes"]),
            add_zeros(None, sums["writes"], sums["write_bytes"]),
        )
        figures = figures_of(slices, optimum, replayed)
        keep(folder, planned, figures, pack_slices(dump_slices(slices)))
    return figures, slices
