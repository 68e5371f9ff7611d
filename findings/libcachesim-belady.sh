#!/bin/sh
# libcachesim 0.3.5 (PyPI): its Belady, the optimum, misses more than LRU.
#
# - Read: the class Belady is the offline optimum, and takes any reader of requests.
# - Behaviour: it needs the time of each object's next request. Only traces of the format
#   oracleGeneral carry that time. With any other reader Belady runs without an error or a
#   warning, and its miss ratio is no lower bound.
# - Seen: 50,000 requests, Zipf 0.8, 2,000 objects, room for 200: misses of LRU 0.5996, of
#   Belady 0.6205. The optimum, computed below from its definition, is 0.3590.
# - What follows: a page that plots "optimal" from it draws the optimum above LRU. Take the
#   optimum from a trace in oracleGeneral, or compute it: it is 15 lines.
#
# Installs libcachesim in a temporary folder; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q --disable-pip-version-check libcachesim==0.3.5
"$folder/env/bin/python" - <<'EOF'
import heapq

import libcachesim as lcs

SIZE = 200


def reader() -> lcs.SyntheticReader:
    """Return the same 50,000 requests each time, all objects of size 1."""
    return lcs.SyntheticReader(
        num_of_req=50000, obj_size=1, alpha=0.8, dist="zipf", num_objects=2000, seed=7
    )


def optimum(names: list[int], size: int) -> float:
    """Return the miss ratio of evicting the object whose next request is the farthest."""
    following, last = [0] * len(names), {}
    for at in range(len(names) - 1, -1, -1):
        following[at] = last.get(names[at], len(names) + at)
        last[names[at]] = at
    kept, farthest, misses = {}, [], 0
    for name, then in zip(names, following, strict=True):
        if name not in kept:
            misses += 1
            while len(kept) >= size:
                when, victim = heapq.heappop(farthest)
                if kept.get(victim) == -when:
                    del kept[victim]
        kept[name] = then
        heapq.heappush(farthest, (-then, name))
    return misses / len(names)


names = [request.obj_id for request in reader()]
lru, belady = (cache(SIZE).process_trace(reader())[0] for cache in (lcs.LRU, lcs.Belady))
best = optimum(names, SIZE)
print(f"misses: LRU {lru:.4f}, libcachesim's Belady {belady:.4f}, the optimum {best:.4f}")
assert len(names) == 50000
assert best < lru < belady, "the behaviour has changed"
EOF
