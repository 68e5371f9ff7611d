"""The text that blkparse prints by default of a blktrace: a line for each event.

      8,16   0       25     0.012345678  1234  Q  WS 20941264 + 8 [name]
      device, CPU, number, time in s, process, action, kind, sector + sectors, name

A request is where it is queued (Q), and reads (R) or writes (W) data. Discards and flushes without
data are left out; a flush has an F or an N in its kind, whatever else is there (FWSM). What follows
the events, blkparse's sums, is left out, too.
"""

import re
from functools import partial

from grade.traces.common import SECTOR
from grade.traces.stream import Row, of_lines, seconds

ABOUT = "blktrace, as blkparse prints it"
SOURCE = "blkparse(1), default output"
EVENT = re.compile(r"\d+,\d+ +\d+ +\d+ +(?P<time>\d+\.\d+) +\d+ +(?P<action>\w+) +(?P<rest>.*)")
DATA = re.compile(r"(?P<kind>[A-Z]+) +(?P<sector>\d+) \+ (?P<sectors>\d+)(?: .*)?")
EMPTY = re.compile(r"[A-Z]*[FN][A-Z]*(?: +\( *\d+\))?(?: \[.*\])?")  # a flush without data
QUEUED = "Q"
FIRST = re.compile(rb"\s*\d+,\d+ +\d+ +\d+ +\d+\.\d+ +\d+ +\w+ ")


def looks_like(name: str, head: bytes) -> bool:
    return bool(FIRST.match(head))


def row_of(line: str) -> Row | None:
    """The request of a line that has one."""
    event = EVENT.fullmatch(line)
    if not event:
        if re.match(r"\d+,\d+ ", line):
            raise ValueError("not a whole event")
        return None
    if event["action"] != QUEUED:
        return None
    data = DATA.fullmatch(event["rest"])
    if not data:
        if EMPTY.fullmatch(event["rest"]):
            return None
        raise ValueError("a queued request without SECTOR + SECTORS")
    kind, sectors = data["kind"], int(data["sectors"])
    if not sectors or not {"R", "W"} & set(kind):
        return None  # a discard, or a flush
    return seconds(event["time"]), int(data["sector"]) * SECTOR, sectors * SECTOR, int("W" in kind)


read = partial(of_lines, row_of=row_of)
