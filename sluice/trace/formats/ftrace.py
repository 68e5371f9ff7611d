"""The text of Linux' ftrace, also as trace-cmd reports it: events of requests, a line each.

    task-PID [CPU] flags time in s: event: device kind sector + sectors [name]

    cat-7  [001] d..1  5758.124989: block_bio_queue: 8,0 R 20941264 + 8 [cat]
    cat-7  [001] d..1  5758.125002: block_rq_issue: 8,0 R 4096 () 20941264 + 8 [cat]
    cat-7  [001] d..1  5758.124989: 8,0    Q   R 20941264 + 8 [cat]

The third form is that of the tracer `blk`. A request is where it is queued (block_bio_queue, Q). In
a file that has no such event it is where it is inserted into the scheduler's queue
(block_rq_insert, I), and in a file without those where the device gets it (block_rq_issue, D).
Discards are left out, and what has no data. Lines of other events, heads and comments are skipped.
Where the ring of events was full (`CPU:1 [LOST 12 EVENTS]`), that is counted among what is left
out.

Devices are disks of their own, as in blkparse, and a file with both a device of several disks and
one of these disks is refused as there (block_bio_remap, A).
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import SECTOR
from sluice.trace.formats.blkparse import DISCARDS, EMPTY, Devices
from sluice.trace.stream import (
    NO_DATA,
    LeftOut,
    Row,
    build_tables,
    checked_row,
    parse_seconds,
    tables_of_lines,
)
from sluice.trace.units import disk_place

ABOUT = "Linux' ftrace of requests, also as trace-cmd reports it"
SOURCE = "Linux, include/trace/events/block.h and kernel/trace/blktrace.c"
SEVERAL = True
EVENT = re.compile(
    r".+-\d+ +(?:\([ \d-]+\) +)?\[\d+\] +(?:[^ :]+ +)?(?P<time>\d+\.\d+): +(?P<rest>.*)"
)
POINT = re.compile(r"(?P<point>block_\w+): +(?P<device>\d+,\d+) +(?P<what>.*)")
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


def looks_like(name: str, head: bytes) -> bool:
    lines = head.decode(errors="replace").split("\n")
    return any(split_event(line.strip()) for line in lines)


def split_event(line: str) -> tuple[str, str, str, str] | None:
    """Return an event's time, action, device and remaining text; None for a line that is no event
    of requests."""
    event = EVENT.fullmatch(line)
    if not event:
        return None
    if point := POINT.fullmatch(event["rest"]):
        action = ACTIONS.get(point["point"])
        return (event["time"], action, point["device"], point["what"]) if action else None
    if tracer := TRACER.fullmatch(event["rest"]):
        return event["time"], tracer["action"], tracer["device"], tracer["what"]
    return None


@dataclass
class Stages:
    """The requests of each stage, or why they are left out."""

    found: dict[str, list[Row | str]] = field(default_factory=lambda: defaultdict(list))
    devices: dict[str, Devices] = field(default_factory=lambda: {s: Devices() for s in STAGES})
    lost: list[str] = field(default_factory=list)

    def take_line(self, line: str) -> None:
        """Store a line's event in its stage. Raises ValueError."""
        if LOST.fullmatch(line):
            self.lost.append(LOST_EVENTS)
        event = split_event(line)
        if not event:
            return
        time, action, device, what = event
        if action == REMAPPED:
            for devices in self.devices.values():
                devices.note_remap(device, what)
        if action in STAGES:
            self.found[action].append(self.request(time, action, device, what))

    def request(self, time: str, action: str, device: str, what: str) -> Row | str:
        """Return a request of a stage, or why it is left out. Raises ValueError."""
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
        number = self.devices[action].number(device)
        at = disk_place(number, int(data["sector"]) * SECTOR, size)
        return checked_row((parse_seconds(time), at, size, int("W" in data["kind"])))

    def first_stage_rows(self, left: LeftOut) -> Iterator[Row]:
        """Yield the requests of the first stage that has events."""
        taken = next((self.found[stage] for stage in STAGES if self.found[stage]), [])
        for why in self.lost:
            left.add(why)
        for row in taken:
            if isinstance(row, str):
                left.add(row)
            else:
                left.kept += 1
                yield row


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield all of the file at once, because its stages are known at its end."""
    stages = Stages()

    def parse_row(line: str) -> None:
        stages.take_line(line)

    list(tables_of_lines(path, stream, LeftOut(bad=left.bad), parse_row))
    yield from build_tables(path, stages.first_stage_rows(left))
