"""The trace of an experiment: its requests are read once, and kept as the image of a disk.

A run's configuration has under `trace` the hash of that image, and how many requests are in it. So
equal requests have equal results, whatever file they are from. The image is in the cache under its
hash; a worker on another machine needs a copy of it.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.experiment.check import Checker, size_bytes
from sluice.experiment.files import CACHE, hash_file, hash_of, write_whole
from sluice.experiment.schema import MACHINE, TRACE
from sluice.host.limits import HANG_S
from sluice.host.paths import PROGRAMS
from sluice.system.guest import MOST_DISKS
from sluice.trace.errors import BadTraceFile

if TYPE_CHECKING:  # read when a trace is: NumPy and rich take most of a second to load
    from sluice.trace.fit import Fit

PROGRAM = "ioplay"
FILE = "/trace"  # and a number: the files of the data disk where the requests go
PARTS = 48  # of these files, at most: PARTS_MAX in ioplay.c
INFLIGHT = 256  # requests under way at once, at most: INFLIGHT_MAX in ioplay.c
LOOPS = ("open", "closed")
LEAST_MB = 192  # of the machine's memory, with room for BUFFERS
BUFFERS = 1 << 15
BUFFER_BYTES = 4096 + 512  # of memory: the block, and what the kernel notes of it
REQUEST_BYTES = 256  # of memory: twice what ioplay takes
MOST_MB = MACHINE["memory"].high - MOST_DISKS >> 20  # beside the largest disks
DRIVE = "fixed"  # of the disk that holds the requests
SHARE = 0.97  # of the data disk, less SPARE, is room for files; the rest is ext2's
SPARE = 1 << 18  # bytes
FILE_SPARE = 1 << 14  # bytes, of any other file: the rest of its last block, and pointers
ROUND = 1 << 20
# A run ends with its last request, however late that is: a policy that is slow must come last, and
# not be missing. So the limits of time are for a kernel that hangs, and grow with the trace.
SLOWEST_S = 60  # of virtual time, for a request of a drive that is overloaded
PER_HOST_S = 500  # requests in a second of the host, at least
LATEST_S = 9 * 10**9  # the clock's end is at 2^63 ns
LOOP = re.compile(r"\bloop=(?:(\w+)|\{(\w+)\})")
SCATTERED = re.compile(r"(\d+):(\d+[KMG]?)")  # COUNT:SIZE


@cache
def program_hash() -> str:
    """The hash of the program that replays requests."""
    return hash_file(PROGRAMS / PROGRAM)


def image_of(digest: str) -> Path:
    """Where the image with these requests is."""
    return CACHE / f"{digest}.requests"


def keep(packed: bytes) -> str:
    """Put the image of a disk into the cache. Returns its hash."""
    digest = sha256(packed).hexdigest()[:32]
    path = image_of(digest)
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        part.write_bytes(packed)
        part.replace(path)
    return digest


@contextmanager
def passing(what: str, things: str) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many things have passed, of which nobody knows how many come. Call
    the result with how many more have passed."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda n: None
        return
    column = TextColumn("{task.description}: {task.completed} " + things, markup=False)
    with Progress(column, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda n: progress.advance(task, n)


@cache
def requests(
    path: Path, changed: tuple, format: str, count: int | None, fit: "Fit", room: int
) -> dict:
    """What a configuration says of a trace, and what else is to be known of it: `left_out`, in
    words, and `last_ns`, when the last request comes. changed: of the file, so that an edited one
    is read again. Raises BadTraceFile."""
    made_from = [str(path), changed, format, count, vars(fit), room, code_hash()]
    kept = CACHE / f"{hash_of(made_from)[:32]}.trace.json"
    if kept.exists():
        found = json.loads(kept.read_text(encoding="utf-8"))
        if image_of(found["requests"]).exists():
            return found
    from sluice.trace.fit import fitted, reach
    from sluice.trace.packed import pack
    from sluice.trace.reader import read
    from sluice.trace.stream import LeftOut

    left_out = LeftOut()
    with passing(f"reading {path.name}", "requests") as seen:
        table = fitted(path.name, read(path, format, count, seen, left_out), fit, room)
    found = described(keep(pack(table)), len(table), reach(table))
    found |= {"left_out": str(left_out), "last_ns": int(table["time_ns"][-1])}
    write_whole(kept, json.dumps(found))
    return found


def told(path: Path, format: str, count: int | None, fit: "Fit", data: dict) -> dict:
    """What `requests` says of a trace for this data disk, as it is now. Says on stderr, once, what
    was left out of it. Raises BadTraceFile."""
    changed = (path.stat().st_mtime_ns, path.stat().st_size) if path.exists() else ()
    found = requests(path, changed, format, count, fit, room_of(data))
    say_left_out(path, found["left_out"])
    return found


@cache
def say_left_out(path: Path, left_out: str) -> None:
    """Print what was left out of a trace, if anything was. Equal calls print it once."""
    if left_out:
        print(f"{path}: left out: {left_out}", file=sys.stderr)


def memory_mb(count: int, buffers: int = BUFFERS) -> int:
    """How much memory a machine needs, in MiB, to replay so many requests with such a cache. It
    has up to MOST_MB."""
    more = max(0, buffers - BUFFERS) * BUFFER_BYTES >> 20
    return LEAST_MB + -(-REQUEST_BYTES * count >> 20) + more


def described(digest: str, count: int, end: int) -> dict:
    """What a configuration says of requests that end before this byte: `parts` files of `part_mb`
    are where they go."""
    part = -(-end // (PARTS * ROUND))
    parts = -(-end // (part * ROUND))
    return {"requests": digest, "count": count, "part_mb": part, "parts": parts}


@cache
def code_hash() -> str:
    """The hash of the code that reads traces."""
    folder = Path(__file__).parent.parent / "trace"
    paths = [Path(__file__), *sorted(folder.rglob("*.py"))]
    return hash_of([hash_file(path) for path in paths])


def room_of(data: dict) -> int:
    """How many bytes of a trace a data disk has room for, whatever its blocks: whole MiB, of which
    any part fits as `described` has it."""
    others = [f"1:{size}" for size in data.get("files", {}).values()]
    others = map(SCATTERED.fullmatch, [*others, *data.get("scatter", {}).values()])
    taken = sum(int(of[1]) * (size_bytes(of[2]) + FILE_SPARE) for of in others if of)
    free = int(min(size_bytes(data["size"]), MOST_DISKS) * SHARE) - SPARE - taken
    most = max(free // ROUND, 0)
    part = -(-most // PARTS)  # of the largest traces; those of PARTS smaller ones fit in any case
    return max(most // part * part, PARTS * (part - 1)) * ROUND if part else 0


def is_open(commands: str, variables: dict[str, object]) -> bool:
    """Whether any of the commands lets requests come when they came. A replay without loop= does,
    so the limits of time have room for it beside replays in a closed loop."""
    loops = []
    for words in commands.split(PROGRAM)[1:] or [commands]:
        said = LOOP.search(words)
        loops.append((said[1] or variables.get(said[2])) if said else "open")
    return any(loop != "closed" for loop in loops)


def limits(c: Checker, found: dict, given: dict, is_open: bool) -> dict:
    """The limits of a run's time, where the file gives none: far more than the trace takes. One
    that is given and ends before the trace does is a problem of the file."""
    last_s = ceil(found["last_ns"] / 1e9) if is_open else 0
    least = MACHINE["virtual_limit_s"].default
    usual = min(least + last_s + SLOWEST_S * found["count"], LATEST_S)
    limit = given.get("virtual_limit_s", usual)
    if isinstance(limit, int) and limit <= last_s:
        c.problem(
            ("machine", "virtual_limit_s"),
            f"virtual_limit_s = {limit}: the trace lasts {last_s} s: leave the limit away, or give "
            "a larger scale or a smaller count",
        )
    host = given.get("host_limit_s", HANG_S + found["count"] // PER_HOST_S)
    return {"virtual_limit_s": limit, "host_limit_s": host}


def config(c: Checker, raw: dict, data: dict | None, given: dict, is_open: bool) -> dict:
    """What a configuration has of the trace, the data disk with the file for it, and the limits of
    time; a wrong trace is a problem of the file. given: what the file's [machine] says, with its
    variables filled in; is_open: whether requests come when they came."""
    good = c.table(("trace",), raw, TRACE)
    if not data:
        c.problem(("trace",), "a trace needs a data disk: [machine.data]")
    elif any(path.startswith(FILE) for path in data["files"]):
        c.problem(("machine", "data", "files"), f'"{FILE}0" and so on are files of the trace')
    elif isinstance(good["scale"], int | float) and not good["scale"] > 0:
        c.problem(("trace", "scale"), f"scale = {good['scale']}: must be more than 0")
    if c.problems:
        return {}
    from sluice.trace.fit import Fit

    path = (c.path.parent / good["file"]).resolve()
    fit = Fit(good["scale"], good["join_kb"], good["join_ms"], good["split_kb"], good["fit"])
    try:
        found = told(path, good["format"], good["count"], fit, data)
    except BadTraceFile as error:
        c.problem(("trace", "file"), str(error))
        return {}
    trace = {name: found[name] for name in ("requests", "count", "part_mb", "parts")}
    both = {"trace": trace | {"program": program_hash()}, "data": with_files(data, found)}
    return both | limits(c, found, given, is_open)


def with_files(data: dict, trace: dict) -> dict:
    """The data disk, with the files that the requests are for."""
    files = {f"{FILE}{i}": f"{trace['part_mb']}M" for i in range(trace["parts"])}
    return data | {"files": data["files"] | files}


def variables(trace: dict | None) -> dict[str, object]:
    """What the commands may say of the trace; any numbers, if it is wrong."""
    trace = trace or {"part_mb": 1, "count": 1}
    return {"part_mb": trace["part_mb"], "requests": trace["count"]}


def programs(config: dict) -> dict[str, bytes]:
    """What the root disk has besides the programs of every image."""
    if "trace" not in config:
        return {}
    return {f"/bin/{PROGRAM}": (PROGRAMS / PROGRAM).read_bytes()}


def disks(config: dict) -> list[Path]:
    """The image with the requests, if there are any. Raises BadTraceFile if it is gone."""
    if "trace" not in config:
        return []
    path = image_of(config["trace"]["requests"])
    if not path.exists():
        raise BadTraceFile(
            f"{path}: the requests of the trace are not on this machine: copy them here"
        )
    return [path]
