"""How far the ghost caches are to lower the high mark, worked out from the run's own events.

So a mark is compared with what this run's own reads ask for. Those of another run would be others:
when a burst of writes comes a little later, other reads of that step hit.
"""

from collections import Counter

from grade.scoring.scenario import BLOCK_SECTORS, Run, Scenario
from grade.scoring.workbench import Workbench

from .bursts import SHARES, Block, expect_marks, levels
from .readers import BUFFERS, DONE, MOST, STEP_MS

STEP_NS = STEP_MS * 10**6
SEEN = 2  # steps that must show their mark; a mark that falls shows in a burst at the step itself
# Before this step the mark comes down from its most: the burst takes the disk a second or two, and
# more blocks than the new mark are dirty when the update daemon looks again.
FIRST = 3


class Names:
    """The names of so many blocks, the ones last used."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.blocks: dict[Block, None] = {}  # the oldest first

    def remember(self, block: Block) -> None:
        """Have this name, as the newest."""
        self.blocks.pop(block, None)
        self.blocks[block] = None
        if len(self.blocks) > self.most:
            del self.blocks[next(iter(self.blocks))]


def reads(run: Run) -> dict[int, Counter[str]]:
    """In each step, how many reads there were, by `hit` and `miss`, and of these, `ghost hit` and
    `ghost miss`.

    A program is read from the root disk. Its names are on the disk, too, and a read of them is none
    for a policy; but of these there are few, and only where a program is started.
    """
    sectors = run.sectors("/r")
    full, least = Names(BUFFERS), Names(BUFFERS - MOST)
    found: dict[int, Counter[str]] = {}
    for _, event in run.events.named("hit", "miss", "dirtied", "writing"):
        block = (event.disk, event.block)
        if event.name == "dirtied":
            full.remember(block)
        elif event.name == "writing" and event.argument:  # it was dirty
            least.remember(block)
        elif event.name in ("hit", "miss"):
            if event.disk == run.data_disk and event.block * BLOCK_SECTORS not in sectors:
                continue  # to be overwritten
            kinds = found.setdefault(event.time_ns // STEP_NS, Counter())
            kinds[event.name] += 1
            kinds["ghost hit"] += event.name == "hit" and block not in least.blocks
            kinds["ghost miss"] += event.name == "miss" and block in full.blocks
            full.remember(block)
            least.remember(block)
    return found


def bound(kinds: Counter[str], reading: int) -> int:
    """The most that the high mark may be after a step with these reads."""
    c, gh, gm = (kinds[kind] for kind in ("hit", "ghost hit", "ghost miss"))
    against = (c - gh + gm, c + gh + gm, gh + gm)[reading]
    return max(0, MOST - MOST * against // (c + kinds["miss"]))


def expect_bounds(bench: Workbench, scenario: Scenario, reading: int) -> None:
    """Expect the high mark, which begins at its most, to be what the bound allows.

    Steps after one in which a program was started are not looked at.
    """
    run = bench.run(scenario)
    started = {event.time_ns // STEP_NS for _, event in run.events.named("named")}
    last = run.beacon(DONE) // STEP_NS
    wanted = {
        step + 1: max(1, bound(kinds, reading))
        for step, kinds in reads(run).items()
        if step not in started and FIRST <= step + 1 <= last
    }
    expect_marks(run, levels(run, STEP_NS, DONE), wanted, "high", SHARES["high"], SEEN)
