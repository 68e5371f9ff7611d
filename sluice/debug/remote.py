"""Explains why a read of a remote disk took as long as it did, through both of its machines.

The client's trace has the request: queued, issued, then `carried`, when a process of the client
begins it. That process's calls go over the wire (wire.py), and the server's process that takes one
queues requests at the server's disks, which chain.py explains. Both machines have one clock.

The parts follow each other without gaps, so their times add up to the response time exactly, in ns.
Each part has a place: the client, the wire, the server, or the server's disk.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from sluice.debug import chain
from sluice.debug.chain import Chain, Explainer, Origin
from sluice.debug.stored_run import Kept
from sluice.debug.wire import CALL, REPLY, Message, Side, Taken
from sluice.network.link_row import LinkRow, read_link_row
from sluice.system.requests import Request
from sluice.system.trace import Event

Place = Literal["client", "wire", "server", "disk"]
SERVER_NAME = "nfsd"
OTHERS = 2  # processes of that name without calls: parent, port mapper (user/bin/nfsd.c)
PLACES: tuple[Place, ...] = ("client", "wire", "server", "disk")


@dataclass(frozen=True)
class Carried:
    """A command of a remote disk, while a process of the client carries it out."""

    request: Request  # the command's first request
    pid: int  # the client's process
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class Part:
    """A part of a response time, with one cause."""

    place: Place
    begin_ns: int
    end_ns: int
    words: str
    behind: tuple[Carried, ...] = ()  # the commands that this read waited for
    link: chain.Link | None = None  # of a request at the server's disk
    of: Chain | None = None  # that request

    @property
    def ns(self) -> int:
        """The length of the part."""
        return self.end_ns - self.begin_ns


@dataclass(frozen=True)
class RemoteChain:
    """A read of a remote disk, and the parts that its response time consists of."""

    read: Request
    origin: Origin
    parts: list[Part]
    tries: int  # how often its calls were sent, in all
    calls: int


class Busy(NamedTuple):
    """A time in which a process of the server was at a call."""

    begin_ns: int
    end_ns: int
    xid: int


def busy_at(intervals: list[Busy], at_ns: int) -> Busy | None:
    """Return the interval in which a process was at a call at this time, or None."""
    before = bisect_left(intervals, (at_ns, 0, 0))  # how many begin before
    if before and intervals[before - 1].end_ns > at_ns:
        return intervals[before - 1]
    return None


@dataclass(frozen=True)
class Exchange:
    """A call and its answer: the messages sent, and when each was taken from its socket.

    calls: one for each try; call: the one that was answered.
    """

    calls: list[Message]
    call: Message
    served: Taken
    reply: Message
    answered: Taken


@dataclass
class RemoteExplainer:
    """Explains the reads of remote disks in one run; work that all reads need is done once."""

    kept: Kept

    def __post_init__(self) -> None:
        assert self.kept.server  # else the run has no remote disk
        self.row: LinkRow = read_link_row(self.kept.run.config["link"])
        self.client = Side(self.kept.recording.events, self.row)
        self.server = Side(self.kept.server.recording.events, self.row)
        self.at_server = Explainer(self.kept.server)
        self.origins = chain.find_origins(self.kept)
        self.carried = self._find_carried()
        self.of_request = {chain.key(c.request): c for c in self.carried}
        self._find_calls()
        self._find_busy()
        self._find_server_work(self.kept.server)

    def _find_carried(self) -> list[Carried]:
        """Return the commands of remote disks, in the order in which processes began them."""
        commands: dict[tuple[int, bool, int, int], list[Request]] = defaultdict(list)
        for r in self.kept.recording.requests:
            commands[r.disk, r.write, r.issued_ns, r.command].append(r)
        # The first request of each command, by its disk, its direction and its first sector.
        heads: dict[tuple[int, bool, int], list[Request]] = defaultdict(list)
        for requests in commands.values():
            head = min(requests, key=lambda r: r.sector)
            heads[head.disk, head.write, head.sector].append(head)
        found = []
        for e in self.kept.recording.events:
            if e.name != "carried":
                continue
            under_way = [
                r
                for r in heads[e.disk, e.write, e.block]
                if r.issued_ns <= e.time_ns <= r.completed_ns
            ]
            if under_way:
                head = under_way[-1]
                found.append(Carried(head, e.pid, e.time_ns, head.completed_ns))
        return found

    def _find_calls(self) -> None:
        """Find which calls each carried command made: a call belongs to the command that its
        process has begun last."""
        by_process: dict[int, list[Carried]] = defaultdict(list)
        for c in self.carried:
            by_process[c.pid].append(c)
        self.owner: dict[int, Carried] = {}  # the command that made a call, by the call's xid
        self.xids: dict[int, list[int]] = defaultdict(list)  # by a command's begin_ns
        for (xid, kind), messages in self.client.messages.items():
            first_try = messages[0]
            if kind != CALL or first_try.pid not in by_process:
                continue
            mine = by_process[first_try.pid]
            begun = bisect_right(mine, first_try.sent_ns, key=lambda c: c.begin_ns)
            if begun:
                command = mine[begun - 1]
                self.owner[xid] = command
                self.xids[command.begin_ns].append(xid)

    def _find_busy(self) -> None:
        """Find when each process of the server was at a call, how quickly a call can be taken, and
        how many processes took none."""
        self.busy: dict[int, list[Busy]] = defaultdict(list)  # by pid
        waits_ns = []  # from the arrival of a call of one frame until a process takes it
        for xid in self.owner:
            replies = self.server.messages[xid, REPLY]
            for taken in self.server.taken[xid, CALL]:
                own = [m for m in replies if m.pid == taken.pid and m.sent_ns >= taken.time_ns]
                ends = [f.put_ns for f in own[0].frames] if own else []
                end_ns = max(ends, default=taken.time_ns)
                self.busy[taken.pid].append(Busy(taken.time_ns, end_ns, xid))
            pairs = zip(self.client.messages[xid, CALL], self.server.taken[xid, CALL], strict=False)
            for call, taken in pairs:
                if call.arrival_ns is not None and len(call.frames) == 1:
                    waits_ns.append(taken.time_ns - call.arrival_ns)
        for intervals in self.busy.values():
            intervals.sort()
        # How long it takes to take in a call of one frame, if the processor has nothing else.
        self.quickest_ns = min((ns for ns in waits_ns if ns >= 0), default=0)
        assert self.kept.server
        names = self.kept.server.recording.names.values()
        servers = sum(name == SERVER_NAME for name in names) - OTHERS
        self.unused = max(0, servers - len(self.busy))  # processes that took no call

    def _find_server_work(self, server: Kept) -> None:
        """Find the reads and the uses of buffers of each process of the server, and the requests
        of each block of its disks."""
        sectors = chain.block_sectors(server)
        self.server_reads: dict[int, list[Request]] = defaultdict(list)
        self.of_block: dict[tuple[int, int], list[Request]] = defaultdict(list)
        self.uses: dict[int, list[Event]] = defaultdict(list)
        for r in server.recording.requests:
            self.of_block[r.disk, r.sector // sectors].append(r)
            if not r.write:
                self.server_reads[r.pid].append(r)
        for e in server.recording.events:
            if e.name in ("hit", "miss"):
                self.uses[e.pid].append(e)

    # ---- one call ----

    def exchange(self, xid: int) -> Exchange | None:
        """Return a call and its answer, or None if the trace lacks a part of them."""
        calls = self.client.messages[xid, CALL]
        answers = self.client.taken[xid, REPLY]
        arrived = [m for m in calls if m.arrival_ns is not None]
        arrived.sort(key=lambda m: m.arrival_ns or 0)
        served = self.server.taken[xid, CALL]
        replies = [m for m in self.server.messages[xid, REPLY] if m.arrival_ns is not None]
        if not (answers and arrived and served and replies):
            return None
        first_reply = min(replies, key=lambda m: m.arrival_ns or 0)
        # The server takes the tries in the order of their arrival. The answered try is the last one
        # that the replying process took before its reply.
        candidates = [
            (call, taken)
            for call, taken in zip(arrived, served, strict=False)
            if taken.pid == first_reply.pid and taken.time_ns <= first_reply.sent_ns
        ]
        if not candidates:
            return None
        call, taken = candidates[-1]
        return Exchange(calls, call, taken, first_reply, answers[0])

    # ---- the parts ----

    def explain(self, read: Request) -> RemoteChain:
        """Return the parts of a completed read of a remote disk."""
        own = self.of_request.get(chain.key(read)) or self._neighbour(read)
        xids = self.xids[own.begin_ns] if own else []
        parts = [part for part in self._parts(read, own, xids) if part.ns]
        tries = sum(len(self.client.messages[xid, CALL]) for xid in xids)
        return RemoteChain(read, self.origins.origin_of_request(read), parts, tries, len(xids))

    def _neighbour(self, read: Request) -> Carried | None:
        """Return the command of which a read is a part, if it is not the first request there."""
        for c in self.carried:
            if c.request.command == read.command and c.request.issued_ns == read.issued_ns:
                return c
        return None

    def _parts(self, read: Request, own: Carried | None, xids: list[int]) -> Iterator[Part]:
        """Yield the parts of a read's time, from its queue to its end, one after another."""
        yield from self._queue_parts(read)
        at_ns = read.issued_ns
        if own:
            words = "until a process of the client (nfsiod) takes it"
            yield Part("client", at_ns, own.begin_ns, words)
            at_ns = own.begin_ns
        for xid in xids:
            exchange = self.exchange(xid)
            if not exchange or exchange.answered.time_ns > read.completed_ns:
                break
            yield from self._exchange_parts(at_ns, exchange)
            at_ns = exchange.answered.time_ns
        yield Part("client", at_ns, read.completed_ns, "the client notes that it is done")

    def _queue_parts(self, read: Request) -> Iterator[Part]:
        """Yield the part of the client's queue."""
        behind = tuple(
            c
            for c in self.carried
            if c.request.disk == read.disk
            and c.request.issued_ns < read.issued_ns
            and c.end_ns > read.queued_ns
        )
        words = "in the client's queue" if behind else "until the client dispatches it"
        yield Part("client", read.queued_ns, read.issued_ns, words, behind)

    def _exchange_parts(self, at_ns: int, x: Exchange) -> Iterator[Part]:
        """Yield the parts of a call and its answer."""
        yield Part("client", at_ns, x.calls[0].sent_ns, "the client makes the call")
        tries = [m for m in x.calls if m.sent_ns <= x.call.sent_ns]
        for i, (lost, again) in enumerate(pairwise(tries), 2):
            words = f"{self._loss_words(lost)}; sent again, try {i}"
            yield Part("wire", lost.sent_ns, again.sent_ns, words)
        yield from self._wire_parts(self.client, x.call, "client", "the call")
        yield from self._arrival_parts(x)
        yield from self._server_parts(x)
        yield from self._wire_parts(self.server, x.reply, "server", "the reply")
        assert x.reply.arrival_ns is not None
        words = "the client takes in the frames of the reply"
        yield Part("client", x.reply.arrival_ns, x.answered.time_ns, words)

    def _loss_words(self, call: Message) -> str:
        """Return what went wrong with a call that was sent again."""
        if call.arrival_ns is None:
            return f"the call is lost on the wire ({self._lost_frames(call)})"
        for reply in self.server.messages[call.xid, REPLY]:
            if reply.arrival_ns is None and reply.sent_ns > call.sent_ns:
                return f"the reply is lost on the wire ({self._lost_frames(reply)})"
        return "no reply comes in time"

    @staticmethod
    def _lost_frames(message: Message) -> str:
        """Return which of a message's frames did not arrive.

        Frames that the trace lacks, or whose message did not arrive although none of them was lost,
        never came to the wire: the network controller had no room.
        """
        lost = [str(n) for n, f in enumerate(message.frames, 1) if f.arrival_ns is None]
        if not message.whole or not lost:
            return "the controller had no room"
        return f"frame {', '.join(lost)} of {len(message.frames)}"

    def _wire_parts(self, side: Side, m: Message, sender: Place, what: str) -> Iterator[Part]:
        """Yield the parts of a message from when it is sent until its last frame arrives."""
        first, arrival_ns = m.frames[0], m.arrival_ns
        assert arrival_ns is not None
        yield Part(sender, m.sent_ns, first.put_ns, f"the {sender}'s processor sends {what}")
        ready_ns = min(first.put_ns + self.row.send_ns, first.begin_ns)
        yield Part("wire", first.put_ns, ready_ns, f"the {sender}'s controller takes up {what}")
        before = side.frames_between(ready_ns, first)
        others = {id(f.message): f.message for f in before if f.message}
        behind = tuple(self.owner[o.xid] for o in others.values() if o.xid in self.owner)
        earlier = f"{len(before)} earlier frame{'s' if len(before) != 1 else ''}"
        words = f"{what} waits while the wire has {earlier} of the {sender}"
        yield Part("wire", ready_ns, first.begin_ns, words, behind)
        yield from self._rate_parts(m, sender, what, arrival_ns)

    def _rate_parts(self, m: Message, sender: Place, what: str, arrival_ns: int) -> Iterator[Part]:
        """Yield the parts of a message from when its first frame begins on the wire."""
        at_ns = m.frames[0].begin_ns
        count = f"{len(m.frames)} frame{'s' if len(m.frames) > 1 else ''}"
        last = max(m.frames, key=lambda f: f.arrival_ns or 0)
        for f in m.frames[: m.frames.index(last) + 1]:
            yield Part("wire", at_ns, f.begin_ns, "the gap between frames")
            size = sum(one.bytes for one in m.frames)
            words = f"{what} crosses the wire, at its rate: {count}, {size:,} bytes"
            yield Part("wire", f.begin_ns, f.end_ns, words)
            at_ns = f.end_ns
        way_ns = at_ns + self.row.propagation_ns
        receiver = "server" if sender == "client" else "client"
        yield Part("wire", at_ns, way_ns, "propagation")
        there_ns = way_ns + self.row.receive_ns
        yield Part("wire", way_ns, there_ns, f"the {receiver}'s controller takes in {what}")
        yield Part("wire", there_ns, arrival_ns, f"a frame of {what} comes late, out of its order")

    # ---- at the server ----

    def _arrival_parts(self, x: Exchange) -> Iterator[Part]:
        """Yield the parts from a call's arrival until a process of the server takes it."""
        arrival_ns = x.call.arrival_ns
        assert arrival_ns is not None
        free_ns, xids = self._wait_for_process(arrival_ns, x.served.time_ns)
        behind = tuple(self.owner[xid] for xid in xids)
        words = f"all {len(self.busy)} processes of the server (nfsd) are at calls"
        yield Part("server", arrival_ns, free_ns, words, behind)
        words = "the server takes in the frames of the call"
        taken_ns = x.served.time_ns - free_ns
        others = self._calls_at(arrival_ns) if not xids and taken_ns > self.quickest_ns else ()
        if others:
            words += ", and its processor may be at other calls"
        yield Part("server", free_ns, x.served.time_ns, words, others)

    def _calls_at(self, at_ns: int) -> tuple[Carried, ...]:
        """Return the commands whose calls processes of the server were at."""
        found = [busy_at(intervals, at_ns) for intervals in self.busy.values()]
        return tuple(self.owner[busy.xid] for busy in found if busy)

    def _wait_for_process(self, from_ns: int, until_ns: int) -> tuple[int, list[int]]:
        """Return when the first of the server's processes was free, at from_ns or later, and the
        calls that they were at if none was free at from_ns."""
        if self.unused:
            return from_ns, []
        all_busy = []
        for intervals in self.busy.values():
            busy = busy_at(intervals, from_ns)
            if not busy:
                return from_ns, []
            all_busy.append(busy)
        first_end_ns = min((busy.end_ns for busy in all_busy), default=from_ns)
        return min(until_ns, first_end_ns), [busy.xid for busy in all_busy]

    def _server_parts(self, x: Exchange) -> Iterator[Part]:
        """Yield the parts of the server's work: the parts of its process, and the parts of the
        requests at its disks that this process waits for."""
        at_ns, end_ns = x.served.time_ns, x.reply.sent_ns
        for r in self.server_reads[x.served.pid]:
            if not (at_ns <= r.queued_ns and r.completed_ns <= end_ns):
                continue
            yield from self._process_parts(x.served.pid, at_ns, r.queued_ns)
            of = self.at_server.explain(r)
            for link in of.links:
                yield Part("disk", link.begin_ns, link.end_ns, link.words, link=link, of=of)
            at_ns = r.completed_ns
        yield from self._process_parts(x.served.pid, at_ns, end_ns)

    def _process_parts(self, pid: int, at_ns: int, end_ns: int) -> Iterator[Part]:
        """Yield the parts of a time in which a process of the server has no request of its own.

        It may wait for a buffer that is in a transfer for another process: `hit` or `miss` comes
        when it has the buffer.
        """
        words = "the server's process (nfsd) computes, or waits for a lock"
        uses = self.uses[pid]
        first = bisect_left(uses, at_ns, key=lambda e: e.time_ns)
        for e in uses[first:]:
            if e.time_ns > end_ns:
                break
            for r in self.of_block[e.disk, e.block]:
                if r.queued_ns < r.completed_ns <= e.time_ns and r.completed_ns > at_ns:
                    begin_ns = max(at_ns, r.queued_ns)
                    yield Part("server", at_ns, begin_ns, words)
                    yield Part("disk", begin_ns, r.completed_ns, self._buffer_words(r, e.block))
                    at_ns = r.completed_ns
            yield Part("server", at_ns, e.time_ns, words)
            at_ns = e.time_ns
        yield Part("server", at_ns, end_ns, words)

    def _buffer_words(self, r: Request, block: int) -> str:
        """Return words that say that a process waits for the buffer of another one's request."""
        origin = self.at_server.origins.origin_of_request(r)
        return f"nfsd needs block {block}, which is in a {r.direction} of {origin.words}"
