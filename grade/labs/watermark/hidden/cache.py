"""The bound of the high mark in another cache."""

from grade.engine.workbench import Workbench

from ..ghosts import expect_bounds
from ..readers import Cache, most_blocks


def the_bound_in_another_cache(bench: Workbench) -> None:
    """The cache has another number of buffers than in the other tests, and another share of them
    may be dirty. reading is 0."""
    rng = bench.random("cache")
    cache = Cache(rng.randrange(430, 490), rng.randrange(38, 44))
    expect_bounds(bench, most_blocks(bench, "cache", 0, cache), 0, cache)
