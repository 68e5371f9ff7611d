"""Hits of libCacheSim's replace policies; test_judge.py starts it in an environment that has it.

Standard input: {"trace": [block, ...], "sizes": {policy: [blocks, ...], ...}}. Standard output: of
each policy its hits in an empty cache of each of its sizes, as JSON.
"""

import json
import sys

import libcachesim

POLICIES = {
    "lru": libcachesim.LRU,
    "clock": libcachesim.Clock,
    "2q": libcachesim.TwoQ,
    "arc": libcachesim.ARC,
    "lirs": libcachesim.LIRS,
    "clockpro": libcachesim.ClockPro,
    "sieve": libcachesim.Sieve,
    "s3fifo": libcachesim.S3FIFO,
    "wtinylfu": libcachesim.WTinyLFU,
}


def hits(name: str, trace: list[int], size: int) -> int:
    """Return the hits of a policy. All blocks are as large as the unit of the cache's size."""
    cache, request, found = POLICIES[name](size), libcachesim.Request(), 0
    for i, block in enumerate(trace):
        request.obj_id, request.obj_size, request.clock_time = block, 1, i
        found += cache.get(request)
    return found


def main() -> None:
    """Print the hits of each policy with each of its sizes, as JSON."""
    asked = json.load(sys.stdin)
    told = {
        name: [hits(name, asked["trace"], n) for n in sizes]
        for name, sizes in asked["sizes"].items()
    }
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
