"""Fits a table of requests to a disk: joins and splits requests, scales time, moves places.

Each function takes a table and returns another (table.py); it changes nothing of the one it gets.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sluice.trace.errors import BadTraceFile
from sluice.trace.packed import LONGEST

PART = 1 << 20  # bytes: of what is used, this much stays together
KIB = 1024
MS_NS = 10**6
LATEST_NS = 1 << 62
JOIN_MS = 3  # Linux 2.6 let a request wait this long for its neighbours (unplug_delay)
REFUSE, PACK, FOLD = "refuse", "pack", "fold"
WAYS = (REFUSE, PACK, FOLD)


@dataclass(frozen=True)
class Fit:
    """What is done to a trace.

    scale: how many times as fast as it was; join_kb: neighbours that follow one another in one
    direction become one request up to this size (0: none do), if the last of them came up to
    join_ms after the first, in the trace's own time; split_kb: longer requests become several that
    come at one time; way: where the trace reaches beyond the disk, REFUSE it, PACK the parts that
    are used side by side, or FOLD it: places count from 0 again at the last whole MiB of the disk.
    """

    scale: float = 1.0
    join_kb: int = 0
    join_ms: int = JOIN_MS
    split_kb: int = LONGEST // KIB
    way: str = REFUSE


def joined(requests: np.ndarray, most: int, within_ns: int) -> np.ndarray:
    """Requests that begin where the one before ended, in its direction, are part of it, up to
    `most` bytes, and up to `within_ns` after the first of them. It comes when that one came."""
    if not len(requests):
        return requests.copy()
    end = requests["offset"] + requests["bytes"]
    follows = requests["offset"][1:] == end[:-1]
    follows &= requests["write"][1:] == requests["write"][:-1]
    times, sizes = requests["time_ns"].tolist(), requests["bytes"].tolist()
    starts, size = [0], sizes[0]
    for i, (on, more) in enumerate(zip(follows.tolist(), sizes[1:], strict=True), 1):
        if on and size + more <= most and times[i] - times[starts[-1]] <= within_ns:
            size += more
        else:
            starts.append(i)
            size = more
    found = requests[starts].copy()
    found["bytes"] = np.add.reduceat(requests["bytes"].astype("<u8"), starts)
    return found


def split(requests: np.ndarray, most: int) -> np.ndarray:
    """Requests of more than `most` bytes as several, one after the other, that come at one time."""
    pieces = (-(-requests["bytes"].astype("<i8") // most)).astype("<i8")
    found = np.repeat(requests, pieces)
    last = np.cumsum(pieces)
    rank = np.arange(len(found)) - np.repeat(last - pieces, pieces)
    done = (rank * most).astype("<u8")
    found["offset"] += done
    found["bytes"] = np.minimum(found["bytes"] - done, most)
    return found


def faster(requests: np.ndarray, scale: float) -> np.ndarray:
    """The same requests, so many times as fast."""
    found = requests.copy()
    if scale != 1:
        found["time_ns"] = np.round(requests["time_ns"] / scale).astype("<u8")
    return found


def packed(requests: np.ndarray) -> np.ndarray:
    """The parts of the disk that are used, of PART bytes each, side by side in their order. No
    request is longer than a part."""
    first = requests["offset"] // PART
    last = (requests["offset"] + requests["bytes"] - 1) // PART
    used = np.union1d(first, last)
    found = requests.copy()
    found["offset"] = np.searchsorted(used, first) * PART + requests["offset"] % PART
    return found


def folded(requests: np.ndarray, room: int) -> np.ndarray:
    """Places counted from 0 again at every `room` bytes, of which no request has more; none
    crosses the end."""
    found = requests.copy()
    last = np.uint64(room) - requests["bytes"].astype("<u8")
    found["offset"] = np.minimum(requests["offset"] % np.uint64(room), last)
    return found


def reach(requests: np.ndarray) -> int:
    """Where the last byte ends that a request uses."""
    return int((requests["offset"] + requests["bytes"]).max(initial=0))


def fitted(name: str, requests: np.ndarray, fit: Fit, room: int) -> np.ndarray:
    """The requests for a disk with room for so many bytes. name: of the trace, for messages.
    Raises BadTraceFile if they do not fit, or come too late."""
    found = requests
    if int(found["time_ns"].max(initial=0)) >= LATEST_NS * fit.scale:
        raise BadTraceFile(
            f"{name}: scale = {fit.scale}: the last request comes later than 2^62 ns"
        )
    if fit.join_kb:
        found = joined(found, fit.join_kb * KIB, fit.join_ms * MS_NS)
    found = faster(split(found, fit.split_kb * KIB), fit.scale)
    if reach(found) <= room:
        return found
    whole = room // PART * PART
    if fit.way == FOLD and whole:
        return folded(found, whole)
    end, found = reach(found), packed(found)
    fits = reach(found) <= room
    if fit.way == PACK and fits:
        return found
    ways = ["take a larger drive" + " or fewer requests" * (fit.way == PACK)]
    ways += [f"fit = {PACK} lays the used parts side by side"] * fits
    ways += [f"fit = {FOLD} counts places from 0 again at the disk's end"] * bool(whole)
    raise BadTraceFile(
        f"{name}: reaches to {shown(end)}, of which {shown(reach(found))} are used; the disk has "
        f"room for {shown(room, math.floor)}: {', or '.join(ways)}"
    )


def shown(size: int, rounded: Callable[[float], int] = math.ceil) -> str:
    """Bytes for people, to the next figure up, or as `rounded` says."""
    if size >= 1 << 30:
        return f"{rounded(size * 100 / (1 << 30)) / 100:.2f} GiB"
    return f"{rounded(size * 10 / PART) / 10:.1f} MiB"
