"""The text that blkparse prints by default of a blktrace: a line for each event.

      8,16   0       25     0.012345678  1234  Q  WS 20941264 + 8 [name]
      device, CPU, number, time in s, process, action, kind, sector + sectors, name

A request is where it is queued (Q), and reads (R) or writes (W) data. If the beginning of the file
has no such event, it is where it is inserted into the scheduler's queue (I), and if it has none of
these either, where the device gets it (D). Discards are left out, and
what has no data: blkparse prints its kind without a sector, and of a command past the file
system its bytes (Q R 36 [smartctl]). Lines that are no events are left out, too, but blkparse's own
sums (Total (8,16): and what follows) are not counted. A process's name may have any bytes.

Devices are disks of their own, laid one after another as the units of SPC are, in the order in
which they first appear. A file with the requests to a device of several disks (dm, md) and those to
one of these disks is refused, because it has each request twice; a remap shows it (A):

      8,16   0       24     0.012345678  1234  A  WS 20941264 + 8 <- (253,0) 20939216
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import SECTOR
from sluice.trace.stream import HEAD, NO_DATA, LeftOut, Line, parse_seconds, tables_of_lines
from sluice.trace.units import disk_place

ABOUT = "blktrace, as blkparse prints it"
SOURCE = "blkparse(1), default output"
SEVERAL = True
EVENT = re.compile(
    r"(?P<device>\d+,\d+)\s+\d+\s+\d+\s+(?P<time>\d+\.\d+)\s+\d+\s+(?P<action>\w+)\s+(?P<rest>.*)",
    re.A,
)
DATA = re.compile(r"(?P<kind>[A-Za-z]+)\s+(?P<sector>\d+) \+ (?P<sectors>\d+)(?:\s.*)?", re.A)
EMPTY = re.compile(  # without a sector
    r"[A-Za-z]+(?:\s+\d+)?(?:\s+\([ \da-f]+\))?(?:\s+\[.*\])?", re.A
)
SUMS = re.compile(r"\S+ \(.*\):|Input file .* added")  # the first line of what blkparse adds
SOURCE_OF = re.compile(r".* <- \((?P<device>\d+,\d+)\) \d+")
QUEUED, INSERTED, ISSUED, REMAPPED = "Q", "I", "D", "A"
STAGES = (QUEUED, INSERTED, ISSUED)  # the first of these that a file's beginning has is taken
DISCARDS = "discards"
NO_EVENTS = "lines that are no events of blkparse"


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return any(EVENT.fullmatch(line.strip()) for line in head.decode(errors="replace").split("\n"))


@dataclass
class Devices:
    """The devices that have appeared in a file."""

    numbers: dict[str, int] = field(default_factory=dict)  # of those with requests
    above: set[str] = field(default_factory=set)  # whose requests were passed on to others
    in_sums: bool = False  # the line before was of blkparse's sums

    def note_remap(self, device: str, rest: str) -> None:
        """Record a remap of requests to this device."""
        source = SOURCE_OF.fullmatch(rest)
        if source and source["device"] != device:  # a partition may be its own
            self.above.add(source["device"])

    def number(self, device: str) -> int:
        """Return the number of a device that has a request. Raises ValueError if the file may have
        the request a second time, as one to another device."""
        number = self.numbers.setdefault(device, len(self.numbers))
        for other in self.above & self.numbers.keys() - {device}:
            raise ValueError(
                f"requests of {other} are passed on to other devices, and both are in the file; "
                f"leave one of them out, as with grep -v '^ *{other} '"
            )
        return number


def first_stage(head: bytes) -> str:
    """Return the action that stands for a request in a text that begins with these bytes."""
    events = (EVENT.fullmatch(line.strip()) for line in head.decode(errors="replace").split("\n"))
    there = {event["action"] for event in events if event}
    return next((stage for stage in STAGES if stage in there), QUEUED)


def parse_row(line: str, devices: Devices, stage: str = QUEUED) -> Line:
    """Return a line's request, the reason why it is left out, or None. stage: the action that
    stands for a request. Raises ValueError."""
    event = EVENT.fullmatch(line)
    if not event:
        if re.match(r"\d+,\d+\s", line):
            raise ValueError("not a whole event")
        devices.in_sums |= bool(SUMS.match(line))
        return None if devices.in_sums else NO_EVENTS
    devices.in_sums = False
    if event["action"] == REMAPPED:
        devices.note_remap(event["device"], event["rest"])
    if event["action"] != stage:
        return None
    data = DATA.fullmatch(event["rest"])
    if not data:
        if EMPTY.fullmatch(event["rest"]):
            return NO_DATA
        raise ValueError("a queued request without SECTOR + SECTORS")
    kind, size = data["kind"].upper(), int(data["sectors"]) * SECTOR
    if not size:
        return NO_DATA
    if not {"R", "W"} & set(kind):
        return DISCARDS
    at = disk_place(devices.number(event["device"]), int(data["sector"]) * SECTOR, size)
    return parse_seconds(event["time"]), at, size, int("W" in kind)


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    devices = Devices()
    head = stream.read(HEAD) + stream.readline()
    stage = first_stage(head)
    yield from tables_of_lines(
        path,
        chain(io.BytesIO(head), stream),
        left,
        lambda line: parse_row(line, devices, stage),
        names=True,
        comments=False,
    )
