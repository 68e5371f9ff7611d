"""Fits a table of requests to a disk: joins and splits requests, scales time, moves places.

Each function takes a table and returns another (common.py); it changes nothing of the one it gets.
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
    """How a trace is fitted to a disk.

    scale: how many times as fast it becomes; join_kb: neighbours that follow one another in one
    direction become one request up to this size (0: none do), if the last of them came up to
    join_ms after the first, in the trace's own time; split_kb: longer requests become several that
    come at one time; way: what to do if the trace reaches beyond the disk: REFUSE it, PACK the used
    parts side by side, or FOLD it, so that places count from 0 again at the last whole MiB of the
    disk.
    """

    scale: float = 1.0
    join_kb: int = 0
    join_ms: int = JOIN_MS
    split_kb: int = LONGEST // KIB
    way: str = REFUSE


def join_requests(requests: np.ndarray, most: int, within_ns: int) -> np.ndarray:
    """Return the requests with neighbours joined.

    A request that begins where the one before ended, in its direction, becomes part of that
    request, up to `most` bytes in all, and up to `within_ns` after the first of the joined
    requests. A joined request has the time of the first.
    """
    if not len(requests):
        return requests.copy()
    end = requests["offset"] + requests["bytes"]
    follows = requests["offset"][1:] == end[:-1]  # of each request but the first
    follows &= requests["write"][1:] == requests["write"][:-1]
    times, sizes = requests["time_ns"].tolist(), requests["bytes"].tolist()
    starts, size = [0], sizes[0]  # the first of each joined request; the bytes of the last one
    for i, (goes_on, more) in enumerate(zip(follows.tolist(), sizes[1:], strict=True), 1):
        if goes_on and size + more <= most and times[i] - times[starts[-1]] <= within_ns:
            size += more
        else:
            starts.append(i)
            size = more
    joined = requests[starts].copy()
    joined["bytes"] = np.add.reduceat(requests["bytes"].astype("<u8"), starts)
    return joined


def split_requests(requests: np.ndarray, most: int) -> np.ndarray:
    """Return the requests with those of more than `most` bytes split into several that come at one
    time."""
    pieces = (-(-requests["bytes"].astype("<i8") // most)).astype("<i8")
    found = np.repeat(requests, pieces)
    last = np.cumsum(pieces)
    rank = np.arange(len(found)) - np.repeat(last - pieces, pieces)
    done = (rank * most).astype("<u8")
    found["offset"] += done
    found["bytes"] = np.minimum(found["bytes"] - done, most)
    return found


def speed_up(requests: np.ndarray, scale: float) -> np.ndarray:
    """Return the requests `scale` times as fast."""
    found = requests.copy()
    if scale != 1:
        found["time_ns"] = np.round(requests["time_ns"] / scale).astype("<u8")
    return found


def pack_used_parts(requests: np.ndarray) -> np.ndarray:
    """Return the requests with the used parts of the disk, of PART bytes each, side by side in
    their order. No request is longer than a part."""
    first = requests["offset"] // PART
    last = (requests["offset"] + requests["bytes"] - 1) // PART
    used = np.union1d(first, last)  # the numbers of the used parts
    packed = requests.copy()
    packed["offset"] = np.searchsorted(used, first) * PART + requests["offset"] % PART
    return packed


def fold_places(requests: np.ndarray, room: int) -> np.ndarray:
    """Return the requests with places counted from 0 again at every `room` bytes. No request
    crosses the end."""
    found = requests.copy()
    last = np.uint64(room) - requests["bytes"].astype("<u8")
    found["offset"] = np.minimum(requests["offset"] % np.uint64(room), last)
    return found


def highest_byte(requests: np.ndarray) -> int:
    """Return the end of the last byte that a request uses."""
    return int((requests["offset"] + requests["bytes"]).max(initial=0))


def fit_requests(name: str, requests: np.ndarray, fit: Fit, room: int) -> np.ndarray:
    """Return the requests for a disk with room for this many bytes.

    name: the trace's, for messages. Raises BadTraceFile if they do not fit, or come too late.
    """
    found = requests
    if int(found["time_ns"].max(initial=0)) >= LATEST_NS * fit.scale:
        raise BadTraceFile(
            f"{name}: scale = {fit.scale}: the last request comes later than 2^62 ns"
        )
    if fit.join_kb:
        found = join_requests(found, fit.join_kb * KIB, fit.join_ms * MS_NS)
    found = speed_up(split_requests(found, fit.split_kb * KIB), fit.scale)
    if highest_byte(found) <= room:
        return found
    whole = room // PART * PART
    if fit.way == FOLD and whole:
        return fold_places(found, whole)
    end, found = highest_byte(found), pack_used_parts(found)
    fits = highest_byte(found) <= room
    if fit.way == PACK and fits:
        return found
    ways = ["take a larger drive" + " or fewer requests" * (fit.way == PACK)]
    ways += [f"fit = {PACK} lays the used parts side by side"] * fits
    ways += [f"fit = {FOLD} counts places from 0 again at the disk's end"] * bool(whole)
    used, free = format_bytes(highest_byte(found)), format_bytes(room, math.floor)
    raise BadTraceFile(
        f"{name}: reaches to {format_bytes(end)}, of which {used} are used; "
        f"the disk has room for {free}: {', or '.join(ways)}"
    )


def format_bytes(size: int, rounded: Callable[[float], int] = math.ceil) -> str:
    """Return a size in bytes as text, rounded up, or as `rounded` does."""
    if size >= 1 << 30:
        return f"{rounded(size * 100 / (1 << 30)) / 100:.2f} GiB"
    return f"{rounded(size * 10 / PART) / 10:.1f} MiB"
