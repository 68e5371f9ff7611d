"""fio's log of version 2: the actions on files, in order, with waits in place of times.

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

from sluice.trace.iolog import Log, begins_with_version
from sluice.trace.stream import LeftOut, Line, parse_whole, split_spaces, tables_of_lines

ABOUT = "fio's iolog, version 2"
SOURCE = "fio(1), Trace file format v2; fio's iolog.c"
SEVERAL = True
US_NS = 1000
VERSION = 2
WAIT = "wait"


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return begins_with_version(head, VERSION)


class Waits(Log):
    """A log of version 2, and the sum of its waits so far."""

    now_ns = 0

    def parse_row(self, line: str) -> Line:
        """Return a line's request, the reason why it is left out, or None. Raises ValueError."""
        if self.is_head(line, VERSION):
            return None
        file, action, *rest = split_spaces(line, (2, 4))
        if action.lower() == WAIT and rest:
            self.now_ns += parse_whole(rest[0], "the wait") * US_NS
            return None
        return self.parse_action(self.now_ns, file, action, rest)


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from tables_of_lines(path, stream, left, Waits().parse_row)
