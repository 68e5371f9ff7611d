"""The replace policies beside libCacheSim's, which others wrote (PyPI's libcachesim 0.3.5).

LRU, CLOCK, 2Q and SIEVE have its hits to the last one. ARC, LIRS and S3-FIFO differ; models that
differ from ours in these things alone (replace_models.JUDGED) have its hits to the last one, too.
CLOCK-Pro cannot be compared; a model of why has its hits, too:

- ARC: the target size of T1 changes by |B2| / |B1| or |B1| / |B2|. The paper and libCacheSim add
  the fraction, ours adds whole blocks, because the kernel has no floating point.
- LIRS: our policy does not know the size of the cache, so other blocks are LIR while it fills. The
  paper does not limit the stack; libCacheSim limits it to twice the cache, and ours
  has names in it for as many blocks as the cache. At a hit of an HIR block that is not in the
  stack, libCacheSim takes the LIR block at the bottom out of its place, although no block becomes
  LIR; the paper does not, nor does ours.
- S3-FIFO: in three things libCacheSim is not as the paper, and ours is. While the cache was never
  full, libCacheSim puts blocks for which the small queue has no room into the main queue. It looks
  up a block's name before it makes room for the block, not after. If a block that moves fills the
  main queue, libCacheSim takes the victim from the small queue all the same.
- CLOCK-Pro: libCacheSim's takes in no block while as many are cold as may be, which is half of the
  cache at first. It begins with cold blocks only, so half of the cache stays empty, and the blocks
  that came first stay for ever. The paper evicts a cold block, and so does ours.

Caffeine's simulator has a CLOCK-Pro that can be compared: a model that takes four decisions as that
one does (replace_models.CAFFEINES) has its hits to the last one. So have a CLOCK in which the new
block comes in before the hand looks for a victim, and our SIEVE with one block fewer. A model of
its S3-FIFO gives two blocks when one that moved fills the main queue; the kernel asks our policy
for one block at a time. A model of its W-TinyLFU differs from ours in four things
(replace_models.caffeine_wtinylfu).

CAR and MGLRU are not in libCacheSim's package. Its W-TinyLFU is not compared: it has no hit at all
in caches of fewer than 100 blocks, where its window has no room, and it counts uses with hashes of
its own.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from replace_models import (
    CAFFEINES,
    JUDGED,
    MODELS,
    caffeine_wtinylfu,
    clockpro,
    s3fifo,
    sieve,
)
from test_replace import SIZES, hits, trace  # noqa: F401 (hits is a fixture)

from sluice.host.paths import BUILD, ROOT

pytestmark = pytest.mark.check

HERE = Path(__file__).parent
WHOLE = os.environ.get("FULL") == "1"
SEEDS = (1, 2, 3)
HERE_TOO = platform.machine() == "x86_64" and sys.platform == "linux"
# The index in SIZES of the first size. libCacheSim's S3-FIFO cannot have a cache of eight blocks,
# because a tenth of it is less than a block.
FROM = {"s3fifo": 1}
# Hits of libcachesim 0.3.5 on trace(1), in caches of SIZES (from the first that it has); FULL=1
# asks it again, of all SEEDS.
TOLD = {
    "lru": [320, 2021, 3799, 10189],
    "clock": [324, 2089, 4024, 10685],
    "2q": [496, 3158, 5738, 11364],
    "arc": [516, 3486, 6403, 11933],
    "sieve": [492, 3283, 5887, 11184],
    "s3fifo": [3596, 6535, 11763],
    "lirs": [568, 3651, 6588, 11927],
    "clockpro": [49, 612, 1186, 4257],
}
# Hits of irr.ClockPro, of Caffeine's simulator 3.1.8, on trace(1), in caches of SIZES, with as many
# names as blocks (non-resident-multiplier 1.0).
CAFFEINE_HITS = [511, 3577, 6646, 11936]
# Hits of linked.Clock and linked.Sieve, of 3.2.3, on trace(1), in caches of SIZES[1:].
CAFFEINE_CLOCK, CAFFEINE_SIEVE = [2090, 4028, 10696], [3159, 5834, 11156]
# Hits of two-queue.S3Fifo and, without hashes and jitter, sketch.WindowTinyLfu, of 3.2.3.
CAFFEINE_S3FIFO, CAFFEINE_WTINYLFU = [3552, 6481, 11720], [3670, 7004, 11803]
NO_CACHE = ("clockpro",)  # libCacheSim's never evicts a block
AS_OURS = ("lru", "clock", "2q", "sieve")


def sizes(policy: str) -> list[int]:
    """Return the sizes of the cache in which a policy is compared."""
    return SIZES[FROM.get(policy, 0) :]


def environment() -> Path:
    """Return a Python that has libcachesim, in the version of judge.txt. It is installed once."""
    folder, pins = BUILD / "judge", HERE / "judge.txt"
    made = folder / "judge.txt"
    if not made.exists() or made.read_text() != pins.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        python = folder / "bin" / "python"
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", pins], check=True)
        made.write_text(pins.read_text())
    return folder / "bin" / "python"


def hits_of_judge(seed: int) -> dict[str, list[int]]:
    """Return the hits that libCacheSim counts."""
    asked = json.dumps({"trace": trace(seed), "sizes": {name: sizes(name) for name in TOLD}})
    words = [environment(), HERE / "judge.py"]
    done = subprocess.run(words, input=asked, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.native
@pytest.mark.parametrize("policy", TOLD)
def test_a_policy_differs_from_libcachesims_as_is_said_above_and_in_nothing_else(
    hits,  # noqa: F811
    policy: str,
) -> None:
    """Our policy has the hits of its model; the model with libCacheSim's decisions (JUDGED) has the
    hits of libCacheSim."""
    ours = [hits(policy, trace(), size) for size in sizes(policy)]
    assert ours == [MODELS[policy](trace(), size) for size in sizes(policy)]
    assert [JUDGED[policy](trace(), size) for size in sizes(policy)] == TOLD[policy]
    assert (ours == TOLD[policy]) == (policy in AS_OURS)


@pytest.mark.native
def test_the_book_says_how_far_the_others_differ() -> None:
    """The greatest difference in hits, in percent, is that of the models, over all seeds."""
    text = (ROOT / "book/pages/using/traces.md").read_text()
    others = [name for name in TOLD if name not in AS_OURS + NO_CACHE]
    for size in (50, 400):
        far = [
            abs(100 * (MODELS[name](trace(seed), size) / JUDGED[name](trace(seed), size) - 1))
            for name in others
            for seed in SEEDS
        ]
        assert f"by up to {max(far):.2f} % in caches of {size}" in text


@pytest.mark.skipif(not WHOLE, reason="FULL=1 asks libCacheSim itself")
@pytest.mark.skipif(not HERE_TOO, reason="libcachesim is there for Linux on x86-64")
def test_libcachesim_says_so_itself() -> None:
    """TOLD has libCacheSim's hits for the first seed; for others the models are compared with
    it."""
    assert hits_of_judge(1) == TOLD
    for seed in SEEDS[1:]:
        said = hits_of_judge(seed)
        models = {
            name: [model(trace(seed), n) for n in sizes(name)] for name, model in JUDGED.items()
        }
        assert said == models


def test_clockpro_differs_from_caffeines_in_four_decisions() -> None:
    """With all of Caffeine's decisions our model has Caffeine's hits. With one of them as ours, it
    has others."""
    blocks = trace()
    assert [clockpro(blocks, size, CAFFEINES) for size in SIZES] == CAFFEINE_HITS
    for decision in set(CAFFEINES) - {"marked"}:  # with any of these as ours, it has other hits
        others = [d for d in CAFFEINES if d != decision]
        assert [clockpro(blocks, size, others) for size in SIZES] != CAFFEINE_HITS


def hits_of_clock_that_enters_first(blocks: tuple[int, ...], size: int) -> int:
    """Return the hits of a CLOCK in which a new block comes in before the hand looks for a victim.

    So blocks that are spared come behind it.
    """
    marked: dict[int, bool] = {}  # in the hand's order
    found = 0
    for block in blocks:
        found += block in marked
        marked[block] = block in marked
        while len(marked) > size:
            oldest = next(iter(marked))
            if marked.pop(oldest):
                marked[oldest] = False
    return found


def test_clock_and_sieve_differ_from_caffeines_in_one_thing_each() -> None:
    """Caffeine's CLOCK lets a block enter before it evicts one; its SIEVE holds one block less."""
    blocks, sizes = trace(), SIZES[1:]
    entering = [hits_of_clock_that_enters_first(blocks, size) for size in sizes]
    assert entering == CAFFEINE_CLOCK
    assert [sieve(blocks, size - 1) for size in sizes] == CAFFEINE_SIEVE
    assert [sieve(blocks, size) for size in sizes] != CAFFEINE_SIEVE


def test_s3fifo_differs_from_caffeines_when_a_block_that_moved_fills_the_main_queue() -> None:
    blocks, sizes = trace(), SIZES[1:]
    assert [s3fifo(blocks, size, as_caffeine=True) for size in sizes] == CAFFEINE_S3FIFO
    assert [s3fifo(blocks, size) for size in sizes] != CAFFEINE_S3FIFO


def test_wtinylfu_differs_from_caffeines_in_what_the_model_says() -> None:
    blocks, sizes = trace(), SIZES[1:]
    assert [caffeine_wtinylfu(blocks, size) for size in sizes] == CAFFEINE_WTINYLFU
    assert [MODELS["wtinylfu"](blocks, size) for size in sizes] != CAFFEINE_WTINYLFU
