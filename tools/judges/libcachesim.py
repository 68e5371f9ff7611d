"""Hits of libCacheSim, which Juncheng Yang and others wrote: PyPI's libcachesim.

tests/support/judge.txt pins it; it is installed once, into an environment of its own.
"""

import json
import subprocess

from sluice.host.paths import ROOT
from tools.bench.replay_speed import judge_python
from tools.judges.caffeine import JudgeMissing

NAME = "libCacheSim 0.3.5"
POLICIES = ("lru", "clock", "2q", "arc", "lirs", "sieve", "s3fifo", "wtinylfu")
# The smallest caches for which it reports hits: in smaller ones a part has no block.
LEAST = {"s3fifo": 20, "wtinylfu": 100}


def count_hits(blocks: list[int], sizes: list[int]) -> dict[str, list[int | None]]:
    """Return the hits of each policy in an empty cache of each size.

    None: the policy has no such cache. Raises JudgeMissing.
    """
    asked = {name: [n for n in sizes if n >= LEAST.get(name, 1)] for name in POLICIES}
    try:
        done = subprocess.run(
            [judge_python(), ROOT / "tests" / "support" / "judge.py"],
            input=json.dumps({"trace": blocks, "sizes": asked}),
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
    except subprocess.CalledProcessError as error:
        raise JudgeMissing(f"libcachesim cannot be had: {error}") from None
    said = json.loads(done.stdout)
    return {name: [None] * (len(sizes) - len(asked[name])) + said[name] for name in POLICIES}
