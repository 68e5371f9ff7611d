"""Reads the frames of a run in virtual time from what its machines said to each other.

A machine says what it does in notes, which are frames of a type of their own (kernel/link/link.c).
QEMU, or the twin, keeps all that passes the first machine's device. A note of a frame has the frame
and its times in virtual time. Which notes are read first depends on the host, so frames are put in
order: by time, then by machine. A frame that the link loses on purpose has no note.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sluice.network.capture import ETHERNET_BYTES, read_packets

NOTE_TYPE = 0x88B5
# struct note: the machine, the kind, the round, the frame's bytes, when it departs and arrives.
NOTE = struct.Struct(f"<{ETHERNET_BYTES}xBBIIQQ")
KIND_FRAME = 1


class BadNotes(ValueError):
    """The error for notes that no link has written; the text says which."""


@dataclass(frozen=True, order=True)
class Frame:
    """A frame on the link. Times are virtual, in ns since power-on."""

    begin_ns: int  # its first bit is on the wire
    machine: int  # that sent it, from 1
    arrival_ns: int  # the receiver has it
    data: bytes


def parse_note(data: bytes) -> Frame | None:
    """Return the frame of a note, or None if the note has none. Raises BadNotes."""
    if len(data) < NOTE.size or data[12:14] != NOTE_TYPE.to_bytes(2, "big"):
        raise BadNotes(f"a frame of {len(data)} bytes that is no note: {data[: NOTE.size].hex()}")
    machine, kind, _, size, begin_ns, arrival_ns = NOTE.unpack_from(data)
    if kind != KIND_FRAME:
        return None
    frame = data[NOTE.size : NOTE.size + size]
    if len(frame) != size:
        raise BadNotes(f"a note of {len(data)} bytes has no room for a frame of {size}")
    return Frame(begin_ns, machine + 1, arrival_ns, frame)


def parse_notes(notes: Iterable[bytes]) -> Iterator[Frame]:
    """Yield the frames of the notes that have one. Raises BadNotes."""
    for note in notes:
        if frame := parse_note(note):
            yield frame


def read_notes(path: Path) -> list[Frame]:
    """Return all frames of a run, in order of time. path: what the first machine has kept. Raises
    BadNotes and BadCapture."""
    return sorted(parse_notes(packet.data for packet in read_packets(path)))
