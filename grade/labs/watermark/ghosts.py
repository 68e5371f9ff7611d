"""Compute how far the ghost caches are to lower the high mark, from the run's own events."""

from collections import Counter

from grade.engine.scenario import BLOCK_SECTORS, Run, Scenario
from grade.engine.workbench import Workbench

from .bursts import Block, expect_marks, group_by_step
from .readers import DONE, STEP_MS, USUAL, Cache

STEP_NS = STEP_MS * 10**6
SEEN = 2  # steps must show their mark; a step that begins with a burst shows none
FIRST = 4  # step that is judged; before it, the ghosts have names of programs that were started


class Names:
    """The ghost entries of the `most` blocks that were used last."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.blocks: dict[Block, None] = {}  # the oldest first

    def remember(self, block: Block) -> None:
        """Add this entry, as the newest."""
        self.blocks.pop(block, None)
        self.blocks[block] = None
        if len(self.blocks) > self.most:
            del self.blocks[next(iter(self.blocks))]


def reads(run: Run, cache: Cache) -> dict[int, Counter[str]]:
    """Return the reader's reads in each step: hits, misses, ghost hits and ghost misses.

    A program that is started is read, too, but has few blocks.
    """
    sectors = run.sectors("/r")
    # what the whole cache would hold, and what is left of it above the highest mark
    whole, rest = Names(cache.buffers), Names(cache.buffers - cache.highest_mark)
    found: dict[int, Counter[str]] = {}
    for _, event in run.events.select_named("hit", "miss", "dirtied", "writing"):
        block = (event.disk, event.block)
        if event.name == "dirtied":
            whole.remember(block)
        elif event.name == "writing":
            if event.argument:  # it was dirty
                rest.remember(block)
        elif event.disk == run.data_disk and event.block * BLOCK_SECTORS in sectors:
            kinds = found.setdefault(event.time_ns // STEP_NS, Counter())
            kinds[event.name] += 1
            kinds["ghost hit"] += event.name == "hit" and block not in rest.blocks
            kinds["ghost miss"] += event.name == "miss" and block in whole.blocks
            whole.remember(block)
            rest.remember(block)
    return found


def highest_mark(kinds: Counter[str], reading: int, most: int) -> int:
    """Return the highest allowed high mark after a step with these reads.

    The mark is most * (1 - against / reads). `reading` is the number of one way to read the
    paper's formula, and so selects which reads count as `against`.
    """
    hits, ghost_hits, ghost_misses = (kinds[kind] for kind in ("hit", "ghost hit", "ghost miss"))
    against = (
        hits - ghost_hits + ghost_misses,
        hits + ghost_hits + ghost_misses,
        ghost_hits + ghost_misses,
    )[reading]
    reads = hits + kinds["miss"]
    return max(0, most - most * against // reads)


def count_rates(run: Run, cache: Cache) -> dict[int, float]:
    """Return, by step, the lowest high mark that the rates of dirtying ask for.

    Neither the right ratio of the rates nor the inverted one asks for less. The writer's rate is
    steady, except that a writer that has waited for the disk catches up.
    """
    dirtied = Counter(event.time_ns // STEP_NS for _, event in run.events.select_named("dirtied"))
    by_ratio = by_inverse = cache.highest_mark
    found = {}
    for step in range(2, max(dirtied, default=0)):
        factor = min(2, max(0.5, dirtied[step] / max(1, dirtied[step - 1])))
        by_ratio = min(cache.buffers, by_ratio * factor)
        by_inverse = min(cache.buffers, by_inverse / factor)
        found[step + 1] = min(by_ratio, by_inverse)
    return found


def expect_bounds(bench: Workbench, scenario: Scenario, reading: int, cache: Cache = USUAL) -> None:
    """Raise Wrong unless the high mark is what the bound allows, to two blocks.

    The mark begins at its highest. Some steps are not judged: those after a step in which a program
    was started, and those in which the rates could lower the mark further, because another group
    asks about the rates.
    """
    run = bench.run(scenario)
    started = {event.time_ns // STEP_NS for _, event in run.events.select_named("named")}
    last = run.beacon(DONE) // STEP_NS
    bounds = {
        step + 1: max(1, highest_mark(kinds, reading, cache.highest_mark))
        for step, kinds in reads(run, cache).items()
    }
    rates = count_rates(run, cache)
    wanted = {
        step: blocks
        for step, blocks in bounds.items()
        if step - 1 not in started and FIRST <= step <= last and blocks < rates.get(step, 0)
    }
    expect_marks(run, group_by_step(run, STEP_NS, DONE), wanted, "high", 0, SEEN)
