"""`sluice replay`: replay a trace of a real disk under many policies, by the twin.

TRACE is a file of any format that sluice/trace/formats has; --format names the format if the file's
name and contents do not determine it. --policies are the policies to try in all combinations, as
'replace=lru|arc, sched=clook|sluice'. Without --policies, every policy is tried in the place of the
usual policy of its kind. --cache are sizes of the cache, in percent of the blocks that the trace
reads; without it the cache has 4,096 buffers. --drive is the drive, and --fit what happens if the
trace reaches beyond it. --count takes only the first requests, --scale makes them arrive faster,
and --loop=closed ignores their times. At most --inflight requests are in progress at once. If the
format has no times, the loop is closed, and each request begins when the request before it is done.

The command writes an experiment into build/traces and makes a sweep of it (sluice/sweep). So runs
are not made twice, and the results are a table in Parquet and a page with the Pareto front of
--metrics. In a copy of the experiment, join_kb joins neighbours that came within join_ms, and
split_kb splits long requests.
"""

import json
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template

from sluice.experiment import catalogue as kernel
from sluice.experiment import trace_disk
from sluice.experiment.aligned import format_table
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.files import hash_value, write_atomically
from sluice.experiment.summary import format_number
from sluice.host.paths import BUILD, ROOT
from sluice.sweep import full_sweep
from sluice.sweep import request as sweeps
from sluice.sweep.full_sweep import Measured, Sweep
from sluice.sweep.journal import FOLDER
from sluice.sweep.ranges import BadSweep, expect_known
from sluice.sweep.sizes import buffer_counts
from sluice.system.guest import MOST_DISKS, PAGE
from sluice.trace import reader
from sluice.trace.bound import Format
from sluice.trace.errors import BadTraceFile
from sluice.trace.fit import REFUSE, WAYS, Fit
from sluice.trace.stream import NUMBER

TEMPLATE = ROOT / "sluice" / "trace" / "experiment.toml"
EXPERIMENTS = BUILD / "traces"
USUAL = "usual"  # the first arm
BASE = {"write": "delayed", "update": "aipu"}  # of that arm, in place of the kernel's defaults
# Kinds of policies that change nothing in a replay, and why.
IDLE_KINDS = {
    "place": "a trace is replayed on a disk without a virtual log",
    "order": "a trace writes a file that is there, and no metadata",
}
# Endings of traces' files, of packing programs and of formats.
ENDINGS = (
    *(".gz", ".bz2", ".xz", ".zst", ".csv", ".txt", ".trace", ".bin", ".spc", ".requests"),
    *(".blkparse", ".vscsitrace", ".oracleGeneral"),
)
PATH_DIGITS = 6
DRIVE = "cheetah4lp"
METRICS = "trace.mean_ms, trace.p99_ms"
LOOPS = trace_disk.LOOPS
INFLIGHT = {
    "open": 64,
    "closed": 64,
    "": 1,
}  # requests at once, by --loop; "": a trace without times
OTHERS = 64 << 20  # bytes of the disks except the measured disk: programs and requests
READS = "hist.disk1.read_response.count"
HEADS = {
    "trace.mean_ms": "mean, ms",
    "trace.std_ms": "deviation",
    "trace.p99_ms": "99 %",
    "trace.max_ms": "longest",
    f"{READS} / job.trace.read_blocks": "hits, %",
    READS: "disk reads",
    "hist.disk1.write_response.count": "disk writes",
}
HITS = "hits, %"
HIT_BLOCKS = next(metric for metric, head in HEADS.items() if head == HITS)
BELOW_0 = (
    "Hits are below 0 where more blocks had to be read than were asked for: the file system's own, "
    "pointers and inodes, and blocks that were read ahead in vain count against the hits."
)
LATE = "job.trace.late_ms"
NBUF = "nbuf"
EVICTIONS, DIRTY_VICTIMS = "stat.bio.evictions", "stat.bio.dirty_victims"
DIRTY, WROTE = "stat.bio.dirty", "job.trace.write_blocks"
KEPT = (EVICTIONS, DIRTY_VICTIMS, DIRTY, WROTE)


@dataclass(frozen=True)
class ReplayRequest:
    """The options of a command.

    loop, inflight: "" and None if they were not given. folder: where the results go.
    """

    trace: Path
    format: str = ""
    policies: str = ""
    cache: str = ""
    drive: str = DRIVE
    scale: str = "1"
    count: int | None = None
    fit: str = REFUSE
    loop: str = ""
    inflight: int | None = None
    metrics: str = METRICS
    jobs: int = 1
    scheduler: str = ""
    folder: Path = FOLDER


def drive_bytes(name: str) -> int:
    """Return the size in bytes of a disk with this drive: the drive's size, or less if memory is
    too small. Raises BadSweep if there is no such drive, or it has no size."""
    expect_known("drive", name, load_catalogue().drives)
    return min(kernel.drive_bytes(name) or 1 << 40, MOST_DISKS - OTHERS) // PAGE * PAGE


def replay_arms() -> dict[str, dict[str, str]]:
    """Return the policies of each arm: the usual ones, then each other policy in its kind's
    place."""
    rows: dict[str, dict[str, str]] = {USUAL: {}}
    usual = load_catalogue().defaults | BASE
    for kind, names in load_catalogue().policies.items():
        others = [name for name in names if name != usual[kind] and kind not in IDLE_KINDS]
        rows |= {f"{kind}={name}": {kind: name} for name in others}
    return rows


def policy_lines(policies: dict[str, str]) -> list[str]:
    """Return policies in the form of an experiment's file, a line for each."""
    return [f"{kind} = {json.dumps(name)}" for kind, name in policies.items()]


def arms_text() -> str:
    """Return the arms as the file has them."""
    return "\n".join(
        f"[[arms]]\nname = {json.dumps(name)}\npolicies = {{{', '.join(policy_lines(policies))}}}\n"
        for name, policies in replay_arms().items()
    )


def most_buffers(request: ReplayRequest, path: Path) -> int:
    """Return the largest cache that --cache or --policies ask for, or 0. Raises BadSweep."""
    named = re.findall(rf"\b{NBUF}\s*=([^,:]*)", request.policies)
    sizes = [int(word) for text in named for word in re.findall(r"\d+", text)]
    if request.cache:
        sizes += buffer_counts(path, request.format, request.count, request.cache)
    return max(sizes, default=0)


def memory_mb(request: ReplayRequest, path: Path, size: str) -> int:
    """Return the machine's memory for the requests, which are read here once for all runs, and for
    the caches that are asked for. Raises BadTraceFile if they do not fit the disk, and BadSweep if
    they do not fit a memory."""
    fit = Fit(float(request.scale), way=request.fit)
    requests = trace_disk.trace_config(path, request.format, request.count, fit, {"size": size})[
        "count"
    ]
    least, most = trace_disk.memory_mb(requests), trace_disk.MOST_MB
    if least > most:
        raise BadSweep(
            f"{path.name}: {requests} requests need {least} MiB of memory, and a machine has up "
            f"to {most}: give --count to take fewer"
        )
    size_of_cache = most_buffers(request, path)
    memory = trace_disk.memory_mb(requests, size_of_cache)
    if memory > most:
        raise BadSweep(
            f"{'--cache' if request.cache else '--policies'}: a cache of {size_of_cache} buffers "
            f"and {requests} requests need {memory} MiB of memory, and a machine has up to {most}: "
            "give a smaller cache, or --count to take fewer requests"
        )
    return memory


def experiment_text(request: ReplayRequest, path: Path) -> str:
    """Return the experiment's file. Raises BadTraceFile and BadSweep."""
    size = f"{drive_bytes(request.drive) >> 20}M"
    words = {
        "claim": f"{path.name} under many policies",
        "source": f"{path}",
        "memory": f"{memory_mb(request, path, size)}M",
        "drive": request.drive,
        "size": size,
        "file": str(path),
        "format": request.format,
        "fit": request.fit,
        "loop": request.loop,
        "inflight": request.inflight,
    }
    texts = {name: json.dumps(word) for name, word in words.items()}
    texts["count"] = f"count = {request.count}" if request.count else "# count = all"
    texts |= {"policies": "\n".join(policy_lines(BASE)), "arms": arms_text()}
    texts["scale"] = request.scale
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(texts)


def plain_name(path: Path) -> str:
    """Return a trace's name without its known endings, and without characters that a file's name
    should not have."""
    name = path.name
    while ending := next((e for e in ENDINGS if name.endswith(e)), ""):
        name = name.removesuffix(ending)
    return re.sub(r"[^\w.-]+", "-", name) or "trace"


def own_name(path: Path) -> str:
    """Return the plain name and the first digits of the path's hash, which distinguish the trace
    from traces of this name in other folders or with other endings."""
    return f"{plain_name(path)}-{hash_value(str(path))[:PATH_DIGITS]}"


def name_of(request: ReplayRequest, path: Path) -> str:
    """Return the experiment's name: the trace's name and the other options, so that other replays
    of the trace do not overwrite this experiment."""
    words = [own_name(path), request.drive]
    words += [str(request.count)] if request.count else []
    words += [f"x{request.scale}"] if float(request.scale) != 1 else []
    words += [word for word in (request.fit, request.loop) if word not in (REFUSE, LOOPS[0])]
    words += [f"at-{request.inflight}"] if request.inflight != INFLIGHT["open"] else []
    return "-".join(words)


def settle_times(request: ReplayRequest, module: Format) -> ReplayRequest:
    """Return the request with --loop and --inflight where they were not given. Raises BadSweep if
    the trace has no times for the loop."""
    timeless = getattr(module, "TIMELESS", False)
    if timeless and request.loop == "open":
        raise BadSweep("--loop=open: a trace of this format has no times")
    inflight = request.inflight
    if inflight is None:
        inflight = INFLIGHT["" if timeless and not request.loop else request.loop or "open"]
    if not 1 <= inflight <= trace_disk.INFLIGHT:
        raise BadSweep(f"--inflight={inflight}: must be 1 to {trace_disk.INFLIGHT}")
    return replace(request, inflight=inflight, loop=request.loop or LOOPS[timeless])


def expect_count(count: int | None) -> None:
    """Raise BadSweep if --count was given and takes no request."""
    if count is not None and count < 1:
        raise BadSweep(f"--count={count}: must be 1 or more")


def path_of(request: ReplayRequest) -> Path:
    """Return the trace's file."""
    return request.trace.expanduser().resolve()


def settle(request: ReplayRequest) -> ReplayRequest:
    """Return the request with defaults for options that were not given, and with its scale written
    as a plain number: 0.001 for 1e-3.

    Raises BadTraceFile and BadSweep for impossible options.
    """
    path = path_of(request)
    expect_known("--fit", request.fit, list(WAYS))
    if request.loop:
        expect_known("--loop", request.loop, list(LOOPS))
    if not NUMBER.fullmatch(request.scale) or not 0 < float(request.scale) < math.inf:
        raise BadSweep(f"--scale={request.scale}: must be a number above 0, as 2, 0.5 or 1e-3")
    expect_count(request.count)
    drive_bytes(request.drive)  # raises if there is no such drive
    if not path.exists():
        raise BadTraceFile(f"{request.trace}: there is no such file")
    scale = repr(float(request.scale)).removesuffix(".0")
    return settle_times(replace(request, scale=scale), reader.find_format(path, request.format))


def write_experiment(request: ReplayRequest) -> Path:
    """Write the experiment's file. Returns its path. Raises BadTraceFile and BadSweep."""
    request = settle(request)
    path = path_of(request)
    text = experiment_text(request, path)
    EXPERIMENTS.mkdir(parents=True, exist_ok=True)
    target = EXPERIMENTS / f"{name_of(request, path)}.toml"
    write_atomically(target, text)
    return target


def expect_no_idle_kind(text: str, name: str = "--policies") -> None:
    """Raise BadSweep if a policy to try is of a kind that does nothing in a replay."""
    for kind, why in IDLE_KINDS.items():
        if re.search(rf"\b{kind}\s*=", text):
            raise BadSweep(f"{name}: {kind}: does nothing here, because {why}")


def sweep_axes_text(request: ReplayRequest) -> str:
    """Return the axes of the sweep, in the form of --over. Raises BadSweep."""
    expect_no_idle_kind(request.policies)
    arm = USUAL if request.policies else "|".join(replay_arms())
    items = [f"arm={arm}", *filter(None, [request.policies])]
    if request.cache:
        sizes = buffer_counts(path_of(request), request.format, request.count, request.cache)
        items.append(f"{NBUF}={'|'.join(map(str, sizes))}")
    return ", ".join(items)


def shown_value(point: Measured, metric: str) -> str:
    """Return a figure, for the table."""
    value = point.figures[metric]
    return (
        f"{100 * (1 - value):.1f}"
        if HEADS[metric] == HITS
        else format_number(value)
        if value
        else "0"
    )


def points_table(sweep: Sweep, points: list[Measured]) -> list[str]:
    """Return the lines of a table with all points, the best in the first objective first."""
    names = [axis.name for axis in sweep.axes if len(axis.grid()) > 1] or [sweep.axes[0].name]
    rows = [[*names, *HEADS.values()]]
    for point in sorted(points, key=lambda p: (p.costs(sweep.objectives), p.number)):
        rows.append([str(point.point[n]) for n in names] + [shown_value(point, m) for m in HEADS])
    return format_table(rows, keys=len(names))


def late_requests_note(points: list[Measured], loop: str, inflight: int | None) -> list[str]:
    """Return the note about requests that had to wait for a process."""
    late = max(point.figures[LATE] for point in points)
    if loop != "open" or late < 1:
        return []
    return [
        f"Up to {format_number(late)} ms of a response time is the wait for one of the {inflight} "
        "requests in flight to end: at times the trace comes faster than the drive serves it."
    ]


def negative_hits_note(points: list[Measured]) -> list[str]:
    """Return the note about hits that are negative."""
    return [BELOW_0] if any(point.figures[HIT_BLOCKS] > 1 for point in points) else []


def dirty_blocks_note(points: list[Measured]) -> list[str]:
    """Return the note about blocks that were still dirty at the end of a run.

    The file system's own blocks do not count.
    """
    most = max(point.figures[DIRTY] for point in points)
    if most < 1 or not points[0].figures[WROTE]:
        return []
    return [
        f"Up to {format_number(most)} blocks were still dirty at the end: their writes are not "
        "counted, so a policy that writes late looks better than it is. A longer trace makes "
        "this less."
    ]


def roomy_caches_note(points: list[Measured], usual: int) -> list[str]:
    """Return the note about caches that are large enough for all blocks.

    usual: the buffers of a point that does not name their number.
    """
    gone: dict[int, float] = {}  # the fewest evictions under any policy, by the size
    for point in points:
        size, of = int(point.point.get(NBUF, usual)), point.figures
        taken = of[EVICTIONS] + of[DIRTY_VICTIMS]
        gone[size] = min(gone.get(size, taken), taken)
    sizes = " or ".join(format_number(size) for size, taken in gone.items() if not taken)
    if not sizes:
        return []
    return [
        f"With {sizes} buffers no block was evicted, so replacement policies cannot differ: "
        "give a smaller cache, as --cache=25, in percent of the blocks that the trace reads."
    ]


def usual_buffers(sweep: Sweep) -> int:
    """Return how many buffers the experiment has if they are no axis of the sweep."""
    buffers: int = sweep.maker.opened.raw["machine"][NBUF]
    return buffers


def usual_settings_note(sweep: Sweep) -> str:
    """Return a sentence that names the usual policies, and the size of the cache if the table does
    not say it."""
    policies = load_catalogue().defaults | sweep.maker.opened.raw["policies"]
    told = [f"{kind}={name}" for kind, name in policies.items() if kind not in IDLE_KINDS]
    axis = next((axis for axis in sweep.axes if axis.name == NBUF), None)
    sizes = [int(size) for size in axis.grid()] if axis else [usual_buffers(sweep)]
    if len(sizes) == 1:
        told.append(f"and a cache of {format_number(sizes[0])} buffers of 4 KiB")
    return f"Usual, if a row names no other: {', '.join(told)}."


def describe_error(error: object, given: str = "--policies", path: Path | None = None) -> str:
    """Return the text of an error, with options as a user types them, because the user wrote
    neither the experiment's file nor --over. given: the option that is part of --over. path: the
    trace's path, which is left as it is."""
    said = re.sub(r"^\S+\.toml:\d+: ", "", str(error), flags=re.M)
    said = re.sub(r"^--over: ", lambda _: f"{given}: ", said)
    own = [re.escape(text) for text in (str(path), path.name)] if path else [r"(?!)"]
    parts = re.split(f"({'|'.join(own)})", said)
    parts[::2] = [
        part.replace("fit = ", "--fit=").replace(" scale = ", " --scale=") for part in parts[::2]
    ]
    return "".join(parts)


def execute(request: ReplayRequest) -> bool:
    """Replay the trace, and show the figures. Returns true if all runs were made."""
    request = settle(request)
    path = write_experiment(request)
    over = sweep_axes_text(request)
    sweep = full_sweep.parse_sweep(str(path), over, want=request.metrics)
    sweep = replace(sweep, columns=list(dict.fromkeys([*sweep.columns, *KEPT])))
    print(f"experiment: {path}")

    def remarks(points: list[Measured]) -> list[str]:
        """Return the notes below the table of these points."""
        return [
            usual_settings_note(sweep),
            *roomy_caches_note(points, usual_buffers(sweep)),
            *negative_hits_note(points),
            *dirty_blocks_note(points),
            *late_requests_note(points, request.loop, request.inflight),
        ]

    as_sweep = sweeps.SweepRequest(
        str(path), over, metrics=request.metrics, jobs=request.jobs, scheduler=request.scheduler,
        folder=request.folder,
    )  # fmt: skip
    return sweeps.make_sweep(sweep, as_sweep, lambda points: points_table(sweep, points), remarks)
