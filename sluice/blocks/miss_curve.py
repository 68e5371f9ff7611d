"""Runs the program `curve` (curves/curve.c): what hits of a decoded trace in caches of many sizes.

    lru = run_curve(path, [100, 1000, 10_000])
    1 - lru.hits[1].blocks / lru.all.blocks  # the miss ratio of a cache of 1,000 blocks

A cache has blocks of 4 KiB. Writes use blocks as reads do.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.host.paths import BUILT
from sluice.system.qemu import die_with_parent

CURVE = BUILT / "blocks" / "curve"


class CurveFailed(Exception):
    """A curve that could not be made; the text is what the program said."""


@dataclass(frozen=True)
class Hits:
    """The hits of a cache. requests, reads: requests and reads all of whose blocks were cached when
    they came; blocks: uses of a block that found it, one after another; bytes: of blocks that were
    cached when their request came. A sample has blocks and bytes only, as estimates."""

    requests: float
    reads: float
    blocks: float
    bytes: float


@dataclass(frozen=True)
class Sample:
    """A sample of the blocks: the share `rate` of them, which has the smallest hashes. If `most` is
    not 0, the rate is lowered until there are `most` blocks or fewer. salt: another salt gives
    another sample."""

    rate: float = 1.0
    most: int = 0
    salt: int = 0


@dataclass(frozen=True)
class Curve:
    """Hits by the cache's size, and what it took to compute them."""

    sizes: tuple[int, ...]  # in blocks
    hits: tuple[Hits, ...]  # at each size
    all: Hits  # all requests, as if each of them hit
    blocks: int  # how many blocks the trace touches; 0: not counted
    rate: float  # the share of the blocks in the sample, at the end
    error: float  # the standard error of a miss ratio of blocks, from the sample; 0 without one
    cpu_s: float
    memory_kb: int

    def miss_ratios(self, of: str = "blocks") -> list[float]:
        """Return the share that misses at each size, of requests, reads, blocks or bytes.

        A small sample may estimate less than 0 hits, or more than there are uses; the ratio is then
        1 or 0, which is nearer to the true one.
        """
        whole = getattr(self.all, of)
        ratios = [1 - getattr(one, of) / whole if whole else 0.0 for one in self.hits]
        return [min(max(ratio, 0.0), 1.0) for ratio in ratios]


def command_line(
    path: Path, sizes: Sequence[int], warmup: int, sample: Sample | None, more: list[str | Path]
) -> list[str | Path]:
    """Return the program's command line."""
    line: list[str | Path] = [CURVE, "-w", str(warmup), *more]
    if sample:
        line += ["-s", repr(sample.rate), "-n", str(sample.most), "-k", str(sample.salt)]
    return [*line, path, *map(str, sizes)]


def run_program(line: list[str | Path], sizes: Sequence[int]) -> Curve:
    """Run the program. Returns what it prints. Raises CurveFailed."""
    done = subprocess.run(
        line,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        preexec_fn=die_with_parent,
        check=False,
    )
    if done.returncode:
        raise CurveFailed(done.stderr.strip() or f"curve ended with status {done.returncode}")
    found = json.loads(done.stdout)
    return Curve(
        tuple(sizes),
        tuple(Hits(**one) for one in found["hits"]["hits"]),
        Hits(**found["hits"]["all"]),
        found.get("blocks", 0),
        found.get("rate", 1.0),
        found.get("error", 0.0),
        found["cpu_s"],
        found["memory_kb"],
    )


def run_curve(
    path: Path, sizes: Sequence[int], warmup: int = 0, sample: Sample | None = None
) -> Curve:
    """Return the hits of LRU.

    path: in the form of sluice/trace/packed.py; sizes: in blocks, rising; warmup: how many
    requests come before any counts; sample: the blocks that are looked at, or None for all, which
    gives the exact hits. Raises CurveFailed.
    """
    return run_program(command_line(path, sizes, warmup, sample, []), sizes)


def run_optimum(
    path: Path, sizes: Sequence[int], warmup: int = 0, misses: Path | None = None
) -> Curve:
    """Return the hits of Belady's optimum, which has the most hits of blocks that are possible.

    misses: a file to write the reads that miss to, in the form that the file `path` has; then there
    may be one size only. The other arguments are run_curve's. Needs 8 bytes of a disk for each use.
    Raises CurveFailed.
    """
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        more: list[str | Path] = ["-o", "-d", scratch]
        more += ["-m", misses] if misses else []
        return run_program(command_line(path, sizes, warmup, None, more), sizes)
