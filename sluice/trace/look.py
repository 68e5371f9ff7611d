"""`sluice trace look`: what a file is taken for, and what is in it, without a replay.

The trace is read once as a stream, so memory does not grow with it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sluice.trace import reader
from sluice.trace.errors import BadTraceFile
from sluice.trace.fit import format_bytes
from sluice.trace.stream import LeftOut, open_unpacked
from sluice.trace.units import PLACE

HOUR_NS = 3600 * 10**9


@dataclass
class Sums:
    """The sums over a trace. ends: of each disk, in bytes; hours: requests by the hour."""

    several: bool  # the trace has several disks: disk n has the bytes from n * PLACE on
    count: int = 0
    writes: int = 0
    bytes: int = 0
    write_bytes: int = 0
    follow: int = 0  # requests that begin where the one before ended
    first_ns: int = 1 << 64
    last_ns: int = 0
    before: int = -1  # the end of the last request, in bytes
    ends: dict[int, int] = field(default_factory=dict)
    hours: dict[int, int] = field(default_factory=dict)

    def add(self, rows: np.ndarray) -> None:
        """Add the next requests."""
        writes, ends = rows["write"] == 1, rows["offset"] + rows["bytes"]
        self.count += len(rows)
        self.writes += int(writes.sum())
        self.bytes += int(rows["bytes"].sum(dtype="<u8"))
        self.write_bytes += int(rows["bytes"][writes].sum(dtype="<u8"))
        self.follow += int((rows["offset"][1:] == ends[:-1]).sum())
        self.follow += int(rows["offset"][0]) == self.before  # the first one, of the last table's
        self.before = int(ends[-1])
        self.first_ns = min(self.first_ns, int(rows["time_ns"].min()))
        self.last_ns = max(self.last_ns, int(rows["time_ns"].max()))
        disks = rows["offset"] // np.uint64(PLACE) * np.uint64(self.several)  # 0 if there is one
        for disk in np.unique(disks).tolist():
            end = int(ends[disks == disk].max()) - disk * PLACE
            self.ends[disk] = max(self.ends.get(disk, 0), end)
        hours, counts = np.unique(rows["time_ns"] // np.uint64(HOUR_NS), return_counts=True)
        for hour, more in zip(hours.tolist(), counts.tolist(), strict=True):
            self.hours[hour] = self.hours.get(hour, 0) + more

    def describe(self, timeless: bool) -> list[str]:
        """Return the sums in lines for people."""
        reads = self.count - self.writes
        lines = [
            f"{self.count:,} requests: {100 * reads / self.count:.1f} % reads",
            *describe_sizes("a read", reads, self.bytes - self.write_bytes),
            *describe_sizes("a write", self.writes, self.write_bytes),
            f"{100 * self.follow / self.count:.1f} % begin where the request before ended",
            f"{len(self.ends)} disk{'s' * (len(self.ends) > 1)}, used up to "
            f"{format_bytes(sum(self.ends.values()))}",
        ]
        if timeless:
            return [*lines, "no times"]
        took_s = (self.last_ns - self.first_ns) / 1e9
        lines.append(f"{format_seconds(took_s)} from the first request to the last")
        if len(self.hours) > 1:
            lines.append(f"up to {max(self.hours.values()):,} requests in an hour")
        return lines


def describe_sizes(what: str, count: int, size: int) -> list[str]:
    """Return a line with the mean size of some requests, or no line if there are none."""
    return [f"{size / count / 1024:.2f} KiB {what} on average"] if count else []


def format_seconds(seconds: float) -> str:
    """Return a time as text: in s, hours or days."""
    if seconds < 2 * 3600:
        return f"{seconds:,.3f} s"
    return f"{seconds / 3600:.1f} hours" if seconds < 48 * 3600 else f"{seconds / 86400:.2f} days"


def look(path: Path, name: str, count: int | None, seen: Callable[[int], None]) -> list[str]:
    """Return what is in a trace, in lines for people. name: of the format, with options, as in
    find_format(), or ""; count: how many of its requests, None for all. Raises BadTraceFile."""
    found, left = reader.find_format(path, name), LeftOut(count)
    sums = Sums(getattr(found, "SEVERAL", False))
    with open_unpacked(path) as stream:
        for piece in found.read(path, stream, left):
            rows = piece if count is None else piece[: count - sums.count]
            if len(rows):
                sums.add(rows)
                seen(len(rows))
            if sums.count == count:
                break
    if not sums.count:
        raise BadTraceFile(f"{path}: has no request" + (f"; left out: {left}" * bool(left.counts)))
    lines = sums.describe(getattr(found, "TIMELESS", False))
    return [*lines, *([f"left out: {left}"] if left.counts else [])]
