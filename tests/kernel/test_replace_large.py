"""Replace policies in caches that are large, and on a trace of a real disk: hits as in models.

What a policy remembers beside the blocks grows with the cache (struct policy_memory). So a
cache of any size has the hits of its independent model, in which nothing has a limit.
"""

from functools import cache

import pytest
from replace_models import MODELS as OWN
from test_drive import TRACE as CHEETAH
from test_drive import needs_data
from test_replace import POLICIES, hits, splitmix64  # noqa: F401 (hits is a fixture)
from whole import draw_for_each, in_full

SECTORS = 8  # of a block
MODELS = OWN | {"cflru": OWN["lru"]}  # no block is dirty here
# How far a policy may be off its model. W-TinyLFU counts uses in a sketch of hashes, which takes a
# block for another at times; its model counts exactly.
APART = {"wtinylfu": 0.001}


@cache
def large(size: int, uses: int) -> tuple[int, ...]:
    """Return a trace for a cache of `size` blocks: 4 of 10 uses go round in 3/4 as many blocks, 4
    are of popular blocks (of two random numbers the smaller is taken), and 2 of a scan."""
    random = splitmix64(size)
    blocks = []
    for i in range(uses):
        kind = next(random) % 10
        if kind < 4:
            blocks.append(i % (size * 3 // 4))
        elif kind < 8:
            blocks.append(size + min(next(random) % size, next(random) % size))
        else:
            blocks.append(2 * size + i % (4 * size))
    return tuple(blocks)


@cache
def real() -> tuple[int, ...]:
    """Return the blocks that the requests to a real disk used; twice, as they come again."""
    blocks = []
    for line in CHEETAH.read_text().splitlines():
        _, _, first, sectors, *_ = line.split()
        end = int(first) + int(sectors)
        blocks += range(int(first) // SECTORS, (end + SECTORS - 1) // SECTORS)
    names = {block: i for i, block in enumerate(sorted(set(blocks)))}
    return tuple(names[block] for block in blocks) * 2


def test_each_policy_has_a_model() -> None:
    assert sorted(MODELS) == POLICIES


def expect_hits_of_model(ours: int, policy: str, blocks: tuple[int, ...], size: int) -> None:
    """Fail if a policy's hits are not those of its model."""
    want = MODELS[policy](blocks, size)
    assert ours == pytest.approx(want, rel=APART.get(policy, 0), abs=0)


# 2Q's names are half as many as the blocks, and the sketch of W-TinyLFU has several counters
# for each: a limit of 8,192 names, or of 65,536 counters, shows in the larger cache only.
@pytest.mark.native
@pytest.mark.parametrize(
    ("policy", "size"),
    [(policy, 40_000 if policy in ("2q", "wtinylfu") else 12_000) for policy in MODELS],
)
def test_a_large_cache_hits_as_its_model(
    hits,  # noqa: F811
    policy: str,
    size: int,
) -> None:
    blocks = large(size, 200_000 if size > 12_000 else 100_000)
    expect_hits_of_model(hits(policy, blocks, size), policy, blocks, size)


@needs_data
@pytest.mark.native
@pytest.mark.parametrize("percent", [1, 10, 50])
@pytest.mark.parametrize("policy", draw_for_each(MODELS, 3))
def test_a_policy_hits_as_its_model_on_a_real_trace(
    hits,  # noqa: F811
    policy: str,
    percent: int,
) -> None:
    size = len(set(real())) * percent // 100
    expect_hits_of_model(hits(policy, real(), size), policy, real(), size)


@pytest.mark.native
@pytest.mark.parametrize("policy", MODELS)
@in_full
def test_a_cache_of_100_000_blocks_hits_as_its_model(hits, policy: str) -> None:  # noqa: F811
    size = 100_000
    blocks = large(size, 1_000_000)
    expect_hits_of_model(hits(policy, blocks, size), policy, blocks, size)
