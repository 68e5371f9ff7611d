"""The log of nbdkit's filter `log`: lines where a request comes, and where it is done.

    2026-11-27 23:46:18.646801 connection=1 Write id=2 offset=0x1000 count=0x1000 fua=1 ...
    2026-11-27 23:46:18.646912 ...Write id=2 return=0
    local time, connection, request and its number, offset and length in bytes

A request is where it comes, and the line of its end is passed over. Read and Write are taken, and
Zero, which writes zeros. Trims are left out, and what has no data: Flush, Cache, Extents. Exports
are disks of their own, laid one after another as the units of SPC are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.iolog import DISCARDS
from sluice.trace.stream import NO_DATA, LeftOut, Line, parse_date, tables_of_lines
from sluice.trace.units import Disks

ABOUT = "the log of nbdkit's filter `log`"
SOURCE = "nbdkit-log-filter(1); logs of nbdkit 1.32.5 and 1.42.3"
SEVERAL = True
EVENT = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) (?:connection=(?P<connection>\d+) )?"
    r"(?P<done>\.\.\.)?(?P<action>[A-Z]\w*)\b(?P<rest>.*)",
    re.A,
)
DATA = re.compile(r" id=\d+ offset=(0x[\da-f]+) count=(0x[\da-f]+)\b.*", re.A)
EXPORT = re.compile(r"\bexport(?:name)?=(\"[^\"]*\"|'[^']*'|\S*)")
WRITES = {"Read": 0, "Write": 1, "Zero": 1}
EMPTY = ("Flush", "Cache", "Extents")
TRIM, CONNECT = "Trim", "Connect"


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    lines = head.decode(errors="replace").split("\n")
    return any(EVENT.fullmatch(line.strip()) for line in lines)


@dataclass
class Log:
    """The exports that have appeared, and the export of each connection."""

    disks: Disks = field(default_factory=Disks)
    exports: dict[str, str] = field(default_factory=dict)

    def parse_row(self, line: str) -> Line:
        """Return a line's request, why it is left out, or None. Raises ValueError."""
        event = EVENT.fullmatch(line)
        if not event:
            raise ValueError("no line of nbdkit's filter `log`")
        action, connection = event["action"], event["connection"] or ""
        if event["done"]:
            return None
        if action == CONNECT:
            named = EXPORT.search(event["rest"])
            self.exports[connection] = named[1].strip("\"'") if named else ""
        if action in EMPTY:
            return NO_DATA
        if action == TRIM:
            return DISCARDS
        if action not in WRITES:
            return None
        data = DATA.fullmatch(event["rest"])
        if not data:
            raise ValueError(f"{action} without id=, offset= and count=")
        offset, size = (int(word, 16) for word in data.groups())
        at = self.disks.place(self.exports.get(connection, ""), offset, size)
        return parse_date(event["time"]), at, size, WRITES[action]


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from tables_of_lines(path, stream, left, Log().parse_row)
