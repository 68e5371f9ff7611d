"""Functions and types of `import sluice`; sluice/__init__.py describes their use."""

import math
import re
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sluice.blocks.decoded import LARGEST
from sluice.blocks.miss_curve import CurveFailed, run_curve, run_optimum
from sluice.blocks.replayer import (
    HANG,
    MOST_INFLIGHT,
    REPLAYER,
    Figures,
    ReplayFailed,
    Settings,
    Times,
    run_replay,
)
from sluice.experiment import catalogue as kernel
from sluice.experiment import jobs, trace_disk, trial
from sluice.experiment import run as runs
from sluice.experiment.check import Checker, size_bytes
from sluice.experiment.load import build_config
from sluice.experiment.locate import Lines
from sluice.experiment.records import Arm, Unchecked
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import DISK, MACHINE, TRACE, TWIN, Run
from sluice.host.nearest import suggest
from sluice.host.paths import NATIVE, PROGRAMS
from sluice.system import devtext, trace
from sluice.system.guest import MOST_DISKS
from sluice.trace import fit as fitting
from sluice.trace import reader as reading
from sluice.trace.common import REQUEST
from sluice.trace.errors import BadTraceFile
from sluice.trace.packed import LONGEST, pack_requests, packed_bytes
from sluice.trace.stream import LeftOut, open_unpacked
from sluice.twin import engine

__all__ = [
    "EVENT",
    "REQUEST",
    "BadReplay",
    "BadTraceFile",
    "Figures",
    "LeftOutWarning",
    "MissCurve",
    "ReplayFailed",
    "Result",
    "RunFailed",
    "Times",
    "drives",
    "fit",
    "miss_curve",
    "policies",
    "read",
    "replay",
    "replay_blocks",
    "requests",
    "tunables",
]

PATH = "sluice.replay"  # where a wrong argument is, for messages
KIB = 1024
BLOCK = 4096  # bytes of a block of the cache
MOST_BUFFERS = 1 << 62  # sizes of a cache are below
BLOCK_KINDS = ("replace", "sched", "prefetch", "write", "update")  # that a replay of blocks asks
ARM = "replay"  # the name of the only arm
RANGES = {  # of a row's numbers: the least, the most, and both in words
    "time_ns": (0, (1 << 62) - 1, "0 to 2^62"),
    "offset": (0, (1 << 62) - 1, "0 to 2^62"),
    "bytes": (1, (1 << 32) - 1, "1 to 2^32 - 1"),
    "write": (0, 1, "0 to 1"),
}
BEFORE = re.compile(rf"^{re.escape(PATH)}:\d+: ", re.M)
OWN_WORDS = {  # of an experiment's file, and of a call
    "fit = ": "way=",
    "a larger drive": "a larger size_mb",
}
LOG = re.compile(r"^(\d+) (\d+) (\d+)$", re.M)
WRITE = np.uint64(trace.WRITE)
EVENT = np.dtype(  # the head says what is in each column
    [
        ("time_ns", "<i8"),
        ("event", "U16"),
        ("disk", "<u2"),
        ("block", "<u8"),
        ("argument", "<u8"),
        ("pid", "<u4"),
        ("write", "?"),
    ]
)
COMMANDS = (
    "ioplay name=trace requests=/dev/disk2 filename=/data/trace part={part_mb}m "
    "loop=%s inflight=%d log=/dev/console"
)


class LeftOutWarning(UserWarning):
    """The warning that read() gives about requests that it left out; its text says how many, and
    why."""


class BadReplay(ValueError):
    """A refused argument; the text names the argument and says which values are allowed."""


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a replay; arrays have an element for each request, in the order of time.

    requests: the requests that were replayed, shape (requests,), dtype REQUEST; start_ns: when each
    was due or, in a closed loop, started, in ns after the first moment, int64; response_ns: its
    response time in ns, int64, or -1 if it failed; began_ns: the first moment, in ns since
    power-on; counters: the growth of each counter of /dev/stat; summary: what the program ioplay
    printed; events: the kernel's trace, shape (events,), dtype EVENT, or None if it was not asked
    for; lost: how many older events the trace had no room for.
    """

    requests: NDArray[np.void]
    start_ns: NDArray[np.int64]
    response_ns: NDArray[np.int64]
    began_ns: int
    counters: dict[str, int]
    summary: dict[str, object]
    events: NDArray[np.void] | None
    lost: int


@dataclass(frozen=True, eq=False)
class MissCurve:
    """The miss ratios of some requests by the cache's size; a notebook shows it as a picture.

    buffers: the sizes in blocks of 4 KiB, int64, shape (sizes,); lru, optimum: the share of the
    uses of blocks that misses, by LRU and by Belady's optimum, float64; blocks: how many different
    ones the requests touch.
    """

    buffers: NDArray[np.int64]
    lru: NDArray[np.float64]
    optimum: NDArray[np.float64]
    blocks: int

    def _repr_svg_(self) -> str:
        """Return the picture, for notebooks."""
        from sluice.sweep.curve_picture import draw_ratios  # what draws takes long to load

        percent = 100 * self.buffers / self.blocks
        return draw_ratios(percent, {"LRU": self.lru, "optimum": self.optimum})


def policies() -> dict[str, list[str]]:
    """Return the names of all policies, by kind."""
    _expect_built()
    return dict(kernel.load_catalogue().policies)


def tunables() -> dict[str, kernel.Tunable]:
    """Return the tunables of all policies by name, as "aipu.age_ms": unit, default, low, high,
    about."""
    _expect_built()
    return dict(kernel.load_catalogue().tunables)


def drives() -> list[str]:
    """Return the names of all drive models."""
    _expect_built()
    return list(kernel.load_catalogue().drives)


def requests(
    time_ns: ArrayLike, offset: ArrayLike, bytes: ArrayLike = 4096, write: ArrayLike = False
) -> NDArray[np.void]:
    """Return a table of requests, in the order of time.

    Each argument has shape (requests,), or is one number for all requests. time_ns: when each
    request comes, in ns after any first moment; offset: where it begins, in bytes; bytes: its
    length, at least 1; write: whether it is a write. Floats may stand for whole numbers. Raises
    BadReplay if numbers are negative, not whole or too large, if lengths differ, or if there are no
    requests.
    """
    given = {"time_ns": time_ns, "offset": offset, "bytes": bytes, "write": write}
    columns = {name: request_column(name, values) for name, values in given.items()}
    try:
        shape = np.broadcast_shapes((1,), *(values.shape for values in columns.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in columns.items())
        raise BadReplay(f"lengths differ: {shapes}") from None
    if not shape[0]:
        raise BadReplay("there are no requests")
    table = np.zeros(shape, REQUEST)
    for name, values in columns.items():
        table[name] = values
    return table[np.argsort(table["time_ns"], kind="stable")]


def read(path: str | Path, format: str = "", count: int | None = None) -> NDArray[np.void]:
    """Return the requests of a trace file, or its first `count` requests (at least 1).

    The table has shape (requests,) and dtype REQUEST. It is in the order of time, and the first
    request is at time 0. format: a module of sluice/trace/formats; if it is empty, the file's
    content decides. Raises BadTraceFile, which gives the line or byte where the file is wrong, and
    BadReplay for a wrong count. Requests that are left out, as those of size 0, are counted in a
    warning, LeftOutWarning.
    """
    count, left_out = count if count is None else checked_int("count", count, 1), LeftOut()
    found = reading.read_requests(Path(path), format, count, left_out=left_out)
    if left_out.counts:
        warnings.warn(f"{path}: left out: {left_out}", LeftOutWarning, stacklevel=2)
    return found


def fit(
    requests: NDArray[np.void],
    room: int,
    scale: float = 1.0,
    join_kb: int = 0,
    split_kb: int = LONGEST // KIB,
    way: str = fitting.REFUSE,
    join_ms: int = fitting.JOIN_MS,
) -> NDArray[np.void]:
    """Return the requests, fitted to a disk of `room` bytes: a new table, shape (requests,), dtype
    REQUEST.

    scale: how many times as fast they come; join_kb: neighbours become one request up to this size,
    if they came within join_ms; split_kb: longer requests become several; way: what to do with
    requests beyond the disk's end: "refuse" them, "pack" the used parts side by side, or "fold"
    them. Raises BadTraceFile if the requests do not fit, and BadReplay for a wrong argument.
    """
    _expect_table(requests)
    _expect_way(way)
    if not isinstance(scale, Real) or not 0 < scale < math.inf:
        raise BadReplay(f"scale={scale}: must be a number above 0")
    join_kb, join_ms, split_kb = (
        checked_int(name, value, TRACE[name].low, TRACE[name].high)
        for name, value in (("join_kb", join_kb), ("join_ms", join_ms), ("split_kb", split_kb))
    )
    wanted = fitting.Fit(scale, join_kb, join_ms, split_kb, way)
    return fitting.fit_requests("requests", requests, wanted, checked_int("room", room, 1))


def replay(
    requests: NDArray[np.void],
    policies: Mapping[str, str] | None = None,
    tunables: Mapping[str, int | str] | None = None,
    drive: str = "cheetah4lp",
    size_mb: int = 1024,
    buffers: int = 4096,
    loop: str = "open",
    inflight: int = 64,
    way: str = fitting.REFUSE,
    events: bool = False,
) -> Result:
    """Replay requests through the cache and the drive. Returns the result.

    requests: shape (requests,), dtype REQUEST; policies: by kind, as {"replace": "arc"}; tunables:
    by name, as {"aipu.age_ms": 5000}; drive: the drive's model; size_mb: how many MiB of it the
    disk has; buffers: how many buffers of 4 KiB the cache has; loop: "open" keeps the requests'
    times, "closed" ignores them; inflight: how many requests are under way at once, at most; way:
    as in fit(); events: whether the result has the kernel's trace, its last 2^18 events.

    What is not given is the kernel's own: the policies sched=clook, replace=lru, write=async,
    update=pu, prefetch=none, place=inplace and order=sync, and each tunable's default. The disk is
    the first 1024 MiB of a cheetah4lp. `sluice replay` has write=delayed, update=aipu and the whole
    drive.

    Raises BadReplay for a wrong argument, and RunFailed if the kernel could not do the replay.
    """
    _expect_built()
    _expect_table(requests)
    _expect_way(way)
    _expect_loop(loop, inflight)
    machine = machine_table(requests, drive, size_mb, buffers)
    arm: Arm = {
        "name": ARM,
        "policies": _expect_dict("policies", policies, {"replace": "arc"}),
        "tunables": _expect_dict("tunables", tunables, {"aipu.age_ms": 5000}),
    }
    run = build_run(requests, machine, arm, way)
    run.config["commands"] %= (loop, inflight)
    with ExitStack() as stack:
        kept = None
        if events:
            kept = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "trace"
            ready = trial.start_resident(run, kept)
            stack.callback(ready.close)
            done = trial.run_trial(ready, run)
        else:
            done = trial.run_to_end(run)
        return build_result(run, done, kept)


def miss_curve(requests: NDArray[np.void], buffers: ArrayLike | None = None) -> MissCurve:
    """Return the miss ratios of requests by the cache's size: LRU's, exact, and the optimum's.

    requests: shape (requests,), dtype REQUEST; buffers: sizes in blocks of 4 KiB, rising, or None
    for up to 24 sizes. Raises BadReplay for a wrong argument.
    """
    _expect_built()
    _expect_table(requests)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requests"
        path.write_bytes(pack_requests(requests))
        blocks = run_curve(path, [1]).blocks
        usual = np.unique(np.geomspace(max(blocks / 1000, 1), blocks, 24).astype(int))
        sizes = usual if buffers is None else _whole_sizes(buffers)
        try:
            lru, optimum = run_curve(path, sizes.tolist()), run_optimum(path, sizes.tolist())
        except CurveFailed as error:
            raise BadReplay(f"buffers: {error}") from None
    return MissCurve(sizes, np.array(lru.miss_ratios()), np.array(optimum.miss_ratios()), blocks)


def _whole_sizes(given: ArrayLike) -> NDArray[np.int64]:
    """Return sizes of a cache, in blocks, checked to be whole numbers. Raises BadReplay."""
    sizes = np.asarray(given).ravel()
    if (
        sizes.dtype.kind not in "uif"
        or not ((sizes > 0) & (sizes < MOST_BUFFERS)).all()
        or (sizes % 1).any()
    ):
        raise BadReplay(f"buffers={given!r}: must be whole numbers above 0, rising, of blocks")
    return sizes.astype(np.int64)


def replay_blocks(
    requests: NDArray[np.void] | str | Path,
    policies: Mapping[str, str] | None = None,
    tunables: Mapping[str, int | str] | None = None,
    drive: str = "cheetah4lp",
    volume_bytes: int | None = None,
    buffers: int = 4096,
    loop: str = "open",
    inflight: int = 64,
    hang: int = HANG,
) -> Figures:
    """Replay requests on the blocks of a disk, without a file system. Returns the figures.

    Decisions and times are those of the kernel, and a hundred times as many requests can be
    replayed as by replay(): memory is that of the cache and does not grow with the requests or with
    the volume, and neither virtual time nor the volume has a limit but 2^62 ns and 2^60 bytes.

    requests: shape (requests,), dtype REQUEST, or the path of a file in the form of
    sluice/trace/packed.py; volume_bytes: the disk's size, in whole blocks of 4 KiB (None: as large
    as the requests need), to which a smaller drive is scaled; hang: how often nothing could run
    without a request's end until the replay counts as hanging; the rest is as in replay().

    Raises BadReplay for a wrong argument, and ReplayFailed with what the replayer said.
    """
    _expect_built()
    if loop not in trace_disk.LOOPS:
        _expect_loop(loop, 1)
    settings = Settings(
        {kind: str(v) for kind, v in _known_policies(policies).items()},
        _known_tunables(tunables),
        _known_drive(drive),
        checked_int("buffers", buffers, MACHINE["nbuf"].low),
        loop == "closed",
        checked_int("inflight", inflight, 1, MOST_INFLIGHT),
        checked_int("hang", hang, 1),
    )
    if isinstance(requests, str | Path):
        size = volume_bytes if volume_bytes is not None else _packed_end(Path(requests))
        return run_replay(Path(requests), _checked_volume(size), settings)
    _expect_table(requests)
    size = volume_bytes if volume_bytes is not None else _whole_blocks(requests)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requests"
        path.write_bytes(pack_requests(requests))
        return run_replay(path, _checked_volume(size), settings)


def _checked_volume(size: object) -> int:
    """Return the size of a disk in bytes, checked to be whole blocks, up to LARGEST. Raises
    BadReplay."""
    found = checked_int("volume_bytes", size, BLOCK, LARGEST)
    if found % BLOCK:
        raise BadReplay(f"volume_bytes={size}: must be whole blocks of {BLOCK} bytes")
    return found


def _whole_blocks(requests: NDArray[np.void]) -> int:
    """Return the size of the disk that has room for requests, in bytes: whole blocks."""
    return -(-fitting.highest_byte(requests) // BLOCK) * BLOCK


def _packed_end(path: Path) -> int:
    """Return the size of the disk that has room for the requests of a file, which is read in
    pieces. Raises BadTraceFile."""
    left_out, end = LeftOut(), 0
    with open_unpacked(path) as stream:
        for piece in reading.known_formats()["sluice"].read(path, stream, left_out):
            end = max(end, _whole_blocks(piece))
    return end


def _known_policies(given: Mapping[str, str] | None) -> dict[str, object]:
    """Return the policies of a call. Raises BadReplay for unknown ones, and for kinds that a replay
    of blocks does not ask."""
    policies = _expect_dict("policies", given, {"replace": "arc"})
    there = {kind: kernel.load_catalogue().policies[kind] for kind in BLOCK_KINDS}
    for kind, name in policies.items():
        if kind not in there:
            raise BadReplay(f'policies: "{kind}": must be one of {", ".join(there)}')
        if name not in there[kind]:
            near = suggest(str(name), there[kind])
            raise BadReplay(f'policies: unknown {kind} policy "{name}"; {near}')
    return policies


def _known_tunables(given: Mapping[str, int | str] | None) -> dict[str, int | str]:
    """Return the tunables of a call. Raises BadReplay for unknown ones, and for values out of
    range."""
    there, found = kernel.load_catalogue().tunables, {}
    for name, value in _expect_dict("tunables", given, {"aipu.age_ms": 5000}).items():
        if name not in there:
            raise BadReplay(f'tunables: unknown tunable "{name}"; {suggest(name, there)}')
        found[name] = checked_int(name, value, there[name].low, there[name].high)
    return dict(found)


def _known_drive(drive: object) -> str:
    """Return a drive's name. Raises BadReplay if there is no such drive."""
    names = kernel.load_catalogue().drives
    if drive not in names:
        raise BadReplay(f'unknown drive "{drive}"; {suggest(str(drive), names)}')
    return str(drive)


def checked_int(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return an argument as Python's int, checked to be a whole number from `low` to `high` (None:
    no upper limit). Raises BadReplay."""
    whole = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if whole is None or whole < low or (high is not None and whole > high):
        there = f" from {low}" if high is None else f", {low} to {high}"
        raise BadReplay(f"{name}={value}: must be a whole number{there}")
    return whole


def request_column(name: str, given: ArrayLike) -> NDArray[np.generic]:
    """Return a column of a table of requests, checked to hold whole numbers in range (floats may).
    Raises BadReplay."""
    _expect_unmasked(name, given)
    try:
        values = np.asarray(given)
    except ValueError:
        raise BadReplay(f"{name}: its parts have different lengths: must be (requests,)") from None
    low, high, words = RANGES[name]
    if values.ndim > 1:
        raise BadReplay(f"{name}: shape {values.shape}: must be (requests,)")
    kinds = "uibf" if name == "write" else "uif"
    if values.dtype.kind not in kinds and values.size:
        raise BadReplay(f"{name}: {values.dtype}: must be whole numbers, {words}")
    if values.dtype.kind == "f" and values.itemsize < 8:  # the limits are beyond a float16
        values = values.astype("<f8")
    with np.errstate(invalid="ignore"):  # of a NaN; below: no float is 2^62 - 1
        wrong = values[~((values >= low) & (values < high + 1) & (values % 1 == 0))]
    if wrong.size:
        raise BadReplay(f"{name}: {wrong[0]}: must be whole numbers, {words}")
    return values


def _expect_unmasked(name: str, given: object) -> None:
    """Raise BadReplay if some values are masked, because a row that lacks a number is no
    request."""
    parts = given if isinstance(given, list | tuple) else ()
    masked = isinstance(given, np.ma.MaskedArray) and np.any(np.ma.getmask(given))
    if masked or any(part is np.ma.masked for part in parts):
        raise BadReplay(f"{name}: values are masked: leave these rows away, as with .compressed()")


def _expect_table(requests: object) -> None:
    """Raise BadReplay unless `requests` is a table of requests, in the order of time."""
    if isinstance(requests, np.ma.MaskedArray):
        raise BadReplay("requests: a masked array: must be a table as sluice.requests() makes")
    if not isinstance(requests, np.ndarray) or requests.dtype != REQUEST:
        raise BadReplay("requests: must be a table as sluice.requests() makes")
    if requests.ndim != 1:
        raise BadReplay(f"requests: shape {requests.shape}: must be (requests,)")
    if not len(requests):
        raise BadReplay("requests: shape (0,): there are no requests")

    def refuse(name: str, wrong: NDArray[np.bool_], why: str) -> None:
        """Raise BadReplay with the first wrong row, if there is one."""
        if wrong.any():
            row = int(np.argmax(wrong))
            raise BadReplay(f"requests: row {row}: {name} is {requests[name][row]}: {why}")

    for name, (low, high, words) in RANGES.items():
        refuse(name, (requests[name] < low) | (requests[name] > high), f"must be {words}")
    times = requests["time_ns"].astype("<i8")
    early = np.diff(times, prepend=times[:1]) < 0
    refuse("time_ns", early, "before that of the row above: must be in the order of time")


def suggest_name(name: object, names: Iterable[str]) -> str:
    """Return the end of a message that suggests the most similar of the names; "" if none is
    similar."""
    said = suggest(str(name), names)
    return f"; {said}" if said.startswith("did") else ""


def _expect_way(way: object) -> None:
    """Raise BadReplay unless this is one of the ways of fit()."""
    if way not in fitting.WAYS:
        near = suggest_name(way, fitting.WAYS)
        raise BadReplay(f'way="{way}": must be "refuse", "pack" or "fold"{near}')


def _expect_built() -> None:
    """Raise BadReplay unless the twin is built and can run on this host."""
    why = engine.host_refusal_reason()
    if why:
        raise BadReplay(f"there is no twin here: {why}")
    tool = NATIVE / "drive_replay_tool"  # it lists the drives
    for path in (engine.TWIN, PROGRAMS / trace_disk.PROGRAM, REPLAYER, tool):
        if not path.exists():
            raise BadReplay(f"{path} is missing: type `make twin` in Sluice's folder")


def _expect_loop(loop: str, inflight: int) -> None:
    """Raise BadReplay for a wrong loop, or a wrong number of requests under way."""
    if loop not in trace_disk.LOOPS:
        raise BadReplay(
            f'loop="{loop}": must be "open" or "closed"{suggest_name(loop, trace_disk.LOOPS)}'
        )
    checked_int("inflight", inflight, 1, trace_disk.INFLIGHT)


def _expect_dict(
    name: str, given: Mapping[str, object] | None, example: dict[str, object]
) -> dict[str, object]:
    """Return an argument that is a dict of names; NumPy's whole numbers become Python's. Raises
    BadReplay."""
    given = {} if given is None else given
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise BadReplay(f"{name}={given}: must be a dict, as {name}={example}")
    return {key: int(v) if isinstance(v, np.integer) else v for key, v in given.items()}


def machine_table(requests: NDArray[np.void], drive: str, size_mb: int, buffers: int) -> Unchecked:
    """Return the machine with this disk and this many buffers, as the table [machine] of an
    experiment's file.

    Its memory is large enough for the requests and the buffers. Raises BadReplay.
    """
    beside = size_bytes(DISK["size"].default) + packed_bytes(len(requests))  # disks that it has
    most_mb = min(MOST_DISKS - beside, kernel.drive_bytes(str(drive)) or MOST_DISKS) >> 20
    free_mb = trace_disk.MOST_MB - trace_disk.memory_mb(len(requests))
    if free_mb < 0 or most_mb < 1:  # no other argument could mend it
        raise BadReplay(
            f"requests: {len(requests)} of them: a machine has memory for {max_requests()} at "
            "most: replay them in parts, as requests[:n]"
        )
    size_mb = checked_int("size_mb", size_mb, 1, most_mb)
    most = trace_disk.BUFFERS + (free_mb << 20) // trace_disk.BUFFER_BYTES
    buffers = checked_int("buffers", buffers, MACHINE["nbuf"].low, most)
    return {
        "cpu_shift": 2,
        "memory": f"{trace_disk.memory_mb(len(requests), buffers)}M",
        "nbuf": buffers,
        "data": {"drive": drive, "size": f"{size_mb}M"},
    }


def max_requests() -> int:
    """Return how many requests fit into a machine's memory next to a small cache."""
    return (trace_disk.MOST_MB - trace_disk.LEAST_MB << 20) // trace_disk.REQUEST_BYTES


def build_run(requests: NDArray[np.void], machine: Unchecked, arm: Arm, way: str) -> Run:
    """Return the run that replays the requests with an arm of an experiment. Raises BadReplay."""
    digest = trace_disk.cache_image(pack_requests(requests))
    raw = {
        "machine": machine,
        "arms": [arm],
        "trace": {"file": str(trace_disk.image_path(digest)), "format": "sluice", "fit": way},
        "workload": {"commands": COMMANDS},
    }
    c = Checker(Path(PATH), Lines(""), kernel.load_catalogue())
    made = build_config(c, raw, 0, {})
    if c.problems:
        raise BadReplay("\n".join(rephrase_problem(problem, digest) for problem in c.problems))
    limit_s = made.pop("host_limit_s")
    made["engine"] = TWIN
    return Run(1, PATH, arm["name"], {}, made, limit_s)


def rephrase_problem(problem: str, digest: str) -> str:
    """Return a problem of an experiment's file, in the words of a call from Python."""
    said = BEFORE.sub("", problem).replace(f"{digest}.requests", "requests")
    for words, own in OWN_WORDS.items():
        said = said.replace(words, own)
    return said


def build_result(run: Run, done: runs.Ended, kept: Path | None) -> Result:
    """Return the result of a replay that has ended. Raises RunFailed."""
    why = runs.failure_reason(run, done)
    if why:
        raise RunFailed(runs.describe_failure(why, done))
    shown = runs.split_readings(done.console)
    stat0, stat1 = (devtext.parse_stat(shown[name]) for name in ("stat0", "stat1"))
    (summary,) = jobs.parse_job_lines(shown["said"])
    number, started_ns, took_ns = np.array(LOG.findall(shown["said"]), "<i8").reshape(-1, 3).T
    table = reading.read_requests(trace_disk.image_path(run.config["trace"]["requests"]), "sluice")
    start, response = np.full((2, len(table)), -1, "<i8")
    start[number], response[number] = started_ns, took_ns
    lost, events = read_events(kept, stat1["trace.phys"][0]) if kept else (0, None)
    counters = devtext.counter_growth(stat0, stat1)
    began = summary["start_ns"]
    return Result(table, start, response, began, counters, dict(summary), events, lost)


def read_events(kept: Path, phys: int) -> tuple[int, NDArray[np.void]]:
    """Return how many older events a trace file has lost, and the events that it has."""
    lost, data = trace.read_ring(kept, phys)
    found = trace.Events(data).records()
    events = np.zeros(len(found), EVENT)
    for name in ("time_ns", "block", "pid", "disk"):
        events[name] = found[name]
    events["event"] = np.array(trace.event_names())[found["number"]]
    events["argument"], events["write"] = found["argument"] & ~WRITE, found["argument"] >= WRITE
    return lost, events
