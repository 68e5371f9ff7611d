"""From which event on a loss was certain: all legal continuations are tried.

A failure is a cut: some of the writes in the drive's cache had reached the platters when the power
went. The loss was certain from event N if, once the platters have the writes up to N that the cut
has, every continuation until the cut loses something: wherever the power goes from N to the cut,
and whatever else the drive has written of what is in its cache. N is the first event for which this
holds; the event before it has a continuation that loses nothing, and the story tells it.

The power may also stay longer. The first event after the cut with a continuation that loses nothing
is told, too: until then the loss cannot be undone.

A continuation's writes are any subset of those that are pending, of which at most one is torn. Of a
torn write only the sectors matter that it changes. All subsets of writes and of sectors are tried
where there are at most `MOST_SUBSETS` and `MOST_TEARS`, else some (`cuts.choose`, `cuts.tears`);
then the answer says that it is not exact.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

from sluice.crash.cuts import Base, Cut, Image, Platters, choose, follow_events, tears
from sluice.crash.disk_events import Event
from sluice.crash.laboratory import Failure, Laboratory, make_judging
from sluice.crash.oracle import History

MOST_SUBSETS = 256  # of the writes that are pending at one event
MOST_TEARS = 64  # of the sectors that a write changes
MOST_TRIED = 5000  # continuations of one cut
MOST_LATER = 12  # events after the cut that are tried as later cuts

Saves = Callable[[Cut, Image], bool]  # whether what a cut leaves has lost nothing


@dataclass(frozen=True)
class Continuation:
    """A moment at which the power may go, with what the platters have then. pending: the writes
    that the drive had not been told to flush."""

    cut: Cut
    pending: tuple[int, ...]


@dataclass(frozen=True)
class Certainty:
    """From which event on a loss was certain."""

    first: int  # the event's number
    tried: int  # continuations from this event; all of them lose something
    escape: Continuation | None  # from the event before: a continuation that loses nothing
    later: Continuation | None  # the first one after the cut that loses nothing, if one was found
    exact: bool  # all continuations were tried


class Continuations:
    """The events of a recording that may still happen after a power cut at `cut`."""

    def __init__(
        self, base: Base, events: Sequence[Event], cut: Cut, volatile: bool, saves: Saves
    ) -> None:
        self.base, self.events, self.cut = base, events, cut
        self.volatile, self.saves = volatile, saves
        self.exact = True
        self.tried = 0
        self.known: dict[Cut, bool] = {}

    def platters_at(self, moment: int) -> tuple[Platters, Cut]:
        """Return the platters after this event, and a cut there, without any chosen writes."""
        state = Platters(self.base), Cut(moment, ())
        for _, cut, platters in follow_events(self.base, self.events[: moment + 1], self.volatile):
            state = platters, cut
        return state

    def fixed_at(self, event: int) -> frozenset[int]:
        """Return the numbers of those writes up to an event that are whole on the platters after
        the cut."""
        return frozenset(n for n in self.cut.chosen if n <= event and n != self.cut.torn)

    def iterate_at(
        self, moment: int, fixed: frozenset[int]
    ) -> Iterator[tuple[Continuation, Image]]:
        """Yield the possible contents of the platters when the power goes after an event and the
        writes `fixed` are on them: with each choice of the other pending writes, and with each of
        these torn."""
        platters, without_choice = self.platters_at(moment)
        pending = tuple(platters.pending)
        for chosen in self._subsets([n for n in pending if n not in fixed]):
            on_platters = tuple(n for n in sorted(pending) if n in fixed or n in chosen)
            whole = replace(without_choice, chosen=on_platters)
            for cut in self._ways(platters, whole, chosen):
                yield Continuation(cut, pending), platters.image(cut)

    def _subsets(self, free: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield the subsets of these writes, small ones first."""
        if 1 << len(free) <= MOST_SUBSETS:
            for size in range(len(free) + 1):
                yield from combinations(free, size)
        else:
            self.exact = False
            yield from choose(free, Random(len(free)))

    def _ways(self, platters: Platters, cut: Cut, chosen: Sequence[int]) -> Iterator[Cut]:
        """Yield a cut, and then the same cut with each of the chosen writes torn."""
        yield cut
        for number in chosen:
            for sectors in self._tears(platters, number):
                yield replace(cut, torn=number, sectors=sectors)

    def _tears(self, platters: Platters, number: int) -> Iterator[tuple[int, ...]]:
        """Yield which sectors of a write may be there, if not all or none that it changes."""
        changed = changed_sectors(platters, number)
        if 1 << len(changed) > MOST_TEARS:
            self.exact = False
            yield from tears(len(platters.pending[number]), Random(number))
            return
        for size in range(1, len(changed)):
            yield from combinations(changed, size)

    def is_saved(self, continuation: Continuation, image: Image) -> bool:
        """Return whether a continuation loses nothing."""
        cut = continuation.cut
        if cut not in self.known:
            self.known[cut] = self.saves(cut, image)
        return self.known[cut]

    def find_escape(
        self, moments: Iterable[int], fixed: frozenset[int]
    ) -> tuple[Continuation | None, int]:
        """Return the first continuation that loses nothing when the power goes at one of these
        moments, or None; and how many were tried."""
        tried = 0
        for moment in moments:
            for continuation, image in self.iterate_at(moment, fixed):
                if self.tried >= MOST_TRIED:
                    self.exact = False
                    return None, tried
                tried += 1
                self.tried += 1
                if self.is_saved(continuation, image):
                    return continuation, tried
        return None, tried

    def find_certainty(self) -> Certainty:
        """Return from which event on the loss was certain."""
        last = self.cut.after
        first, tried, escape = last, 1, None
        # An event's continuations are among those of the event before: the first escape ends it.
        for event in range(last - 1, -1, -1):
            escape, n = self.find_escape(range(last, event - 1, -1), self.fixed_at(event))
            if escape or self.tried >= MOST_TRIED:
                break
            first, tried = event, n
        exact = self.exact
        self.tried = 0
        ahead = range(last + 1, min(last + 1 + MOST_LATER, len(self.events)))
        later, _ = self.find_escape(ahead, self.fixed_at(last))
        return Certainty(first, tried, escape, later, exact)


def changed_sectors(platters: Platters, number: int) -> list[int]:
    """Return the indices of those sectors of a pending write that differ from at least one of the
    contents that may be there without it: the durable ones, and those of other pending writes."""
    others: dict[int, set[int]] = {}  # by sector: the keys of its contents in other pending writes
    for other, pieces in platters.pending.items():
        if other != number:
            for sector, key, _ in pieces:
                others.setdefault(sector, set()).add(key)
    changed = []
    for i, (sector, key, _) in enumerate(platters.pending[number]):
        durable_key, _ = platters.durable.get(sector, (0, b""))
        if {durable_key, *others.get(sector, ())} != {key}:
            changed.append(i)
    return changed


def find_certainty(
    laboratory: Laboratory, failure: Failure, events: Sequence[Event]
) -> Certainty | None:
    """Return from which event on a failure's loss was certain, or None if no cut made it."""
    if failure.cut.after >= len(events):
        return None
    history = History(failure.workload.all_operations(), laboratory.start)
    judging = make_judging(laboratory, failure.workload, history, events)
    return Continuations(
        laboratory.base,
        events,
        failure.cut,
        laboratory.volatile,
        lambda cut, image: not judging.judge(cut, image)[0],
    ).find_certainty()


# ---- in words ----

Describe = Callable[[int], str]  # of an event's number: what it is


def format_certainty(found: Certainty, cut: Cut, describe: Describe) -> list[str]:
    """Return the lines of a story that tell from where on its loss was certain."""
    said = f"The loss was certain from {describe(found.first)}"
    if found.first < cut.after:
        each = f"each of {found.tried}" if found.exact else f"each that was tried, {found.tried},"
        said += f": {each} continuations to the cut loses something"
    lines = [f"{said}."]
    if found.escape:
        before = f"event {found.escape.cut.after}"  # the story has listed this event
        lines.append(f"  Before that, nothing is lost if {describe_way(found.escape, before)}.")
    if found.later:
        after = describe(found.later.cut.after)
        lines.append(f"  Later, nothing is lost if {describe_way(found.later, after)}.")
    else:
        lines.append("  No later cut was found that loses nothing.")
    return lines


def describe_way(way: Continuation, event: str) -> str:
    """Say that the power goes after an event, and what is on the platters."""
    when = f"the power goes after {event}"
    whole = [n for n in way.cut.chosen if n != way.cut.torn]
    if not way.pending:
        return when
    if len(whole) == len(way.pending):
        return f"{when} and the drive's cache is on the platters"
    there = [f"{n}" for n in whole]
    there += [f"a part of {way.cut.torn}"] if way.cut.torn >= 0 else []
    return f"{when} and the drive's cache is lost" + (
        f" except {' and '.join(there)}" if there else ""
    )
