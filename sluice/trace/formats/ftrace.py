"""The text of Linux' ftrace, also as trace-cmd reports it: events of requests, a line each.

    task-PID [CPU] flags time in s: event: device kind sector + sectors [name]

    cat-7  [001] d..1  5758.124989: block_bio_queue: 8,0 R 20941264 + 8 [cat]
    cat-7  [001] d..1  5758.125002: block_rq_issue: 8,0 R 4096 () 20941264 + 8 [cat]
    cat-7  [001] d..1  5758.124989: 8,0    Q   R 20941264 + 8 [cat]
    cat-7    1d..1     5758.124989: block_bio_queue: 8,0 R 20941264 + 8 [cat]
    cat     7 [001]    5758.124989: block:block_bio_queue: 8,0 R 20941264 + 8 [cat]

The third form is that of the tracer `blk`, the fourth that of `trace-cmd report -l`, and the last
that of `perf script`. A request is where it is queued (block_bio_queue, Q). In
a file that has no such event it is where it is inserted into the scheduler's queue
(block_rq_insert, I), and in a file without those where the device gets it (block_rq_issue, D).
Discards are left out, and what has no data. Lines of other events, heads and comments are skipped.
Where the ring of events was full (`CPU:1 [LOST 12 EVENTS]`), that is counted among what is left
out.

Times are in s. Three clocks of ftrace write whole numbers instead, and a file does not tell its
clock: `uptime` (ticks of 10 ms, USER_HZ), `x86-tsc` (cycles) and `counter` (events, which is no
time). Such a file is refused unless --time-unit gives the unit.

Devices are disks of their own, as in blkparse, and a file with both a device of several disks and
one of these disks is refused as there (block_bio_remap, A).
"""

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import numpy as np

from sluice.trace.bound import Bound
from sluice.trace.common import SECTOR, build_table
from sluice.trace.format_words import COLUMNS, UNIT, UNITS_PS, Word
from sluice.trace.formats.blkparse import DISCARDS, EMPTY, Devices
from sluice.trace.spool import Spool, open_spool
from sluice.trace.stream import (
    NO_DATA,
    PIECE,
    LeftOut,
    Row,
    checked_row,
    parse_seconds,
    tables_of_lines,
)
from sluice.trace.units import disk_place

ABOUT = "Linux' ftrace of requests, also as trace-cmd and perf script print it"
SOURCE = "Linux, include/trace/events/block.h and kernel/trace/blktrace.c"
SEVERAL = True
EVENTS = tuple(  # the beginnings of a line, the most frequent first
    re.compile(begin + r" +(?P<time>\d+(?:\.\d+)?): +(?P<rest>.*)")
    for begin in (
        r".+-\d+ +(?:\([ \d-]+\) +)?\[\d+\](?: +[^ :]+)?",
        r".+-\d+ +(?:\([ \d-]+\) +)?\d+[^ :\d]\S*",  # trace-cmd report -l
        r".+ \d+(?:/\d+)? +\[\d+\]",  # perf script
    )
)
POINT = re.compile(r"(?:block:)?(?P<point>block_\w+): +(?P<device>\d+,\d+) +(?P<what>.*)")
TRACER = re.compile(r"(?P<device>\d+,\d+) +(?P<action>[A-Z]+) +(?P<what>.*)")
DATA = re.compile(
    r"(?P<kind>[A-Z]+) +(?:\d+ +\(.*?\) +)?(?P<sector>\d+) \+ (?P<sectors>\d+)(?: .*)?"
)
SOURCE_OF = re.compile(r".* <- \((?P<device>\d+,\d+)\) \d+")
QUEUED, INSERTED, ISSUED, REMAPPED = "Q", "I", "D", "A"
STAGES = (QUEUED, INSERTED, ISSUED)  # the first of them that a file has is taken
ACTIONS = {
    "block_bio_queue": QUEUED,
    "block_rq_insert": INSERTED,
    "block_rq_issue": ISSUED,
    "block_bio_remap": REMAPPED,
}
LOST = re.compile(r"CPU:? ?\d+ \[(?:LOST|.* EVENTS DROPPED|EVENTS DROPPED).*\]")
LOST_EVENTS = "places where ftrace lost events"
NO_UNIT = (
    "a whole number, which ftrace's clocks uptime, x86-tsc and counter write, and the file does "
    "not tell its unit: give --time-unit (10ms for uptime); for counter, whose numbers are no "
    "times, give --time-unit ns --loop closed"
)


def bind(word: Word, path: Path, head: bytes) -> Bound | ModuleType:
    """Return the format for whole numbers of the unit in the word, if the file has such times; else
    this module, which takes no options."""
    module = sys.modules[__name__]
    lines = (line.strip() for line in head.decode(errors="replace").split("\n"))
    first = next(filter(None, map(split_event, lines)), None)
    if UNIT not in word.options or COLUMNS in word.options or not first or "." in first[0]:
        return module
    unit = word.options[UNIT]
    said = [f"times in {unit} (as you say)"]
    read_unit = partial(read, unit_ps=UNITS_PS[unit])
    return Bound(__name__, ABOUT, SOURCE, read_unit, SEVERAL, said=said)


def parse_time(text: str, unit_ps: int | None) -> int:
    """Return a time in ns. unit_ps: of whole numbers; None: times must be in s, with fractions.
    Raises ValueError."""
    is_whole = "." not in text
    if is_whole and unit_ps is None:
        raise ValueError(f"the time {text!r}: {NO_UNIT}")
    if not is_whole and unit_ps is not None:
        raise ValueError(f"the time {text!r}: must be a whole number, as the first one")
    return int(text) * unit_ps // 1000 if unit_ps else parse_seconds(text)


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    lines = head.decode(errors="replace").split("\n")
    return any(split_event(line.strip()) for line in lines)


def split_event(line: str) -> tuple[str, str, str, str] | None:
    """Return an event's time, action, device and remaining text; None for a line that is no event
    of requests."""
    event = next((found for one in EVENTS if (found := one.fullmatch(line))), None)
    if not event:
        return None
    if point := POINT.fullmatch(event["rest"]):
        action = ACTIONS.get(point["point"])
        return (event["time"], action, point["device"], point["what"]) if action else None
    if tracer := TRACER.fullmatch(event["rest"]):
        return event["time"], tracer["action"], tracer["device"], tracer["what"]
    return None


@dataclass
class Stage:
    """The requests of a stage, in a temporary file, and what of it is left out."""

    spool: Spool
    left: LeftOut
    devices: Devices = field(default_factory=Devices)
    some: list[Row] = field(default_factory=list)  # not in the file yet
    seen: bool = False  # whether the file has an event of the stage

    def add(self, found: Row | str) -> None:
        """Store a request, or count it if it is left out, for which a text says why."""
        self.seen = True
        if isinstance(found, str):
            self.left.add(found)
        elif not self.left.is_full():
            self.left.kept += 1
            self.some.append(found)
            if len(self.some) == PIECE:
                self.flush()

    def flush(self) -> None:
        """Move the requests to the file."""
        self.spool.add(build_table(self.some))
        self.some = []


def take_line(
    line: str, stages: dict[str, Stage], left: LeftOut, unit_ps: int | None = None
) -> None:
    """Store a line's event in its stage. unit_ps: as for parse_time. Raises ValueError."""
    if LOST.fullmatch(line):
        left.add(LOST_EVENTS)
    event = split_event(line)
    if not event:
        return
    time, action, device, what = event
    if action == REMAPPED:
        for stage in stages.values():
            stage.devices.note_remap(device, what)
    if action in stages:
        time_ns = parse_time(time, unit_ps)
        stages[action].add(parse_request(time_ns, device, what, stages[action].devices))


def parse_request(time_ns: int, device: str, what: str, devices: Devices) -> Row | str:
    """Return a request, or why it is left out. Raises ValueError."""
    data = DATA.fullmatch(what)
    if not data:
        if EMPTY.fullmatch(what):
            return NO_DATA
        raise ValueError("a request without SECTOR + SECTORS")
    size = int(data["sectors"]) * SECTOR
    if not size:
        return NO_DATA
    if not {"R", "W"} & set(data["kind"]):
        return DISCARDS
    at = disk_place(devices.number(device), int(data["sector"]) * SECTOR, size)
    return checked_row((time_ns, at, size, int("W" in data["kind"])))


def read(
    path: Path, stream: BinaryIO, left: LeftOut, unit_ps: int | None = None
) -> Iterator[np.ndarray]:
    """Yield the requests of the first stage that has events, which is known at the file's end.
    unit_ps: as for parse_time."""
    with ExitStack() as files:
        stages = {
            name: Stage(files.enter_context(open_spool()), LeftOut(most=left.most))
            for name in STAGES
        }
        lines = LeftOut(bad=left.bad)

        def take(line: str) -> None:
            """Store a line's event."""
            take_line(line, stages, left, unit_ps)

        for _ in tables_of_lines(path, stream, lines, take):
            pass
        taken = next((stage for stage in stages.values() if stage.seen), stages[QUEUED])
        taken.flush()
        left.counts.update(taken.left.counts)
        left.kept += taken.left.kept
        yield from taken.spool.read_tables()
