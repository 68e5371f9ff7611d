"""fio's log of version 2: what was done to which file, in order, and no times but waits.

    fio version 2 iolog
    /dev/sda add
    /dev/sda open
    /dev/sda write 4096 8192
    /dev/sda wait 5000 0
    /dev/sda close
    file, action; or file, action, offset and length in bytes

`wait N` is N us after the wait before, as fio's manual says: requests between two waits come at one
time. (The program fio 3.39 waits until N ms after its own start.) A log without waits has all its
requests at time 0, so replay it in a closed loop, as fio does. Trims and waits are left out, and
sync and datasync, which have no data. Files are disks of their own, laid one after another as the
units of SPC are, in the order in which they first appear.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.iolog import Log, begins
from sluice.trace.stream import LeftOut, Line, of_lines, spaced, whole

ABOUT = "fio's iolog, version 2"
SOURCE = "fio(1), Trace file format v2; fio's iolog.c"
SEVERAL = True
US_NS = 1000
VERSION = 2
WAIT = "wait"


def looks_like(name: str, head: bytes) -> bool:
    return begins(head, VERSION)


class Waits(Log):
    """The log, and how far its waits have come."""

    now_ns = 0

    def row_of(self, line: str) -> Line:
        """What a line is."""
        if self.is_head(line, VERSION):
            return None
        file, action, *rest = spaced(line, (2, 4))
        if action.lower() == WAIT and rest:
            self.now_ns += whole(rest[0], "the wait") * US_NS
            return None
        return self.action(self.now_ns, file, action, rest)


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    yield from of_lines(path, stream, left, Waits().row_of)
