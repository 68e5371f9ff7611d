"""Reads the trace of an experiment once, and keeps its requests as the image of a disk.

A run's configuration has under `trace` the hash of that image, and how many requests are in it. So
equal requests have equal results, whatever file they are from. The image is in the cache under its
hash; a worker on another machine needs a copy of it.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sluice.experiment.check import Checker, size_bytes
from sluice.experiment.files import CACHE, hash_value, write_atomically
from sluice.experiment.records import (
    Configuration,
    DiskConfig,
    MachineConfig,
    RequestImage,
    TraceConfig,
    TraceTable,
    Unchecked,
    Variables,
)
from sluice.experiment.schema import MACHINE, TRACE
from sluice.host.hashes import hash_file
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
BUFFER_BYTES = 4096 + 512  # memory of a buffer: the block, and what the kernel notes of the block
REQUEST_BYTES = 256  # memory of a request: twice what ioplay takes
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


class FittedTrace(RequestImage):
    """The requests of a trace, which fit a data disk: what was left out of it, in words, and the
    time of the last request."""

    left_out: str
    last_ns: int


@cache
def program_hash() -> str:
    """Return the hash of the program that replays requests."""
    return hash_file(PROGRAMS / PROGRAM)


def image_path(digest: str) -> Path:
    """Return the path of the image with these requests."""
    return CACHE / f"{digest}.requests"


def cache_image(packed: bytes) -> str:
    """Write the image of a disk to the cache. Returns its hash."""
    digest = sha256(packed).hexdigest()[:32]
    path = image_path(digest)
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        part.write_bytes(packed)
        part.replace(path)
    return digest


@contextmanager
def show_passed(what: str, things: str) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many things have passed; the total is unknown. Yields the function to
    call with how many more have passed."""
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
def fit_trace(
    path: Path, changed: tuple[int, ...], format: str, count: int | None, fit: "Fit", room: int
) -> FittedTrace:
    """Return the requests of a trace, written to the image of a disk.

    changed: identifies the state of the file, so that an edited file is read again. Raises
    BadTraceFile.
    """
    made_from = [str(path), changed, format, count, vars(fit), room, code_hash()]
    kept = CACHE / f"{hash_value(made_from)[:32]}.trace.json"
    if kept.exists():
        found: FittedTrace = json.loads(kept.read_text(encoding="utf-8"))
        if image_path(found["requests"]).exists():
            return found
    from sluice.trace.fit import fit_requests, highest_byte
    from sluice.trace.packed import pack_requests
    from sluice.trace.reader import read_requests
    from sluice.trace.stream import LeftOut

    left_out = LeftOut()
    with show_passed(f"reading {path.name}", "requests") as seen:
        table = fit_requests(
            path.name, read_requests(path, format, count, seen, left_out), fit, room
        )
    digest = cache_image(pack_requests(table))
    found = {
        **describe_requests(digest, len(table), highest_byte(table)),
        "left_out": str(left_out),
        "last_ns": int(table["time_ns"][-1]),
    }
    write_atomically(kept, json.dumps(found))
    return found


def trace_config(
    path: Path, format: str, count: int | None, fit: "Fit", data: Mapping[str, Any]
) -> FittedTrace:
    """Return the result of fit_trace() for this data disk. Raises BadTraceFile.

    Prints once, on stderr, what was left out of the trace.
    """
    changed = (path.stat().st_mtime_ns, path.stat().st_size) if path.exists() else ()
    found = fit_trace(path, changed, format, count, fit, trace_capacity(data))
    print_left_out(path, found["left_out"])
    return found


@cache
def print_left_out(path: Path, left_out: str) -> None:
    """Print what was left out of a trace, if anything was. Equal calls print it once."""
    if left_out:
        print(f"{path}: left out: {left_out}", file=sys.stderr)


def memory_mb(count: int, buffers: int = BUFFERS) -> int:
    """Return how many MiB of memory a machine needs to replay this many requests with this many
    buffers. A machine has at most MOST_MB."""
    buffers_mb = max(0, buffers - BUFFERS) * BUFFER_BYTES >> 20
    requests_mb = -(-REQUEST_BYTES * count >> 20)  # rounded up
    return LEAST_MB + requests_mb + buffers_mb


def describe_requests(digest: str, count: int, end: int) -> RequestImage:
    """Return a configuration's part about requests that end before byte `end`. They go to `parts`
    files of `part_mb` MiB."""
    part_mb = -(-end // (PARTS * ROUND))  # both are rounded up
    parts = -(-end // (part_mb * ROUND))
    return {"requests": digest, "count": count, "part_mb": part_mb, "parts": parts}


@cache
def code_hash() -> str:
    """Return the hash of the code that reads traces."""
    folder = Path(__file__).parent.parent / "trace"
    paths = [Path(__file__), *sorted(folder.rglob("*.py"))]
    return hash_value([hash_file(path) for path in paths])


def trace_capacity(data: Mapping[str, Any]) -> int:
    """Return how many bytes of a trace fit on a data disk, whatever its block size. data: the
    disk's table, checked or not.

    It is whole MiB, and any smaller trace fits as well in the parts of describe_requests().
    """
    single = [f"1:{size}" for size in data.get("files", {}).values()]
    texts = [*single, *data.get("scatter", {}).values()]  # COUNT:SIZE of other files
    matches = [match for text in texts if (match := SCATTERED.fullmatch(text))]
    taken = sum(int(match[1]) * (size_bytes(match[2]) + FILE_SPARE) for match in matches)
    free = int(min(size_bytes(data["size"]), MOST_DISKS) * SHARE) - SPARE - taken
    most_mb = max(free // ROUND, 0)
    part_mb = -(-most_mb // PARTS)  # rounded up: the largest size of a part
    if not part_mb:
        return 0
    # Either as many of the largest parts as fit, or all parts with 1 MiB less, which always fit.
    return max(most_mb // part_mb * part_mb, PARTS * (part_mb - 1)) * ROUND


def is_open_loop(commands: str, variables: Variables) -> bool:
    """Return whether one of the commands replays in an open loop, so that requests come at their
    own times.

    A replay without loop= is open. The limits of a run's time depend on it.
    """
    loops = []
    for words in commands.split(PROGRAM)[1:] or [commands]:
        said = LOOP.search(words)
        loops.append((said[1] or variables.get(said[2])) if said else "open")
    return any(loop != "closed" for loop in loops)


def default_limits(
    c: Checker, found: FittedTrace, given: Unchecked, is_open: bool
) -> tuple[int, int]:
    """Return the limits of a run's time, virtual_limit_s and host_limit_s: those of the file, or
    else limits far above the trace's length. A limit that is shorter than the trace is a problem
    of the file."""
    last_s = ceil(found["last_ns"] / 1e9) if is_open else 0
    least: int = MACHINE["virtual_limit_s"].default
    usual = min(least + last_s + SLOWEST_S * found["count"], LATEST_S)
    limit = given.get("virtual_limit_s", usual)
    if isinstance(limit, int) and limit <= last_s:
        c.add_problem(
            ("machine", "virtual_limit_s"),
            f"virtual_limit_s = {limit}: the trace lasts {last_s} s: leave the limit away, or give "
            "a larger scale or a smaller count",
        )
    host = given.get("host_limit_s", HANG_S + found["count"] // PER_HOST_S)
    return limit, host


def add_trace(
    c: Checker, raw: Unchecked, machine: MachineConfig, given: Unchecked, is_open: bool
) -> None:
    """Put into a machine's configuration the requests of the trace, the files of the data disk to
    which they go, and the limits of time. A wrong trace is a problem of the file.

    given: the file's [machine], with its variables filled in; is_open: whether requests come at
    their own times.
    """
    good = c.check_table(("trace",), raw, TRACE, TraceTable)
    data = machine["data"]
    if not data:
        c.add_problem(("trace",), "a trace needs a data disk: [machine.data]")
    elif any(path.startswith(FILE) for path in data["files"]):
        c.add_problem(("machine", "data", "files"), f'"{FILE}0" and so on are files of the trace')
    elif isinstance(good["scale"], int | float) and not good["scale"] > 0:
        c.add_problem(("trace", "scale"), f"scale = {good['scale']}: must be more than 0")
    if c.problems or not data:
        return
    from sluice.trace.fit import Fit

    path = (c.path.parent / good["file"]).resolve()
    fit = Fit(good["scale"], good["join_kb"], good["join_ms"], good["split_kb"], good["fit"])
    try:
        found = trace_config(path, good["format"], good["count"], fit, data)
    except BadTraceFile as error:
        c.add_problem(("trace", "file"), str(error))
        return
    machine["trace"] = {
        "requests": found["requests"],
        "count": found["count"],
        "part_mb": found["part_mb"],
        "parts": found["parts"],
        "program": program_hash(),
    }
    machine["data"] = add_request_files(data, found)
    machine["virtual_limit_s"], machine["host_limit_s"] = default_limits(c, found, given, is_open)


def add_request_files(data: DiskConfig, trace: RequestImage) -> DiskConfig:
    """Return the data disk, with the files to which the requests go."""
    files = {f"{FILE}{i}": f"{trace['part_mb']}M" for i in range(trace["parts"])}
    return {**data, "files": data["files"] | files}


def trace_variables(trace: TraceConfig | None) -> Variables:
    """Return the variables about the trace that commands may use. If the trace is wrong, their
    values are arbitrary."""
    if not trace:
        return {"part_mb": 1, "requests": 1}
    return {"part_mb": trace["part_mb"], "requests": trace["count"]}


def replay_programs(config: Configuration) -> dict[str, bytes]:
    """Return the programs, by path, that the root disk has besides those of every image."""
    if "trace" not in config:
        return {}
    return {f"/bin/{PROGRAM}": (PROGRAMS / PROGRAM).read_bytes()}


def request_disks(config: Configuration) -> list[Path]:
    """Return the image with the requests, or an empty list without a trace. Raises BadTraceFile if
    the image is gone."""
    if "trace" not in config:
        return []
    path = image_path(config["trace"]["requests"])
    if not path.exists():
        raise BadTraceFile(
            f"{path}: the requests of the trace are not on this machine: copy them here"
        )
    return [path]
