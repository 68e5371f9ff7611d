"""A page that shows a client and its server on one axis: the client's reads, dirty blocks, queue
and processes, the wire in both directions, and the server's processes, queue and drive.

Both machines have one clock (kernel/link/link.c), so what one of them waits for stands below it.
Times are in ns since the measured part began. machines.js draws the lanes.
"""

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template
from typing import TypedDict

from sluice.debug.instant import DATA_DISK
from sluice.debug.narrative import describe_parts
from sluice.debug.remote import Carried, RemoteChain, RemoteExplainer
from sluice.debug.wire import Side
from sluice.experiment.service import PARTS
from sluice.report.columns import deflate_text
from sluice.report.head import SCRIPT, page_head
from sluice.system.requests import Request
from sluice.system.trace import Event
from sluice.theatre.staging import page_style, policy_words

HERE = Path(__file__).parent
SLOW = 8  # reads whose parts the page has

Steps = list[tuple[int, int]]  # from a time on, a number
Bar = tuple[int, int, int, int, int]  # lane, begin, end, is it a write, number of its read or 0


class SlowRead(TypedDict):
    """One of the slowest reads. rows: ns and words, as `sluice why` has them."""

    number: int
    begin: int
    end: int
    rows: list[tuple[int, str]]


class Machines(TypedDict):
    """All that the page shows of a run. drive: begin, the lengths of PARTS, end, write, read."""

    name: str
    start_ns: int
    length_ns: int
    readers: list[str]
    reads: list[Bar]
    dirty: Steps
    queue: Steps
    carriers: list[str]
    carried: list[Bar]
    to_server: list[tuple[int, int, int, int, int]]  # begin, end, write, read, is it lost
    to_client: list[tuple[int, int, int, int, int]]
    servers: list[str]
    served: list[Bar]
    server_queue: Steps
    drive_name: str
    drive: list[list[int]]
    slow: list[SlowRead]


def count_steps(changes: Iterable[tuple[int, int]]) -> Steps:
    """Return a number over time, from its changes: times and what is added."""
    steps: Steps = []
    count = 0
    for at_ns, more in sorted(changes):
        count += more
        if steps and steps[-1][0] == at_ns:
            steps[-1] = (at_ns, count)
        else:
            steps.append((at_ns, count))
    return steps


def dirty_steps(events: Iterable[Event], disk: int, start_ns: int) -> Steps:
    """Return how many blocks of a disk are dirty, over time."""
    signs = {"dirtied": 1, "writing": -1, "cancelled": -1}
    return count_steps(
        (e.time_ns - start_ns, signs[e.name]) for e in events if e.disk == disk and e.name in signs
    )


def queue_steps(requests: Iterable[Request], disk: int, start_ns: int) -> Steps:
    """Return how many requests wait for a disk, over time."""
    mine = [r for r in requests if r.disk == disk]
    changes = [(r.queued_ns - start_ns, 1) for r in mine]
    return count_steps([*changes, *((r.issued_ns - start_ns, -1) for r in mine)])


class Builder:
    """Builds what the page shows, from the explained reads of a run."""

    def __init__(self, explainer: RemoteExplainer) -> None:
        """Explain all reads of the remote disk. chains: by the number of the read in the run."""
        server = explainer.kept.server
        assert server
        self.explainer, self.kept, self.server = explainer, explainer.kept, server
        self.start_ns = self.kept.recording.start_ns
        found = [r for r in self.kept.recording.requests if not r.write]
        numbers = {id(r): n for n, r in enumerate(found, 1)}
        self.chains: dict[int, RemoteChain] = {
            numbers[id(r)]: explainer.explain(r) for r in found if r.disk == DATA_DISK
        }
        self.number = {(c.read.sector, c.read.issued_ns): n for n, c in self.chains.items()}

    def read_number(self, carried: Carried | None) -> int:
        """Return the number of the read that a command is, or 0."""
        if not carried or carried.request.write:
            return 0
        return self.number.get((carried.request.sector, carried.request.issued_ns), 0)

    def read_bars(self) -> tuple[list[str], list[Bar]]:
        """Return the processes that read, and their reads."""
        pids = sorted({chain.read.pid for chain in self.chains.values()})
        bars = [
            (
                pids.index(chain.read.pid),
                chain.read.queued_ns - self.start_ns,
                chain.read.completed_ns - self.start_ns,
                0,
                number,
            )
            for number, chain in self.chains.items()
        ]
        return [self.kept.recording.process(pid) for pid in pids], bars

    def carried_bars(self) -> tuple[list[str], list[Bar]]:
        """Return the names of the client's processes, and a bar for each command that one of them
        carried out.

        A WRITE ends only with its COMMIT, but the process may begin another command before. Then
        the bar ends where the process begins that command.
        """
        pids = sorted({c.pid for c in self.explainer.carried})
        next_begin_ns: dict[int, int] = {}  # by process: when its next command begins
        bars = []
        for c in reversed(self.explainer.carried):
            end_ns = min(c.end_ns, next_begin_ns.get(c.pid, c.end_ns))
            next_begin_ns[c.pid] = c.begin_ns
            times = (c.begin_ns - self.start_ns, end_ns - self.start_ns)
            bars.append((pids.index(c.pid), *times, int(c.request.write), self.read_number(c)))
        return [self.kept.recording.process(pid) for pid in pids], bars[::-1]

    def frame_bars(self, side: Side) -> list[tuple[int, int, int, int, int]]:
        """Return the frames that a machine sent."""
        bars = []
        for f in side.frames:
            owner = self.explainer.owner.get(f.message.xid) if f.message else None
            write = int(bool(owner and owner.request.write))
            times = (f.begin_ns - self.start_ns, f.end_ns - self.start_ns)
            bars.append((*times, write, self.read_number(owner), int(f.arrival_ns is None)))
        return bars

    def served_bars(self) -> tuple[list[str], list[Bar]]:
        """Return the server's processes, and the calls that each was at."""
        pids = sorted(self.explainer.busy)
        bars = []
        for pid, intervals in self.explainer.busy.items():
            for begin_ns, end_ns, xid in intervals:
                owner = self.explainer.owner[xid]
                times = (begin_ns - self.start_ns, end_ns - self.start_ns)
                number = self.read_number(owner)
                bars.append((pids.index(pid), *times, int(owner.request.write), number))
        return [self.server.recording.process(pid) for pid in pids], sorted(bars)

    def drive_rows(self) -> list[list[int]]:
        """Return the commands of the server's drive."""
        own = {
            id(part.of.command): number
            for number, chain in self.chains.items()
            for part in chain.parts
            if part.of
        }
        return [
            [
                c.begin_ns - self.start_ns,
                *(c.parts.get(name, 0) for name in PARTS),
                c.done_ns - self.start_ns,
                int(c.write),
                own.get(id(c), 0),
            ]
            for c in self.explainer.at_server.commands.get(DATA_DISK, [])
        ]

    def slow_reads(self) -> list[SlowRead]:
        """Return the slowest reads, the slowest first."""
        by_response = sorted(self.chains.items(), key=lambda row: -row[1].read.response_ns)
        return [
            {
                "number": number,
                "begin": chain.read.queued_ns - self.start_ns,
                "end": chain.read.completed_ns - self.start_ns,
                "rows": list(describe_parts(self.explainer, chain)),
            }
            for number, chain in by_response[:SLOW]
        ]

    def build(self) -> Machines:
        """Return all that the page shows."""
        made, run = self.kept.recording, self.kept.run
        readers, reads = self.read_bars()
        carriers, carried = self.carried_bars()
        servers, served = self.served_bars()
        return {
            "name": f"{run.experiment} run {run.number}, {run.name}",
            "start_ns": self.start_ns,
            "length_ns": made.end_ns - self.start_ns,
            "readers": readers,
            "reads": reads,
            "dirty": dirty_steps(made.events, DATA_DISK, self.start_ns),
            "queue": queue_steps(made.requests, DATA_DISK, self.start_ns),
            "carriers": carriers,
            "carried": carried,
            "to_server": self.frame_bars(self.explainer.client),
            "to_client": self.frame_bars(self.explainer.server),
            "servers": servers,
            "served": served,
            "server_queue": queue_steps(self.server.recording.requests, DATA_DISK, self.start_ns),
            "drive_name": self.server.recording.disk(DATA_DISK),
            "drive": self.drive_rows(),
            "slow": self.slow_reads(),
        }


def build_machines(explainer: RemoteExplainer) -> Machines:
    """Return all that the page shows of a run."""
    return Builder(explainer).build()


def machines_page(explainer: RemoteExplainer) -> str:
    """Return the page of a client and its server as HTML."""
    kept = explainer.kept
    assert kept.server
    shown = build_machines(explainer)
    about = (
        f"A client with {policy_words(kept.run.config['policies'])}, a link "
        f"{kept.run.config['link']}, and a server with "
        f"{policy_words(kept.server.run.config['policies'])}, in one virtual time."
    )
    data = deflate_text(json.dumps(shown, separators=(",", ":")).encode())
    style = page_style((HERE / "machines.css").read_text(encoding="utf-8"))
    return Template((HERE / "machines.html").read_text(encoding="utf-8")).substitute(
        head=page_head(shown["name"], style, SCRIPT),
        title=escape(shown["name"]),
        about=escape(about),
        data=data,
        script=(HERE / "machines.js").read_text(encoding="utf-8"),
    )
