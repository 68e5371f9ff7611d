"""Builds the requests to the disks from the events of a trace.

A request is queued, then issued, alone or as part of a command that neighbours have joined, then
completed. The trace has `issued` only for the first request of a command. It gives the number of
sectors of the command, and the other requests follow from that; or, where a place policy appends
any blocks to each other, from where each of them was placed in the same instant. A command that
failed is tried again in parts, and the last try counts.

Two requests for one sector in one direction are distinguished by their order.

A disk with a virtual log has commands that nobody has queued: of sectors of its map, and of blocks
that it moves. They are known by their process, which is none, and by their length.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sluice.system.trace import Event, filter_named

HANDLED = ("queued", "placed", "issued", "completed", "failed")  # events that tell of requests


@dataclass(slots=True)
class Request:
    """One request to a disk. The kernel's histograms are made from the same times."""

    number: int  # in the order of queueing, of all disks
    disk: int
    write: bool
    sector: int  # of 512 bytes
    sectors: int
    pid: int
    queued_ns: int  # since power-on, like issued_ns and completed_ns
    found_queued: int  # requests that wait for the same disk as this request comes
    issued_ns: int = 0
    command: int = 0  # requests of one command have one number
    completed_ns: int = 0
    response_ns: int = 0
    failed: bool = False

    @property
    def direction(self) -> str:
        """The direction in a word: "read" or "write"."""
        return "write" if self.write else "read"

    @property
    def service_ns(self) -> int:
        """The time from dispatch to completion."""
        return self.completed_ns - self.issued_ns


Place = tuple[int, bool, int]  # disk, write, sector


@dataclass
class Pairing:
    """The pairing of events with requests, at one point of the trace."""

    done: list[Request] = field(default_factory=list)
    waiting: dict[Place, deque[Request]] = field(default_factory=lambda: defaultdict(deque))
    issued: dict[Place, deque[Request]] = field(default_factory=lambda: defaultdict(deque))
    length: Counter[int] = field(default_factory=Counter)  # of each disk's queue
    requests: int = 0
    commands: int = 0
    unknown: int = 0  # completed, but queued before the trace begins
    placed: list[Event] = field(default_factory=list)  # since the last command

    def incomplete_requests(self) -> list[Request]:
        """Return the requests that are not completed when the trace ends."""
        queues = [*self.waiting.values(), *self.issued.values()]
        return [request for queue in queues for request in queue]

    def on_queued(self, e: Event) -> None:
        """Begin a request."""
        request = Request(
            number=self.requests,
            disk=e.disk,
            write=e.write,
            sector=e.block,
            sectors=e.argument,
            pid=e.pid,
            queued_ns=e.time_ns,
            found_queued=self.length[e.disk],
        )
        self.waiting[e.disk, e.write, e.block].append(request)
        self.length[e.disk] += 1
        self.requests += 1

    def on_placed(self, e: Event) -> None:
        """Store an event until its command is issued."""
        self.placed.append(e)

    def command_members(self, e: Event) -> Iterator[int]:
        """Yield the first sector of each of a command's requests, as far as the trace has their
        queueing."""
        now = (e.time_ns, e.disk, e.write)
        same = [p for p in self.placed if (p.time_ns, p.disk, p.write) == now]
        self.placed.clear()
        if len(same) > 1:
            yield from (e.block, *(p.block for p in same if p.block != e.block))
            return
        at, end = e.block, e.block + e.argument
        while at < end:
            yield at
            at += self.issued[e.disk, e.write, at][-1].sectors

    def on_issued(self, e: Event) -> None:
        """Give the command's number and time to its requests."""
        self.commands += 1
        for at in self.command_members(e):
            place = (e.disk, e.write, at)
            waits = bool(self.waiting[place])
            queue = self.waiting[place] if waits else self.issued[place]  # or tried again
            if not queue or queue[0].sectors > e.argument:
                return  # queued before the trace begins, or by nobody
            if at == e.block and queue[0].pid != e.pid:
                return
            request = queue.popleft()
            self.length[e.disk] -= waits
            request.issued_ns, request.command = e.time_ns, self.commands
            self.issued[place].append(request)

    def on_completed(self, e: Event) -> None:
        """End a request."""
        place = self.issued[e.disk, e.write, e.block]
        if not place:
            self.unknown += 1
            return
        request = place.popleft()
        request.completed_ns, request.response_ns = e.time_ns, e.argument
        self.done.append(request)

    def on_failed(self, e: Event) -> None:
        """Mark the request that was completed last as failed."""
        if self.done:
            self.done[-1].failed = True


def pair_requests(events: Iterable[Event]) -> Pairing:
    """Return the requests of a trace: the completed ones, in the order of completion, and the
    rest."""
    pairing = Pairing()
    handlers = {name: getattr(pairing, f"on_{name}") for name in HANDLED}
    for event in filter_named(events, *HANDLED):
        handlers[event.name](event)
    return pairing
