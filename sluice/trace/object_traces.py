"""Gives places and times to the uses of objects, as libCacheSim's traces have them.

Such a trace says neither where an object is nor, within a second, when it is used. Objects are laid
down in the order in which they first appear, each in whole blocks of 4 KiB, and the uses of a
second are spread evenly over it. Uses of size 0 are left out, as libCacheSim leaves them out by
default.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sluice.trace.common import REQUEST
from sluice.trace.seconds import SECOND_NS
from sluice.trace.spool import open_spool
from sluice.trace.stream import NO_DATA, LeftOut

BLOCK = 4096
NEVER = 1 << 62


@dataclass
class Objects:
    """The objects that have been used. Arrays have an element for each object, by its number: the
    time of its first use in s, where in the file this use is, and the bytes of its largest use."""

    numbers: dict[int, int] = field(default_factory=dict)  # by the object's name in the file
    first_s: np.ndarray = field(default_factory=lambda: np.zeros(0, "<i8"))
    first_at: np.ndarray = field(default_factory=lambda: np.zeros(0, "<i8"))
    longest: np.ndarray = field(default_factory=lambda: np.zeros(0, "<i8"))

    def make_room(self) -> None:
        """Make the arrays as long as there are objects, and longer, so that this is seldom done."""
        more = 2 * len(self.numbers) - len(self.longest)
        if len(self.numbers) > len(self.longest):
            self.first_s = np.append(self.first_s, np.full(more, NEVER))
            self.first_at = np.append(self.first_at, np.zeros(more, "<i8"))
            self.longest = np.append(self.longest, np.zeros(more, "<i8"))

    def number_uses(self, uses: np.ndarray, at: int) -> np.ndarray:
        """Return the number of each use's object. at: the place in the file of the first use."""
        order = np.argsort(uses["time_s"], kind="stable")
        # The objects, where each is used first in this order, and of each use its object's index.
        objects, first, index = np.unique(
            uses["object"][order], return_index=True, return_inverse=True
        )
        found = np.array(
            [self.numbers.setdefault(one, len(self.numbers)) for one in objects.tolist()], "<i8"
        )
        self.make_room()
        seconds = uses["time_s"][order][first].astype("<i8")
        is_earlier = seconds < self.first_s[found]  # than any use so far
        self.first_s[found[is_earlier]] = seconds[is_earlier]
        self.first_at[found[is_earlier]] = at + order[first][is_earlier]
        numbers = np.empty(len(uses), "<i8")
        numbers[order] = found[index]
        np.maximum.at(self.longest, numbers, uses["bytes"].astype("<i8"))
        return numbers

    def starts(self) -> np.ndarray:
        """Return the place of each object in bytes, by its number. Objects lie in the order of
        their first uses, each as long as its largest use."""
        count = len(self.numbers)
        order = np.lexsort((self.first_at[:count], self.first_s[:count]))
        room = -(-self.longest[order] // BLOCK) * BLOCK  # rounded up to blocks
        starts = np.empty(count, "<u8")
        starts[order] = np.cumsum(room) - room  # the room of all objects before
        return starts


@dataclass
class Seconds:
    """How many uses each second has, and how many of them have been given their times."""

    count: Counter[int] = field(default_factory=Counter)
    done: Counter[int] = field(default_factory=Counter)

    def add(self, seconds: np.ndarray) -> None:
        """Count uses."""
        there, counts = np.unique(seconds, return_counts=True)
        self.count.update(dict(zip(there.tolist(), counts.tolist(), strict=True)))

    def spread_times(self, seconds: np.ndarray) -> np.ndarray:
        """Return the times of the next uses in ns; those of one second are spaced evenly in it."""
        order = np.argsort(seconds, kind="stable")
        # The different seconds, where each begins in this order, and how many uses it has here.
        different, first, counts = np.unique(seconds[order], return_index=True, return_counts=True)
        done = np.array([self.done[second] for second in different.tolist()], "<i8")
        whole = np.array([self.count[second] for second in different.tolist()], "<i8")
        self.done.update(dict(zip(different.tolist(), counts.tolist(), strict=True)))
        rank = np.arange(len(seconds)) - np.repeat(first - done, counts)  # in the whole second
        within_ns = rank * SECOND_NS // np.repeat(whole, counts)
        start_ns = np.repeat(different.astype("<u8"), counts) * SECOND_NS
        times_ns = np.empty(len(seconds), "<u8")
        times_ns[order] = start_ns + within_ns.astype("<u8")
        return times_ns


def read_uses(pieces: Iterator[np.ndarray], left: LeftOut) -> Iterator[np.ndarray]:
    """Yield the requests when all uses have been read, because objects have no places until all
    sizes are known. Memory is that of the objects and of the seconds that have uses.

    pieces: of the uses, with the fields time_s, object, bytes and, if the format tells it, write,
    which is true for a write.
    """
    objects, seconds, at = Objects(), Seconds(), 0
    with open_spool() as spool:
        for records in pieces:
            full = records["bytes"] > 0
            left.count_records(full, NO_DATA, ~full)
            uses = records[full]
            left.kept += len(uses)
            rows = np.zeros(len(uses), REQUEST)
            rows["time_ns"], rows["bytes"] = uses["time_s"], uses["bytes"]
            rows["offset"] = objects.number_uses(uses, at)
            rows["write"] = uses["write"] if "write" in (uses.dtype.names or ()) else 0
            seconds.add(rows["time_ns"])
            at += len(uses)
            spool.add(rows)
        starts = objects.starts()
        for rows in spool.read_tables():
            rows["offset"] = starts[rows["offset"]]
            rows["time_ns"] = seconds.spread_times(rows["time_ns"])
            yield rows
