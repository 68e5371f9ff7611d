"""The scene that the theatre shows of a run, from its trace: the requests of the disk that is
measured, which processes wait for them and which write, the commands of its drive, and the states
of the cache's buffers.

Times are in ns since the measured part began, so that two runs can stand on one axis; what was
before has negative times. The trace does not say which buffer holds a block. So a block that is
taken into the cache gets the place of the block that was evicted last, or else a new place.
"""

from collections import Counter
from dataclasses import dataclass
from typing import TypedDict

from sluice.debug.chain import DAEMON, OF_LOG, Explainer, Origin, block_sectors
from sluice.debug.instant import reads
from sluice.debug.stored_run import Kept
from sluice.experiment.service import PARTS, Command, drive_name
from sluice.system.requests import Request
from sluice.theory.parts.drive_row import read_drive_row

# The states of a place in the cache, as theatre.js draws them.
EMPTY, READING, CLEAN, AHEAD, DIRTY, WRITING = range(6)
KINDS = ("", "miss", "hit", "ahead", "write", "behind", "fixed", "flash")
OWN = ("", *OF_LOG)  # what a command without requests is for


Columns = dict[str, list[int]]  # by name; all have an element for each row


class Scene(TypedDict):
    """All that the page shows of a run. origins: words, burst and blocks of each, as in Origin;
    platter: rotation_ns and cylinders; lost: events; places: of blocks in the cache."""

    experiment: str
    size: str
    run: int
    name: str
    arm: str
    policies: dict[str, str]
    drive: str
    disk: int
    start_ns: int  # of the measured part, since power-on
    length_ns: int
    lost: int
    places: int
    daemon: str
    processes: list[str]
    platter: dict[str, int]
    own: list[str]
    origins: list[list[str | int]]
    flushes: Columns
    requests: Columns
    commands: Columns
    cache: Columns
    writes: Columns


@dataclass
class Cache:
    """The places of blocks in the cache, and the changes of each place."""

    sectors: int  # of a block

    def __post_init__(self) -> None:
        self.place: dict[tuple[int, int], int] = {}
        self.state: dict[tuple[int, int], int] = {}
        self.free: list[int] = []
        self.places = 0
        self.changes: list[tuple[int, int, int]] = []  # time, place, state

    def place_block(self, at_ns: int, block: tuple[int, int], state: int) -> None:
        """Give a block a place, unless it has one, and set the place's state."""
        if block not in self.place:
            if not self.free:
                self.free.append(self.places)
                self.places += 1
            self.place[block] = self.free.pop()
        elif self.state.get(block) == state:
            return
        self.state[block] = state
        self.changes.append((at_ns, self.place[block], state))

    def remove_block(self, at_ns: int, block: tuple[int, int]) -> None:
        """Remove a block and empty its place."""
        if block in self.place:
            at = self.place.pop(block)
            self.state.pop(block, None)
            self.free.append(at)
            self.changes.append((at_ns, at, EMPTY))

    def handle_event(self, at_ns: int, name: str, disk: int, number: int, write: bool) -> None:
        """Record the change of the cache that an event makes."""
        of_block, of_request = (disk, number), (disk, number // self.sectors)
        if name == "miss" or (name == "hit" and self.state.get(of_block) == AHEAD):
            self.place_block(at_ns, of_block, CLEAN)
        elif name == "dirtied":
            self.place_block(at_ns, of_block, DIRTY)
        elif name == "cancelled":
            self.place_block(at_ns, of_block, CLEAN)
        elif name == "writing":
            self.place_block(at_ns, of_block, WRITING)
        elif name == "ahead":
            self.place_block(at_ns, of_block, AHEAD)
        elif name == "evicted":
            self.remove_block(at_ns, of_block)
        elif name == "queued" and not write and self.state.get(of_request) == CLEAN:
            self.place_block(at_ns, of_request, READING)
        elif name == "completed":
            now = self.state.get(of_request)
            if now in (READING, WRITING):
                self.place_block(at_ns, of_request, CLEAN)


def measured_disk(explainer: Explainer) -> int:
    """Return the disk with the most requests."""
    disks = Counter(r.disk for r in explainer.kept.recording.requests)
    return disks.most_common(1)[0][0] if disks else 0


def cache_columns(kept: Kept, start_ns: int) -> tuple[Columns, int]:
    """Return the changes of the cache's places as columns (time, place, new state), and the number
    of places. A place is where the picture shows a block."""
    cache = Cache(block_sectors(kept))
    for e in kept.recording.events:
        cache.handle_event(e.time_ns, e.name, e.disk, e.block, e.write)
    times, places, states = zip(*cache.changes, strict=True) if cache.changes else [()] * 3
    return {
        "time": [t - start_ns for t in times],
        "place": list(places),
        "state": list(states),
    }, cache.places


def command_columns(commands: list[Command], start_ns: int) -> Columns:
    """Return the commands, in the order in which the drive served them, as columns."""
    columns = {
        "begin": [c.begin_ns - start_ns for c in commands],
        "done": [c.done_ns - c.begin_ns for c in commands],
        "free": [c.free_ns - c.begin_ns for c in commands],
        "from": [c.cylinders[0] for c in commands],
        "to": [c.cylinders[1] for c in commands],
        "kind": [KINDS.index(c.kind) for c in commands],
        "own": [OWN.index(c.purpose) if c.purpose in OWN else 0 for c in commands],
    }
    return columns | {name: [c.parts.get(name, 0) for c in commands] for name in PARTS}


def build_scene(explainer: Explainer, name: str, size: str) -> Scene:
    """Return all that the page shows of a run, its columns as lists. name, size: as in E= and
    --size."""
    kept = explainer.kept
    made, run, disk = kept.recording, kept.run, measured_disk(explainer)
    start_ns = made.start_ns
    commands = explainer.commands.get(disk, [])
    requests = sorted(
        ((r, i) for i, c in enumerate(commands) for r in c.requests),
        key=lambda pair: (pair[0].queued_ns, pair[0].number),
    )
    rows = [r for r, _ in requests]
    origins: dict[Origin, int] = {}
    for r, _ in requests:
        origins.setdefault(explainer.origins.origin_of_request(r), len(origins))
    shown = {(r.disk, r.sector, r.queued_ns): i for i, r in enumerate(reads(kept), start=1)}
    waits = [
        int(not r.write and "prefetched" not in explainer.origins.origin_of_request(r).words)
        for r in rows
    ]
    wrote = [e for e in made.events if e.name == "dirtied" and e.pid and e.time_ns >= start_ns]
    readers = {r.pid for r, wait in zip(rows, waits, strict=True) if wait}
    pids = sorted(readers | {e.pid for e in wrote})
    flushes = [(e.time_ns - start_ns, e.argument) for e in made.events if e.name == "flush"]
    cache, places = cache_columns(kept, start_ns)
    return {
        "experiment": name,
        "size": size,
        "run": run.number,
        "name": run.name,
        "arm": run.arm,
        "policies": run.config["policies"],
        "drive": drive_name(run, disk),
        "disk": disk,
        "start_ns": start_ns,
        "length_ns": made.end_ns - start_ns,
        "lost": kept.lost,
        "places": places,
        "daemon": DAEMON,
        "processes": [made.process(pid) for pid in pids],
        "platter": platter_figures(drive_name(run, disk)),
        "own": ["", *OF_LOG.values()],
        "origins": [[o.words, o.burst, o.blocks] for o in origins],
        "flushes": {
            "time": [t for t, _ in flushes],
            "blocks": [n for _, n in flushes],
        },
        "requests": {
            "queued": [r.queued_ns - start_ns for r in rows],
            "issued": [r.issued_ns - r.queued_ns for r in rows],
            "completed": [r.completed_ns - r.queued_ns for r in rows],
            "write": [int(r.write) for r in rows],
            "sector": [r.sector for r in rows],
            "sectors": [r.sectors for r in rows],
            "command": [i for _, i in requests],
            "origin": [origins[explainer.origins.origin_of_request(r)] for r in rows],
            "number": [shown.get((r.disk, r.sector, r.queued_ns), 0) for r in rows],
            "process": [
                pids.index(r.pid) + 1 if wait else 0 for r, wait in zip(rows, waits, strict=True)
            ],
            "event": queued_event_numbers(kept, rows),
        },
        "commands": command_columns(commands, start_ns),
        "cache": cache,
        "writes": {
            "time": [e.time_ns - start_ns for e in wrote],
            "process": [pids.index(e.pid) + 1 for e in wrote],
        },
    }


def queued_event_numbers(kept: Kept, rows: list[Request]) -> list[int]:
    """Return the number of each request's `queued` event."""
    found = {
        (e.disk, e.write, e.block, e.time_ns): kept.number(i)
        for i, e in enumerate(kept.recording.events)
        if e.name == "queued"
    }
    return [found[r.disk, r.write, r.sector, r.queued_ns] for r in rows]


def platter_figures(drive: str) -> dict[str, int]:
    """Return the rotation time and cylinders of a drive; zeros for a drive without platters."""
    try:
        row = read_drive_row(drive)
    except ValueError:
        return {"rotation_ns": 0, "cylinders": 0}
    return {"rotation_ns": row.rotation_ns, "cylinders": row.zones[-1].last_cyl + 1}
