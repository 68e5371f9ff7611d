"""fio's log of version 3: the actions on files, with their times.

    fio version 3 iolog
    2 /dev/sda add
    872 /dev/sda open
    878 /dev/sda write 4096 8192
    10001677 /dev/sda close
    time in us, file, action; or time, file, action, offset and length in bytes

Several jobs of fio may log to one file, one after another, each with a head and with times from its
own start; they count from one start here. Jobs may also tear each other's lines, as fio's manual
warns: such a line is refused. Trims, sync and datasync are left out. Files
are disks of their own, laid one after another as the units of SPC are, in the order in which they
first appear.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.iolog import Log, begins_with_version
from sluice.trace.stream import LeftOut, Line, parse_whole, split_spaces, tables_of_lines

ABOUT = "fio's iolog, version 3"
SOURCE = "fio's iolog.c: log_io_u and log_file write microseconds"
SEVERAL = True
US_NS = 1000
VERSION = 3


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return begins_with_version(head, VERSION)


def parse_row(line: str, log: Log) -> Line:
    """Return a line's request, the reason why it is left out, or None. Raises ValueError."""
    if log.is_head(line, VERSION):
        return None
    time, file, action, *rest = split_spaces(line, (3, 5))
    return log.parse_action(parse_whole(time, "the time") * US_NS, file, action, rest)


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from tables_of_lines(path, stream, left, partial(parse_row, log=Log()))
