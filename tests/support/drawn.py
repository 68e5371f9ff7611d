"""Values that a test of a network need not fix, drawn by a seed: drive, block size, cache,
policies, link.

A failed test prints its seed, which is a part of its name, and what was drawn. SLUICE_SEEDS is how
many seeds there are.
"""

import os
import random
from dataclasses import dataclass

from sluice.network.virtual import Link

SEEDS = range(1, 1 + int(os.environ.get("SLUICE_SEEDS", "2")))
DRIVES = ("none", "rz57", "rz58", "cheetah4lp", "hp97560", "st31230n")
BLOCKS = ("1K", "2K", "4K", "8K")
POLICIES = {
    "sched": ("clook", "sstf", "fcfs", "purp", "sluice"),
    "update": ("pu", "aipu", "linux"),
    "write": ("delayed", "async", "through"),
    "prefetch": ("none", "oneblock", "cluster"),
}


@dataclass(frozen=True)
class Drawn:
    """A network's machines and its link, as a Plan takes them."""

    args: str
    block: str
    link: Link


def draw_network(seed: int) -> Drawn:
    """Return the machines and the link of a seed, and print them."""
    draw = random.Random(seed)
    words = {"drive": draw.choice(DRIVES), "nbuf": draw.choice((64, 200, 1000))}
    words |= {kind: draw.choice(names) for kind, names in POLICIES.items()}
    row, loss, late = draw.choice(("ethernet10", "gigabit")), *draw.choice(((0, 0), (4, 6)))
    args = " ".join(f"{name}={value}" for name, value in words.items())
    drawn = Drawn(args, draw.choice(BLOCKS), Link(row, loss, late, seed))
    print(f"seed {seed}: {drawn}")
    return drawn
