"""Cuts of a recording: what may be on the platters when the power goes, as images.

A drive with a volatile cache has brought any of the writes since the last flush onto its platters,
and the power may go in the midst of one of them, between two sectors. A drive without such a cache
has done each write that has ended; only one may be torn.

An image is known by the differences from the base that all workloads of a campaign begin with: a
hash is kept for each sector, and that of an image is their sum by exclusive or. So it costs as much
as the writes that differ, and equal images of different workloads are found to be equal.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from random import Random

from sluice.crash.disk_events import SECTOR, Event

ALL_WAYS = 5  # if no more other writes are pending, all combinations of them are tried
# If more are pending: none, all, each write alone, all writes except one, and random combinations.
RANDOM_WAYS = 12
RANDOM_TEARS = 3  # random choices of a write's sectors, besides each number of first sectors
MOST_OLDER = 8  # of the older pending writes that are torn in turn; of more, some are drawn

Sectors = dict[int, tuple[int, bytes]]  # of an image, where it differs: its key and its data


@dataclass(frozen=True)
class Cut:
    """A power cut, and what of the pending writes has reached the platters.

    after: the number of the last event before the cut. chosen: the writes that are on the platters,
    by their events' numbers. torn: the write of which only `sectors` are there; -1 for none.
    returned: operations done; under_way: one more has begun. number: the cut's place among the
    recording's cuts.
    """

    after: int
    chosen: tuple[int, ...]
    torn: int = -1
    sectors: tuple[int, ...] = ()
    returned: int = 0
    under_way: bool = False
    number: int = 0


class Base:
    """The disk that all workloads begin with."""

    def __init__(self, disk: bytes) -> None:
        self.disk = disk

    def key(self, sector: int, data: bytes) -> int:
        """Return what a sector with this data adds to an image's hash: 0 if it is as at first."""
        if self.disk[sector * SECTOR : (sector + 1) * SECTOR] == data:
            return 0
        digest = blake2b(data, digest_size=8, key=sector.to_bytes(4, "little")).digest()
        return int.from_bytes(digest, "little")

    def pieces(self, event: Event) -> list[tuple[int, int, bytes]]:
        """Return the sectors of a write: number, key, data."""
        first, data = event.at // SECTOR, event.data
        pieces = ((first + i, data[i * SECTOR : (i + 1) * SECTOR]) for i in range(event.sectors()))
        return [(sector, self.key(sector, piece), piece) for sector, piece in pieces]


@dataclass
class Image:
    """The disk after a cut: its hash, the durable contents, and the sectors that differ from
    those."""

    hash: int
    durable: bytes
    new: Sectors

    def bytes(self) -> bytes:
        """Return the whole image."""
        return apply_sectors(self.durable, self.new)


def apply_sectors(disk: bytes, sectors: Sectors) -> bytes:
    """Return a disk with these sectors in it."""
    after = bytearray(disk)
    for sector, (_, data) in sectors.items():
        after[sector * SECTOR : (sector + 1) * SECTOR] = data
    return bytes(after)


class Platters:
    """The writes that are durable so far, and those pending in the drive's cache."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.durable: Sectors = {}
        self.disk = base.disk  # the durable contents, without the sectors of `newly`
        self.newly: Sectors = {}
        self.hash = 0  # of the durable contents
        # By a write's number: its sectors, each with its number, key and data.
        self.pending: dict[int, list[tuple[int, int, bytes]]] = {}

    def write(self, number: int, event: Event) -> None:
        """Take a write into the cache."""
        self.pending[number] = self.base.pieces(event)

    def flush(self) -> None:
        """Make all that is pending durable."""
        for pieces in self.pending.values():
            for sector, key, data in pieces:
                self.hash ^= self.durable.get(sector, (0, b""))[0] ^ key
                self.durable[sector] = self.newly[sector] = key, data
        self.pending = {}

    def image(self, cut: Cut) -> Image:
        """Return what a cut leaves."""
        new: Sectors = {}
        for number in cut.chosen:
            pieces = self.pending[number]
            for i in cut.sectors if number == cut.torn else range(len(pieces)):
                sector, key, data = pieces[i]
                new[sector] = key, data
        found = self.hash
        for sector, (key, _) in new.items():
            found ^= self.durable.get(sector, (0, b""))[0] ^ key
        if self.newly:
            self.disk, self.newly = apply_sectors(self.disk, self.newly), {}
        return Image(found, self.disk, new)


def follow_events(
    base: Base, events: Sequence[Event], volatile: bool
) -> Iterator[tuple[Event, Cut, Platters]]:
    """Yield each event with a cut after it, of which no writes are chosen yet, and the platters
    then."""
    platters, returned, under_way = Platters(base), 0, False
    for after, event in enumerate(events):
        if event.kind == "flush" or not volatile:
            platters.flush()
        if event.kind == "began":
            under_way = True
        elif event.kind == "returned":
            returned, under_way = event.mark + 1, False
        elif event.kind == "write":
            platters.write(after, event)
        yield event, Cut(after, (), returned=returned, under_way=under_way), platters


def choose(others: Sequence[int], rng: Random) -> list[tuple[int, ...]]:
    """Return which of these writes may be on the platters: all ways, or some of many."""
    n = len(others)
    if n <= ALL_WAYS:  # bit i of a way says whether the i-th is there
        return [
            tuple(other for i, other in enumerate(others) if way >> i & 1) for way in range(1 << n)
        ]
    ways = {(), tuple(others)}
    for other in others:
        ways.add((other,))
        ways.add(tuple(o for o in others if o != other))
    for _ in range(RANDOM_WAYS):
        ways.add(tuple(o for o in others if rng.random() < 0.5))
    return sorted(ways)


def choose_beside(
    others: Sequence[int], guarded: Container[int], rng: Random
) -> list[tuple[int, ...]]:
    """Return which of these writes may be on the platters, as choose() does, except that guarded
    writes are there all or none: an order rule says that it does not matter (order_rules.py)."""
    free = [other for other in others if other not in guarded]
    without_guarded = choose(free, rng)
    if len(free) == len(others):
        return without_guarded
    rest = [other for other in others if other in guarded]
    return without_guarded + [tuple(sorted((*some, *rest))) for some in without_guarded]


def tears(count: int, rng: Random, grain: int = 1) -> list[tuple[int, ...]]:
    """Return the ways in which a write of `count` sectors may be torn, each as the indices of the
    sectors that are on the platters: any number of first sectors, the last sector alone, and some
    at random, because a drive may begin anywhere on a track. In a write of more than `grain`
    sectors, each `grain` sectors that follow each other are there all or none."""
    if grain > 1 and count > grain:
        groups = [range(at, min(at + grain, count)) for at in range(0, count, grain)]
        ways_of_groups = tears(len(groups), rng)
        return [tuple(i for group in way for i in groups[group]) for way in ways_of_groups]
    ways = {tuple(range(n)) for n in range(1, count)}
    if count > 1:
        ways.add((count - 1,))
    for _ in range(RANDOM_TEARS if count > 2 else 0):
        ways.add(tuple(i for i in range(count) if rng.random() < 0.5))
    return sorted(way for way in ways if 0 < len(way) < count)  # not none, not all


def tear_in_halves(count: int, rng: Random) -> list[tuple[int, ...]]:
    """Return the ways in which an older write than the newest may be torn, as tears() does: its
    first half, its second half, and some sectors at random. The ways are few, because in each cut
    each older write is torn."""
    half = (count + 1) // 2
    some = tuple(i for i in range(count) if rng.random() < 0.5)
    ways = {tuple(range(half)), tuple(range(half, count)), some}
    return sorted(way for way in ways if 0 < len(way) < count)


def iterate_cuts(
    base: Base,
    events: Sequence[Event],
    seed: int = 0,
    volatile: bool = True,
    grain: int = 1,
    tear_older: bool = False,
    guarded: Container[int] = (),
) -> Iterator[tuple[Cut, Image]]:
    """Yield the cuts of a recording, each with what it leaves.

    grain: as in tears(). tear_older: also try cuts at which the newest write is whole and an older
    one is torn; a drive that writes several at a time, or in an order of its own, may leave this.
    guarded: writes that are neither torn nor permuted.
    """
    rng, n = Random(seed), 0
    for event, now, platters in follow_events(base, events, volatile):
        ways = list(_ways(now.after, event, list(platters.pending), rng, grain, guarded))
        if tear_older:
            ways += _older_torn(now.after, event, platters.pending, rng, guarded)
        for chosen, torn, sectors in ways:
            cut = Cut(now.after, chosen, torn, sectors, now.returned, now.under_way, n)
            n += 1
            yield cut, platters.image(cut)


Way = tuple[tuple[int, ...], int, tuple[int, ...]]  # of a cut: chosen, torn, sectors


def _ways(
    after: int,
    event: Event,
    pending: list[int],
    rng: Random,
    grain: int,
    guarded: Container[int],
) -> Iterator[Way]:
    """Yield what a cut after this event may leave and earlier cuts need not have left.

    When an operation returns, more must be durable than before, so all choices of the pending
    writes are tried again. At a write, this write is there as a whole, with each choice of the
    others; or it is torn, with none or all of the others.
    """
    if event.kind == "returned":
        for chosen in choose_beside(pending, guarded, rng):
            yield chosen, -1, ()
    if event.kind != "write":
        return
    others = [other for other in pending if other != after]
    for chosen in choose_beside(others, guarded, rng):
        yield (*chosen, after), -1, ()
    few = [(), tuple(others)] if others else [()]
    for sectors in tears(event.sectors(), rng, grain) if after not in guarded else ():
        for chosen in few:
            yield (*chosen, after), after, sectors


def _older_torn(
    after: int,
    event: Event,
    pending: Mapping[int, Sequence[object]],
    rng: Random,
    guarded: Container[int],
) -> Iterator[Way]:
    """Yield the ways in which one pending write is torn that is not the newest one, and all others
    are there as a whole: after each write, and when an operation returns. At a return no write is
    new, so each may be torn."""
    if event.kind not in ("write", "returned"):
        return
    older = [number for number in pending if number != after and number not in guarded]
    if len(older) > MOST_OLDER:
        older = sorted(rng.sample(older, MOST_OLDER))
    for number in older:
        for sectors in tear_in_halves(len(pending[number]), rng):
            yield tuple(pending), number, sectors
