"""`sluice dev judges`: hits of Sluice's replace policies beside those of two other programs.

Each trace is cut into uses of blocks of 4 KiB, and all three programs get the same uses, with the
blocks numbered from 0, and empty caches of the same sizes. Sluice's hits are those of the policies'
own code (replace_hits_tool.c) and of the optimum (sluice/blocks/curves).

A difference has a letter that names its known cause (CAUSES). A difference without one is marked
with `!`, and the command fails: then a policy or a judge has changed.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sluice.blocks.miss_curve import run_optimum
from sluice.experiment.aligned import format_table
from sluice.host.paths import BUILT
from sluice.trace.common import REQUEST
from sluice.trace.packed import pack_requests
from sluice.trace.reader import read_requests
from tools.judges import caffeine, libcachesim
from tools.judges.caffeine import OPTIMUM, JudgeMissing

BLOCK = 4096
TOOL = BUILT / "plain" / "replace_hits_tool"
OURS, UNKNOWN, MOST_BLOCKS = "Sluice", "!", 1 << 20
LEAST = 10  # blocks of a cache: with fewer, a tenth is 0, and Caffeine's S3-FIFO does not end
Counts = dict[str, list[int | None]]
# Where another program's hits may differ from ours, and why. tests/kernel/test_judge.py proves a,
# b, d and f to i by models, which have the other program's hits to the last use.
CAUSES = {
    "a": "the target of T1 changes by a fraction, ours by whole blocks",
    "b": "main fills while small is full, a name is looked up after there is room, and small "
    "gives a victim where main has become too large",
    "c": "how a cache begins, and how many names the stack has",
    "d": "four decisions that the paper leaves open",
    "e": "other hashes decide which blocks share a counter, and it counts and halves differently",
    "f": "the new block comes in before the hand looks for a victim",
    "g": "the cache has one block fewer",
    "h": "small gives a block, too, when a block that moved fills main; room for names is rounded",
    "i": "a count may pass 15, the window is rounded up, and the parts do not grow with the cache",
}
MAY_DIFFER = {
    ("arc", libcachesim.NAME): "a",
    ("s3fifo", libcachesim.NAME): "b",
    ("lirs", libcachesim.NAME): "c",
    ("lirs", caffeine.NAME): "c",
    ("clockpro", caffeine.NAME): "d",
    ("wtinylfu", libcachesim.NAME): "e",
    ("wtinylfu", caffeine.NAME): "i",
    ("clock", caffeine.NAME): "f",
    ("sieve", caffeine.NAME): "g",
    ("s3fifo", caffeine.NAME): "h",
}


@dataclass(frozen=True)
class Judged:
    """A trace's hits. counts: of each program, of each policy, in caches of `sizes` blocks."""

    name: str
    uses: int
    blocks: int
    sizes: list[int]
    counts: dict[str, Counts]


def block_uses(table: np.ndarray) -> np.ndarray:
    """Return the uses of blocks of requests: each block that a request touches, numbered from 0.

    table: shape (requests,), dtype REQUEST. Shape (uses,); numbers are in the order of places.
    """
    first = table["offset"] // np.uint64(BLOCK)
    last = (table["offset"] + table["bytes"] - np.uint64(1)) // np.uint64(BLOCK)
    counts = (last - first + np.uint64(1)).astype(np.int64)  # of blocks, for each request
    # Of each use: the first use of its request, and its place among them.
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    rank = (np.arange(counts.sum()) - starts).astype("<u8")
    blocks = np.repeat(first, counts) + rank
    return np.unique(blocks, return_inverse=True)[1]


def cache_sizes(blocks: int, percents: list[float]) -> list[int]:
    """Return the sizes of the caches, in blocks."""
    return sorted({max(1, round(blocks * percent / 100)) for percent in percents})


def own_hits(uses: np.ndarray, sizes: list[int], folder: Path) -> Counts:
    """Return the hits of Sluice's policies, and of its optimum."""
    text = "\n".join(map(str, uses.tolist()))
    found: Counts = {}
    for policy in caffeine.POLICIES:
        for size in sizes if policy != OPTIMUM else []:
            done = subprocess.run(
                [TOOL, policy, str(size)],
                input=text,
                capture_output=True,
                check=True,
                encoding="utf-8",
            )
            found.setdefault(policy, []).append(int(done.stdout))
    table = np.zeros(len(uses), REQUEST)
    table["offset"], table["bytes"] = uses * BLOCK, BLOCK
    packed = folder / "packed"
    packed.write_bytes(pack_requests(table))
    best = run_optimum(packed, sizes)
    return found | {OPTIMUM: [round(hits.blocks) for hits in best.hits]}


def judge_trace(path: Path, percents: list[float]) -> Judged:
    """Return what all three programs count of a trace. Raises BadTraceFile and JudgeMissing."""
    uses = block_uses(read_requests(path))
    blocks = int(uses.max()) + 1
    if blocks > MOST_BLOCKS:
        raise JudgeMissing(f"{path}: has {blocks:,} blocks, and {MOST_BLOCKS:,} are possible here")
    sizes = cache_sizes(blocks, percents)
    if sizes[0] < LEAST:
        raise JudgeMissing(
            f"{path}: a cache of {sizes[0]} blocks is too small for the other programs: choose "
            f"--sizes of {LEAST} of its {blocks:,} blocks and more"
        )
    with tempfile.TemporaryDirectory() as name:
        listed = Path(name) / "uses"
        listed.write_text("\n".join(map(str, uses.tolist())) + "\n", encoding="utf-8")
        counts = {
            OURS: own_hits(uses, sizes, Path(name)),
            libcachesim.NAME: libcachesim.count_hits(uses.tolist(), sizes),
            caffeine.NAME: caffeine.count_hits(listed, sizes),
        }
    return Judged(path.name.split(".")[0], len(uses), blocks, sizes, counts)


def judged_fields(judged: Judged, policy: str, judge: str) -> list[str]:
    """Return a judge's fields of a policy's row: its hits minus ours, and the cause."""
    cause = MAY_DIFFER.get((policy, judge), UNKNOWN)
    columns = zip(judged.counts[OURS][policy], judged.counts[judge][policy], strict=True)
    return [
        "-" if theirs is None or ours is None
        else "=" if theirs == ours
        else f"{theirs - ours:+,} {cause}"
        for ours, theirs in columns
    ]  # fmt: skip


def table_rows(judged: Judged) -> list[list[str]]:
    """Return the rows of a trace's table: our hits, and how far each judge's are from them."""
    rows = [["policy", "program", *(f"{size:,}" for size in judged.sizes)]]
    for policy, hits in judged.counts[OURS].items():
        rows.append([policy, OURS, *(f"{n:,}" for n in hits)])
        rows += [
            ["", judge, *judged_fields(judged, policy, judge)]
            for judge in (libcachesim.NAME, caffeine.NAME)
            if policy in judged.counts[judge]
        ]
    return rows


def causes_met(judged: list[Judged]) -> set[str]:
    """Return the letters of all causes in the tables, and UNKNOWN if a difference has none."""
    fields = {field for one in judged for row in table_rows(one)[1:] for field in row[2:]}
    return {field.split()[1] for field in fields if " " in field}


def describe(judged: list[Judged]) -> list[str]:
    """Return the lines of all tables, and of the causes in them."""
    lines: list[str] = []
    for one in judged:
        head = f"{one.name}: {one.uses:,} uses of {one.blocks:,} blocks; hits in caches of"
        lines += [head, *format_table(table_rows(one), keys=2), ""]
    met = causes_met(judged)
    lines.append("A judge's row has its hits minus Sluice's. =: the same. -: no such cache.")
    lines += [f"{letter}: {why}" for letter, why in CAUSES.items() if letter in met]
    lines += [f"{UNKNOWN}: no cause is known"] if UNKNOWN in met else []
    return lines


def compare_judges(paths: list[Path], percents: list[float]) -> bool:
    """Print the hits of all traces. Returns true if each difference has a known cause."""
    judged = []
    for path in paths:
        print(f"{path.name} ...", file=sys.stderr, flush=True)
        judged.append(judge_trace(path, percents))
    print("\n".join(describe(judged)))
    return UNKNOWN not in causes_met(judged)
