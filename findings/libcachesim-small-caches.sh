#!/bin/sh
# libcachesim 0.3.5 (PyPI): S3FIFO and WTinyLFU have no hit at all in small caches.
#
# - Read: an object that is "too large for the cache" is not admitted. With objects of size 1
#   one expects that this never happens.
# - Behaviour: the limit is not the cache's size but the size of one of its queues. S3FIFO
#   admits no object that is as large as its small queue, a tenth of the cache. WTinyLFU
#   admits none as large as its window, a hundredth. So with objects of size 1, S3FIFO keeps
#   nothing in caches of 10 to 19 objects, and WTinyLFU in caches of fewer than 100. Nothing
#   is said.
# - Seen: 50,000 requests, Zipf 0.8, 2,000 objects: S3FIFO's miss ratio is 1.0 with room for
#   19 objects and 0.76 with room for 20; WTinyLFU's is 1.0 with 99 and below 0.6 with 100.
# - What follows: a curve of hits over cache sizes, a usual figure, has a false cliff at its
#   left end. Compare these two with sizes of at least 20 and 100 objects only.
#
# Installs libcachesim in a temporary folder; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q --disable-pip-version-check libcachesim==0.3.5
"$folder/env/bin/python" - <<'EOF'
import libcachesim as lcs


def misses(cache: object) -> float:
    """Return the cache's miss ratio for the same 50,000 requests, objects of size 1."""
    reader = lcs.SyntheticReader(
        num_of_req=50000, obj_size=1, alpha=0.8, dist="zipf", num_objects=2000, seed=7
    )
    return cache.process_trace(reader)[0]


for policy, below, enough in ((lcs.S3FIFO, 19, 20), (lcs.WTinyLFU, 99, 100)):
    small, larger = misses(policy(below)), misses(policy(enough))
    lru = misses(lcs.LRU(below))
    print(f"{policy.__name__}: {below} objects: {small:.4f} (LRU {lru:.4f}); "
          f"{enough} objects: {larger:.4f}")
    assert small == 1.0 and larger < lru < 1.0, "the behaviour has changed"
EOF
