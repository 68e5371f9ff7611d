"""Write Chrome's trace event format, which Perfetto and chrome://tracing open.

- A request is an asynchronous event of the process that caused it: b when it is
  queued, n when it is issued, e when it completes, all of one id. So requests
  may overlap.
- Counters: each disk's queue, and the dirty blocks of the cache.
- A flush is an instant event.
Times are in us since power-on.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from sluice.export.recording import Recording
from sluice.system.requests import Request
from sluice.system.trace import Event

ABOUT = "Chrome trace JSON, for Perfetto or chrome://tracing"
CACHE = 0  # the number of the "process" that has the counters; no process has this number

Row = dict[str, object]


def to_us(time_ns: int) -> float:
    """Return a time in us."""
    return time_ns / 1000


def process_rows(recording: Recording) -> Iterator[Row]:
    """Yield rows with the names of the processes."""
    pids = {r.pid for r in recording.requests} | {e.pid for e in recording.events} | {CACHE}
    for pid in sorted(pids):
        name = recording.process(pid)
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}


def request_rows(r: Request) -> Iterator[Row]:
    """Yield the rows of a request's life: queued, issued, completed."""
    common = {
        "name": r.direction,
        "cat": f"disk{r.disk}",
        "id": r.number,
        "pid": r.pid,
        "tid": 0,
    }
    about = {"sector": r.sector, "sectors": r.sectors, "found_queued": r.found_queued}
    yield {"ph": "b", "ts": to_us(r.queued_ns), **common, "args": about}
    yield {"ph": "n", "ts": to_us(r.issued_ns), **common, "args": {"issued": r.command}}
    yield {"ph": "e", "ts": to_us(r.completed_ns), **common, "args": {"failed": r.failed}}


def counter(name: str, time_ns: int, value: int) -> Row:
    """Return the row of a counter's value at a time."""
    return {
        "ph": "C",
        "name": name,
        "ts": to_us(time_ns),
        "pid": CACHE,
        "tid": 0,
        "args": {"n": value},
    }


def queue_rows(recording: Recording) -> Iterator[Row]:
    """Yield rows with the number of requests that wait for each disk."""
    steps = [(r.queued_ns, 1, r.disk) for r in recording.requests]
    steps += [(r.issued_ns, -1, r.disk) for r in recording.requests]
    length: dict[int, int] = {}
    for time_ns, step, disk in sorted(steps):
        length[disk] = length.get(disk, 0) + step
        yield counter(f"disk{disk} queued", time_ns, length[disk])


def dirty_rows(recording: Recording) -> Iterator[Row]:
    """Yield rows with the number of dirty blocks. A block whose write failed is not counted
    again."""
    dirty: set[tuple[int, int]] = set()
    levels = {recording.start_ns: 0}
    for e in recording.events:
        if e.name == "dirtied":
            dirty.add((e.disk, e.block))
        elif e.name in ("writing", "cancelled"):
            dirty.discard((e.disk, e.block))
        else:
            continue
        levels[max(e.time_ns, recording.start_ns)] = len(dirty)
    for time_ns, level in levels.items():
        yield counter("dirty blocks", time_ns, level)


def flush_row(e: Event) -> Row:
    """Return the row of a flush."""
    return {
        "ph": "i",
        "s": "g",
        "name": "flush",
        "ts": to_us(e.time_ns),
        "pid": e.pid,
        "tid": 0,
        "args": {"blocks": e.argument},
    }


def rows(recording: Recording) -> Iterator[Row]:
    """Yield the rows of all events, unordered, because viewers sort."""
    yield from process_rows(recording)
    for request in recording.requests:
        yield from request_rows(request)
    yield from queue_rows(recording)
    yield from dirty_rows(recording)
    for e in recording.events:
        if e.name == "flush" and e.time_ns >= recording.start_ns:
            yield flush_row(e)


def write(recording: Recording, folder: Path) -> list[str]:
    """Write one file. Returns the command that opens it."""
    run = recording.run
    about = {"experiment": run.experiment, "run": run.name, "args": run.config["args"]}
    path = folder / "trace.json"
    path.write_text(
        json.dumps(
            {"traceEvents": list(rows(recording)), "displayTimeUnit": "ms", "otherData": about},
            separators=(",", ":"),
        ),
        encoding="utf-8",
    )
    return [f"open https://ui.perfetto.dev (or chrome://tracing) and load {path.name}"]
