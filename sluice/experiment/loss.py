"""Computes from the trace of a run what a power cut at a random time would lose, and how old it is.

A result has it (`loss`) if the experiment asks for it: loss_ages = 1 in [machine].

A modification is what one write call changes in one block of the measured disk: the events
`dirtied` and `absorbed`, and `writing` of a block that was clean. It is lost if the power goes
before a write of its block that began after it has `completed`. A block that is dropped
(`cancelled`), because its file was removed, is not lost after that. A buffer is busy while it is
written, so no modification comes in the midst of a write.

The time of the cut is uniform over the measured part of the run. Two ages describe it:

    age      of one of the modifications that the cut loses, each as likely as the others. Cuts that
             lose more count for more
    oldest   of the oldest modification that the cut loses. Cuts are equally likely; one that loses
             nothing has the age 0

Both are time averages over the trace, so they are exact: no cut is drawn. While a modification is
in danger its age grows evenly, so a distribution is a sum of uniform pieces, [from, to) in ns.

Under order=journal, a change of metadata (`pinned`) is lost until its transaction is in the log
(`committed`). From then on its block is dirty, and is written home some day; a cut does not lose
it, because the next mount replays the log. Without a journal, a block of metadata may be pinned
until a new block of data has been written (kernel/depend); then it is written itself.

`data` is what programs wrote into files, with the blocks that say where a file's blocks are; `all`
has the inodes, bitmaps and descriptors, too. Two things are not in the trace, and not here: the
last modification of a block that was dirty before and is written in the same call (write policy
async), and when a drive's volatile cache is flushed. So drives with such a cache are refused.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from operator import mul
from typing import TYPE_CHECKING

from sluice.experiment.records import LossAges, LossFigures, Lost
from sluice.experiment.schema import Run
from sluice.system.trace import BadTrace, Event, filter_named

if TYPE_CHECKING:
    import numpy as np  # loaded where it is used: what only starts machines does without it

FOLLOWED = (
    *("dirtied", "absorbed", "writing", "completed", "failed", "cancelled"),
    *("pinned", "committed"),
)
SECTOR = 512
Lifetime = tuple[int, int]  # in ns since power-on, [from, to): something was in danger
PERCENTILES = range(101)
KIB = 1024


@dataclass
class Danger:
    """The modifications of one kind that were in danger so far: lifetimes of modifications and of
    blocks."""

    modifications: list[Lifetime] = field(default_factory=list)
    blocks: list[Lifetime] = field(default_factory=list)


@dataclass
class Block:
    """A block of the disk, with the times of those modifications that are not on the disk."""

    dirty: list[int] = field(default_factory=list)  # times of all these modifications
    in_flight: list[int] = field(default_factory=list)  # of those in a write under way
    owner: int | None = None  # 0: the file system itself

    def begin(self) -> int | None:
        """Return the time since which the block is in danger, or None. What is in flight
        was modified before what is dirty, and both are in the order of time."""
        lost = self.in_flight or self.dirty
        return lost[0] if lost else None


class Follower:
    """Follows the blocks of a disk through a trace. sectors: of a block."""

    def __init__(self, sectors: int) -> None:
        self.sectors = sectors
        self.blocks: dict[int, Block] = defaultdict(Block)
        self.data, self.metadata = Danger(), Danger()
        self.pinned: set[int] = set()  # blocks that the running transaction has changed
        self.logged: set[int] = set()  # blocks that a log has, and that are not written home

    def follow(self, events: Iterable[Event], disk: int) -> None:
        """Take all events of a disk."""
        ended: Event | None = None  # the last `completed`, until it is known not to have failed
        for e in filter_named(events, *FOLLOWED):
            if e.disk != disk:
                continue
            if e.name == "failed":
                self.fail(e)
                ended = None
                continue
            if ended:
                self.complete(ended)
                ended = None
            if e.name == "completed":
                ended = e if e.write else None
            else:
                self.change(e)
        if ended:
            self.complete(ended)

    def change(self, e: Event) -> None:
        """Take an event of the cache."""
        if e.name == "committed":
            self.commit(e.time_ns)
            return
        block = self.blocks[e.block]
        is_logged = e.block in self.logged
        if is_logged and e.name == "dirtied":
            return  # no change: what the log has is to be written home
        if e.name in ("cancelled", "writing", "pinned"):
            self.logged.discard(e.block)
        if e.name == "pinned":
            self.pinned.add(e.block)
        if e.name in ("dirtied", "absorbed", "pinned"):
            block.owner = e.argument
            block.dirty.append(e.time_ns)
        elif e.name == "writing":
            self.pinned.discard(e.block)
            new = [] if e.argument or block.dirty or is_logged else [e.time_ns]
            block.in_flight += block.dirty + new
            block.dirty = []
        else:
            self.settle(block, e.time_ns, block.dirty)

    def commit(self, now_ns: int) -> None:
        """Take the end of a transaction: what was pinned is in the log."""
        for number in self.pinned:
            self.settle(self.blocks[number], now_ns, self.blocks[number].dirty)
        self.logged |= self.pinned
        self.pinned.clear()

    def complete(self, e: Event) -> None:
        """Take the end of a write."""
        block = self.blocks[e.block // self.sectors]
        self.settle(block, e.time_ns, block.in_flight)

    def fail(self, e: Event) -> None:
        """Take a failed command. If it was a write, the modifications in it are dirty again."""
        block = self.blocks[e.block // self.sectors]
        if e.write:
            block.dirty = block.in_flight + block.dirty
            block.in_flight = []

    def settle(self, block: Block, now_ns: int, safe: list[int]) -> None:
        """Record that these modifications can no longer be lost, and empty the list. safe: when
        they were made, in ns; the block's dirty ones or its written ones."""
        danger = self.metadata if block.owner == 0 else self.data
        began_ns = block.begin()
        danger.modifications += [(at_ns, now_ns) for at_ns in safe]
        safe.clear()
        if began_ns is not None:
            danger.blocks.append((began_ns, block.begin() or now_ns))

    def end(self, now_ns: int) -> None:
        """Note that the run has ended: what is in danger then is so until then."""
        for block in self.blocks.values():
            self.settle(block, now_ns, block.dirty)
            self.settle(block, now_ns, block.in_flight)

    def list_lost(self, data_only: bool = True) -> dict[int, list[int]]:
        """Return the blocks that a cut after the last event loses: when each was modified."""
        return {
            number: sorted(chain(block.in_flight, block.dirty))
            for number, block in self.blocks.items()
            if block.begin() is not None and not (data_only and block.owner == 0)
        }


@dataclass(frozen=True)
class Pieces:
    """Ages in ns, each piece [low, high), at which something was in danger; whole numbers."""

    low: "np.ndarray"
    high: "np.ndarray"

    def sum_ns(self) -> int:
        """Return the length of all pieces together."""
        return int((self.high - self.low).sum())


def as_columns(lifetimes: list[Lifetime]) -> tuple["np.ndarray", "np.ndarray"]:
    """Return the beginnings and the ends of lifetimes."""
    import numpy as np

    numbers = np.fromiter(chain.from_iterable(lifetimes), np.int64, 2 * len(lifetimes))
    return numbers[::2], numbers[1::2]


def clip(lifetimes: list[Lifetime], start_ns: int, end_ns: int) -> tuple["np.ndarray", Pieces]:
    """Return the beginning of each lifetime that has ages in [start_ns, end_ns), and these ages."""
    import numpy as np

    begin, until = as_columns(lifetimes)
    low, high = np.maximum(begin, start_ns) - begin, np.minimum(until, end_ns) - begin
    some = low < high
    return begin[some], Pieces(low[some], high[some])


def oldest_pieces(lifetimes: list[Lifetime], start_ns: int, end_ns: int) -> Pieces:
    """Return the ages of the oldest that is in danger, while anything is.

    The one that began first is the oldest until its end. After it comes the next that lives on.
    """
    import numpy as np

    begin, ages = clip(lifetimes, start_ns, end_ns)
    order = np.argsort(begin, kind="stable")
    begin, low, high = begin[order], ages.low[order], ages.high[order]
    ended = np.maximum.accumulate(begin + high)
    covered = np.concatenate(([start_ns], ended[:-1])) if len(ended) else ended
    low = np.maximum(low, covered - begin)
    return Pieces(low[low < high], high[low < high])


def percentiles(pieces: Pieces, nothing_ns: int) -> list[int]:
    """Return the percentiles 0 to 100 of an age, in whole ns, rounded up.

    Each piece is a time in which the age rises by 1 ns a ns, from `low` to `high`. nothing_ns: how
    long the age was 0.
    """
    import numpy as np

    whole_ns = pieces.sum_ns() + nothing_ns
    if not len(pieces.low):
        return [0] * len(PERCENTILES)
    ages = np.concatenate((pieces.low, pieces.high))
    order = np.argsort(ages, kind="stable")
    ages = ages[order]
    # How many pieces reach from each of these ages to the next, and how long the age was below it.
    density = np.where(order < len(pieces.low), 1, -1).cumsum()
    below_ns = np.concatenate(([0], (density[:-1] * np.diff(ages)).cumsum())) + nothing_ns
    found = []
    for percent in PERCENTILES:
        wanted_ns = -(-percent * whole_ns // 100)  # rounded up
        at = int(np.searchsorted(below_ns, wanted_ns))  # the first age with so much time below it
        if at == 0:
            found.append(0)
            continue
        # From the age before, go on as far as what is missing takes; in 100ths of ns.
        missing = percent * whole_ns - int(below_ns[at - 1]) * 100
        found.append(int(ages[at - 1]) + -(-missing // (100 * int(density[at - 1]))))
    return found


def summarise(pieces: Pieces, nothing_ns: int = 0) -> LossAges:
    """Return the mean and the percentiles of an age."""
    whole_ns = pieces.sum_ns() + nothing_ns
    lengths, sums = (pieces.high - pieces.low).tolist(), (pieces.high + pieces.low).tolist()
    twice = sum(map(mul, lengths, sums))  # exact: it may be more than 2^63
    return {
        "mean_ns": twice // (2 * whole_ns) if whole_ns else 0,
        "percentiles_ns": percentiles(pieces, nothing_ns),
    }


def describe(danger: Danger, block_bytes: int, start_ns: int, end_ns: int) -> Lost:
    """Return what a cut in [start_ns, end_ns) loses of one kind."""
    _, ages = clip(danger.modifications, start_ns, end_ns)
    oldest = oldest_pieces(danger.modifications, start_ns, end_ns)
    blocks_ns = clip(danger.blocks, start_ns, end_ns)[1].sum_ns()
    span_ns = end_ns - start_ns
    nothing_ns = span_ns - oldest.sum_ns()
    return {
        "age": summarise(ages),
        "oldest": summarise(oldest, nothing_ns),
        "bytes": blocks_ns * block_bytes // span_ns,
        "nothing_ppm": nothing_ns * 10**6 // span_ns,
    }


def follow_disk(run: Run, events: Iterable[Event]) -> Follower:
    """Return the blocks of the measured disk, followed through all events."""
    follower = Follower(block_bytes(run) // SECTOR)
    follower.follow(events, 1 if run.config["data"] else 0)
    return follower


def block_bytes(run: Run) -> int:
    """Return the size of a block of the run's disks."""
    return int(run.config["block"].removesuffix("K")) * KIB


def loss_figures(
    run: Run, events: Iterable[Event], lost: int, start_ns: int, end_ns: int
) -> LossFigures:
    """Return what a cut at a random time of the measured part loses of the measured disk. Raises
    BadTrace if events were lost."""
    if lost:
        raise BadTrace(f"loss_ages: {lost} events were overwritten: a larger trace_k keeps them")
    followed = follow_disk(run, events)
    followed.end(end_ns)
    data, rest = followed.data, followed.metadata
    both = Danger(data.modifications + rest.modifications, data.blocks + rest.blocks)
    return {
        "data": describe(data, block_bytes(run), start_ns, end_ns),
        "all": describe(both, block_bytes(run), start_ns, end_ns),
    }


def loss_value(figures: LossFigures, of: str, what: str) -> float:
    """Return a figure by the words of a metric. of: "data" or "all". what: "kib",
    "nothing_percent", or an age and a field, as "oldest.p95", in ns."""
    lost = figures["data"] if of == "data" else figures["all"]
    if what == "kib":
        return lost["bytes"] / KIB
    if what == "nothing_percent":
        return lost["nothing_ppm"] / 10**4
    age, _, name = what.partition(".")
    ages = lost["age"] if age == "age" else lost["oldest"]
    if name == "mean":
        return ages["mean_ns"]
    return ages["percentiles_ns"][100 if name == "max" else int(name.removeprefix("p"))]
