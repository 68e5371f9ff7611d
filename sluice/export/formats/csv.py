"""Write CSV: a line for each request. Times are in ns since power-on."""

import csv
from collections.abc import Callable
from pathlib import Path

from sluice.export.recording import Recording
from sluice.system.requests import Request

ABOUT = "a line for each request, for spreadsheets, R, pandas"
COLUMNS: dict[str, Callable[[Recording, Request], object]] = {
    "request": lambda _, r: r.number,
    "disk": lambda _, r: f"disk{r.disk}",
    "sector": lambda _, r: r.sector,
    "sectors": lambda _, r: r.sectors,
    "rw": lambda _, r: r.direction[0],
    "pid": lambda _, r: r.pid,
    "process": lambda recording, r: recording.process(r.pid),
    "queued_ns": lambda _, r: r.queued_ns,
    "issued_ns": lambda _, r: r.issued_ns,
    "completed_ns": lambda _, r: r.completed_ns,
    "response_us": lambda _, r: f"{r.response_ns / 1000:.3f}",
    "service_us": lambda _, r: f"{r.service_ns / 1000:.3f}",
    "found_queued": lambda _, r: r.found_queued,  # requests that waited when it was queued
    "failed": lambda _, r: int(r.failed),
}


def write(recording: Recording, folder: Path) -> list[str]:
    """Write one file with the requests in the order of queueing. Returns the command that opens
    it."""
    path = folder / "requests.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(COLUMNS)
        for request in recording.requests:
            rows.writerow(value(recording, request) for value in COLUMNS.values())
    return [f"column -s, -t {path.name} | less -S"]
