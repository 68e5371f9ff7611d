"""fio's log of version 3: what was done to which file, and when.

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

from sluice.trace.iolog import Log, begins
from sluice.trace.stream import LeftOut, Line, of_lines, spaced, whole

ABOUT = "fio's iolog, version 3"
SOURCE = "fio's iolog.c: log_io_u and log_file write microseconds"
SEVERAL = True
US_NS = 1000
VERSION = 3


def looks_like(name: str, head: bytes) -> bool:
    return begins(head, VERSION)


def row_of(line: str, log: Log) -> Line:
    """What a line is."""
    if log.is_head(line, VERSION):
        return None
    time, file, action, *rest = spaced(line, (3, 5))
    return log.action(whole(time, "the time") * US_NS, file, action, rest)


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    yield from of_lines(path, stream, left, partial(row_of, log=Log()))
