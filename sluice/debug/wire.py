"""Finds the messages that two machines sent each other, and where each frame of them was when.

The trace of a machine has `sent`, with the first 8 bytes of a datagram, then a `framed` for each of
its frames, by the same process; and `received` when a process takes a datagram. The 8 bytes of a
message of RPC are its xid and whether it is a call or a reply, so a message is found in both
traces. `framed` says when the frame arrives. When it began is computed as kernel/link/link.c does:
a frame waits for the sender's controller, and for the sender's earlier frames and a gap.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from sluice.network.link_row import LinkRow
from sluice.system.trace import Event, filter_named

CALL, REPLY = 0, 1
NO_ROOM, SENT = 0, 1  # what `framed` has in the place of a time: kernel/link/link.h
AROUND = 14 + 20  # bytes of a frame around a piece of a datagram: Ethernet and IP
UDP_BYTES = 8
WORDS_BYTES = 8  # of a datagram in the trace; a shorter one is followed by old bytes of memory
ARP_BYTES = 14 + 28


@dataclass
class Frame:
    """A frame. Times are in ns since power-on."""

    number: int  # the frame's number among the frames that its machine sent
    bytes: int
    put_ns: int  # a process gives the frame to the controller
    begin_ns: int  # the frame begins on the wire
    end_ns: int
    arrival_ns: int | None  # None: the frame is lost
    late_ns: int = 0  # by how much the frame was delayed on purpose
    message: "Message | None" = None


@dataclass
class Message:
    """A datagram of RPC, as it is sent once."""

    xid: int
    kind: int  # CALL or REPLY
    pid: int  # that sends it
    bytes: int
    sent_ns: int
    frames: list[Frame] = field(default_factory=list)
    whole: bool = False  # all of its frames are in the trace

    @property
    def arrival_ns(self) -> int | None:
        """When its last frame arrives, or None if one is lost."""
        times = [f.arrival_ns for f in self.frames]
        if not self.whole or None in times:
            return None
        return max(t for t in times if t is not None)


@dataclass(frozen=True)
class Taken:
    """A message that a process took from its socket."""

    xid: int
    kind: int
    pid: int
    time_ns: int


def parse_words(block: int) -> tuple[int, int]:
    """Return the xid and the kind of a message, from its first 8 bytes."""
    data = block.to_bytes(8, "little")
    return int.from_bytes(data[:4], "big"), int.from_bytes(data[4:], "big")


def set_wire_times(frame: Frame, free_ns: int, row: LinkRow) -> None:
    """Compute when a frame was on the wire. free_ns: when the sender's frame before it and the gap
    were over."""
    wire_ns, way_ns = row.wire_ns(frame.bytes), row.propagation_ns + row.receive_ns
    frame.begin_ns = max(frame.put_ns + row.send_ns, free_ns)
    frame.end_ns = frame.begin_ns + wire_ns
    if frame.arrival_ns is not None:
        frame.late_ns = frame.arrival_ns - frame.end_ns - way_ns


def list_frames(events: Sequence[Event], row: LinkRow) -> list[tuple[Event, Frame]]:
    """Return the frames that had room, in the order of sending, each with its event."""
    found: list[tuple[Event, Frame]] = []
    free_ns = 0
    for e in filter_named(events, "framed"):
        if e.argument == NO_ROOM:
            continue
        arrival_ns = None if e.argument == SENT else e.argument
        frame = Frame(len(found), e.block, e.time_ns, 0, 0, arrival_ns)
        set_wire_times(frame, free_ns, row)
        free_ns = frame.end_ns + row.gap_ns
        found.append((e, frame))
    return found


class Side:
    """The frames that one machine sent and received."""

    def __init__(self, events: Sequence[Event], row: LinkRow) -> None:
        """Find the frames and messages in a machine's trace; both dicts are by xid and kind."""
        self.frames = [frame for _, frame in list_frames(events, row)]
        self.messages: dict[tuple[int, int], list[Message]] = defaultdict(list)
        self.taken: dict[tuple[int, int], list[Taken]] = defaultdict(list)
        self.ends_ns = [frame.end_ns for frame in self.frames]
        self._read(events)

    def _read(self, events: Sequence[Event]) -> None:
        """Find the messages, and which frames are theirs."""
        sending: dict[int, tuple[Message, int]] = {}  # by process: and the bytes still to come
        frames = iter(self.frames)
        for e in filter_named(events, "sent", "framed", "received"):
            if e.name == "framed":
                frame = next(frames) if e.argument != NO_ROOM else None
                if frame and e.pid in sending and e.block != ARP_BYTES:
                    self._add(frame, sending, e.pid)
                continue
            xid, kind = parse_words(e.block)
            if kind not in (CALL, REPLY) or e.argument < WORDS_BYTES:
                continue  # no message of RPC
            if e.name == "sent":
                message = Message(xid, kind, e.pid, e.argument, e.time_ns)
                self.messages[xid, kind].append(message)
                sending[e.pid] = message, e.argument + UDP_BYTES
            else:
                self.taken[xid, kind].append(Taken(xid, kind, e.pid, e.time_ns))

    @staticmethod
    def _add(frame: Frame, sending: dict[int, tuple[Message, int]], pid: int) -> None:
        """Give a frame to the message that its process sends."""
        message, left = sending[pid]
        frame.message = message
        message.frames.append(frame)
        left -= frame.bytes - AROUND
        message.whole = left == 0
        if left > 0:
            sending[pid] = message, left
        else:
            del sending[pid]

    def frames_between(self, begin_ns: int, frame: Frame) -> list[Frame]:
        """Return the frames that were on the wire from a time on, before this frame of the same
        machine."""
        return self.frames[bisect_left(self.ends_ns, begin_ns) : frame.number]
