"""Explains why a read of a disk took as long as it did: its response time, cut into links.

A link is a stretch of time with a cause: the drive was at another command, or did nothing, or was
at this read: its controller, its arm, its platter. The links follow each other without gaps, so
their times add up to the response time exactly, in ns. All is from the trace and the drive's model
(service.py).

Other commands have an origin: which process, by which policy's decision, in which burst. The trace
says so by what precedes a request: `writing` (with the time the block was dirty), `ahead`, and
`flush`, which counts the writes that one flush, or one look of the update daemon, has started.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sluice.debug.stored_run import Kept
from sluice.experiment import service
from sluice.experiment.service import PARTS, Command
from sluice.system.requests import Request

DAEMON = "updated"  # the update daemon's name
SECTOR = 512
OWN = {
    "command": "the drive's controller takes up the command",
    "busy": "the arm is still busy with what was written before",
    "seek": "seek",
    "rotation": "rotation",
    "transfer": "transfer",
}
KINDS = {
    "hit": "the drive's cache has it",
    "ahead": "the drive's arm is reading it ahead already",
    "fixed": "the drive serves it",
    "flash": "its pages are read and cross the buses",
}
OF_LOG = {
    "map": "the disk's virtual log, which tells where a block is now",
    "moved": "the place policy, which empties places",
}
BUSY = {"flash": "the chips are still busy with what was written before"}
SCHEDULER = "scheduler"
WAIT = "wait"  # the drive is at another command
OTHER = "other"  # the drive does nothing
SERVICE = "service"  # the drive is at this read


@dataclass(frozen=True)
class Origin:
    """The origin of a request: the process or policy that queued it."""

    words: str  # who queued it, and why
    burst: int = -1  # the number of its flush event, if it is part of a burst
    blocks: int = 0  # of the burst
    ended_ns: int = 0  # when the flush ended


@dataclass(frozen=True)
class Link:
    """A part of the response time with one cause. kind: WAIT, OTHER or SERVICE."""

    kind: str
    begin_ns: int
    end_ns: int
    words: str
    command: Command | None = None  # which the drive was serving
    origin: Origin | None = None

    @property
    def ns(self) -> int:
        """The length of the link."""
        return self.end_ns - self.begin_ns


@dataclass(frozen=True)
class Chain:
    """A read, and the links that its response time consists of."""

    read: Request
    command: Command  # of which the read was a part
    origin: Origin
    links: list[Link]


Key = tuple[int, bool, int, int]  # of a request: disk, write, sector, queued_ns


def key(request: Request) -> Key:
    """Return what identifies a request in a run: disk, direction, sector, time of queueing."""
    return request.disk, request.write, request.sector, request.queued_ns


@dataclass
class Origins:
    """The origin of each request of a run."""

    found: dict[Key, Origin] = field(default_factory=dict)

    def origin_of_request(self, request: Request) -> Origin:
        """Return the origin of a request."""
        return self.found.get(key(request), Origin("queued before the trace begins"))

    def origin_of_command(self, command: Command) -> Origin:
        """Return the origin of a command. A command of merged requests has the words of all their
        origins, and the first burst among them."""
        if not command.requests:
            return Origin(OF_LOG[command.purpose])
        found = list(dict.fromkeys(map(self.origin_of_request, command.requests)))
        burst = next((origin for origin in found if origin.burst >= 0), found[0])
        return replace(burst, words=" and ".join(dict.fromkeys(o.words for o in found)))


def block_sectors(kept: Kept) -> int:
    """Return the number of sectors in a block."""
    return int(kept.run.config["block"].rstrip("K")) * 1024 // SECTOR


def burst_of_writes(kept: Kept) -> dict[int, tuple[int, int, int]]:
    """Return the burst of each write: from the number of a `writing` event to the number, block
    count and time of its `flush` event.

    A `flush` event counts N blocks: these are the last N `writing` events of the same process.
    """
    writing: dict[int, deque[int]] = defaultdict(deque)
    found = {}
    for i, e in enumerate(kept.recording.events):
        if e.name == "writing":
            writing[e.pid].append(i)
        elif e.name == "flush":
            mine = writing[e.pid]
            for _ in range(min(e.argument, len(mine))):
                found[mine.pop()] = (kept.number(i), e.argument, e.time_ns)
            mine.clear()
    return found


def process_label(process: str) -> str:
    """Return a process's name in words for a reader."""
    return "the update daemon" if process == DAEMON else process


def write_origin(kept: Kept, number: int, pid: int, burst: tuple[int, int, int] | None) -> Origin:
    """Return the origin of a write. number: the index of its `writing` event; burst: that write's
    burst, or None."""
    policies, e = kept.run.config["policies"], kept.recording.events[number]
    who, dirty = kept.recording.process(e.pid), f"dirty for {e.argument / 1e9:,.1f} s"
    if not pid:
        return Origin(f"written early by the scheduler ({policies['sched']})")
    if burst:
        by = f"update policy {policies['update']}" if who == DAEMON else "a sync or fsync"
        return Origin(f"{process_label(who)} ({by})", *burst)
    if who == DAEMON:
        return Origin(f"{process_label(who)} (update policy {policies['update']})")
    if not e.argument:
        return Origin(f"{who}, at once (write policy {policies['write']})")
    return Origin(f"{who}, to make room or order ({dirty})")


def find_origins(kept: Kept) -> Origins:
    """Return the origins of all requests of a run: who caused each request, and why."""
    found, sectors, in_burst = Origins(), block_sectors(kept), burst_of_writes(kept)
    policies = kept.run.config["policies"]
    writing: dict[tuple[int, int], int] = {}
    ahead: dict[tuple[int, int], tuple[int, int]] = {}  # its `ahead` event: time, argument
    for i, e in enumerate(kept.recording.events):
        block = e.disk, e.block // sectors
        if e.name == "writing":
            writing[e.disk, e.block] = i
        elif e.name == "ahead":
            ahead[e.disk, e.block] = (i, e.argument)
        elif e.name == "queued":
            request = (e.disk, e.write, e.block, e.time_ns)
            who = kept.recording.process(e.pid)
            if e.write and block in writing:
                number = writing.pop(block)
                found.found[request] = write_origin(kept, number, e.pid, in_burst.get(number))
            elif block in ahead and not e.write:
                _, asked = ahead.pop(block)
                why = "" if asked else f", prefetched (policy {policies['prefetch']})"
                found.found[request] = Origin(f"{who}{why}")
            else:
                found.found[request] = Origin(f"{who}")
    return found


@dataclass
class Explainer:
    """Explains the reads of one run; work that all reads need is done once."""

    kept: Kept

    def __post_init__(self) -> None:
        self.commands = service.commands_by_disk(self.kept.run, self.kept.recording.events)
        self.origins = find_origins(self.kept)
        self.begins = {
            disk: [command.begin_ns for command in commands]
            for disk, commands in self.commands.items()
        }
        every = [command for commands in self.commands.values() for command in commands]
        self.of_request = {key(r): command for command in every for r in command.requests}

    def explain(self, read: Request) -> Chain:
        """Return the chain of a completed read."""
        command = self.of_request[key(read)]
        links = [*self.links_before_service(read, command), *self.service_links(read, command)]
        return Chain(
            read, command, self.origins.origin_of_request(read), [link for link in links if link.ns]
        )

    def links_before_service(self, read: Request, own: Command) -> Iterator[Link]:
        """Yield the links from the read's queueing until the drive begins its command."""
        at_ns = read.queued_ns
        commands, begins = self.commands[read.disk], self.begins[read.disk]
        last = bisect_left(begins, own.begin_ns)
        first = max(0, bisect_right(begins, at_ns) - 1)
        for c in commands[first:last]:
            if c is own or c.free_ns <= at_ns:
                continue
            yield from self.idle_links(read, at_ns, c.begin_ns)
            begin_ns = max(at_ns, c.begin_ns)
            at_ns = min(c.free_ns, own.begin_ns)
            origin = self.origins.origin_of_command(c)
            yield Link(WAIT, begin_ns, at_ns, "the drive is at another command", c, origin)
        yield from self.idle_links(read, at_ns, own.begin_ns)

    def idle_links(self, read: Request, begin_ns: int, end_ns: int) -> Iterator[Link]:
        """Yield the links of a time in which the drive is idle."""
        if begin_ns >= end_ns:
            return
        issued_ns = min(max(read.issued_ns, begin_ns), end_ns)
        yield Link(OTHER, begin_ns, issued_ns, "the drive is idle until the kernel dispatches")
        yield Link(OTHER, issued_ns, end_ns, "on its way to the drive")

    def service_links(self, read: Request, own: Command) -> Iterator[Link]:
        """Yield the links from the beginning of the read's command to the read's completion."""
        at_ns = max(own.begin_ns, read.queued_ns)
        if own.parts:
            for name in PARTS:
                words = OWN[name]
                if name == "transfer" and own.kind in KINDS:
                    words = KINDS[own.kind]
                elif name == "busy":
                    words = BUSY.get(own.kind, words)
                yield Link(SERVICE, at_ns, at_ns + own.parts[name], words, own)
                at_ns += own.parts[name]
        else:
            yield Link(SERVICE, at_ns, own.done_ns, "the drive serves it", own)
            at_ns = own.done_ns
        yield Link(OTHER, at_ns, read.completed_ns, "until the kernel has noted that it is done")
