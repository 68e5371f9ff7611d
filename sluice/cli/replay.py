"""`make trace`: replay a trace of a real disk under many policies, by the twin.

FILE= is a trace of any format that sluice/trace/formats has; FORMAT= names it if the file does not
tell. POLICIES= are the policies to try, each with each, as 'replace=lru|arc, sched=clook|sluice'.
Without it every policy is tried in the place of the usual one of its kind. CACHE= are sizes of the
cache, in percent of the blocks that the trace reads; without it the cache has 4,096 buffers. DRIVE=
is the drive, and FIT= what happens if the trace reaches beyond it. COUNT= takes the first requests
only, SCALE= makes them come faster, and LOOP=closed leaves their times out. At most INFLIGHT= are
under way at once. If the format has no times, the loop is closed, and one request comes when the
one before is done.

It writes an experiment in build/traces, and makes a sweep of it (sluice/sweep): so what was
measured is not measured again, and the results are a table in Parquet and a page with the Pareto
front of METRICS=. In a copy of the experiment, join_kb joins neighbours that came within join_ms,
and split_kb splits long requests.
"""

import argparse
import json
import math
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import Template
from types import ModuleType

from sluice.cli import sweep as sweeps
from sluice.experiment import catalogue as kernel
from sluice.experiment import commandline, trace_disk
from sluice.experiment.aligned import aligned
from sluice.experiment.catalogue import known
from sluice.experiment.files import hash_of, write_whole
from sluice.experiment.summary import number
from sluice.host.interrupt import stoppable
from sluice.host.paths import BUILD, ROOT
from sluice.sweep import full_sweep
from sluice.sweep.full_sweep import Measured, Sweep
from sluice.sweep.journal import FOLDER
from sluice.sweep.ranges import BadSweep, expect_one_of
from sluice.sweep.sizes import buffers
from sluice.system.guest import MOST_DISKS, PAGE
from sluice.trace import reader
from sluice.trace.errors import BadTraceFile
from sluice.trace.fit import REFUSE, WAYS, Fit
from sluice.trace.stream import NUMBER

TEMPLATE = ROOT / "sluice" / "trace" / "experiment.toml"
EXPERIMENTS = BUILD / "traces"
USUAL = "usual"  # the first arm
BASE = {"write": "delayed", "update": "aipu"}  # its policies, where the kernel's own are others
PLACE = "place"  # the kind of policies that need a disk with a virtual log, which a trace has not
# Endings of traces' files: how they are packed, and how their formats are usually called.
ENDINGS = (
    *(".gz", ".bz2", ".xz", ".zst", ".csv", ".txt", ".trace", ".bin", ".spc", ".requests"),
    *(".blkparse", ".vscsitrace", ".oracleGeneral"),
)
PATH_DIGITS = 6
DRIVE = "cheetah4lp"
METRICS = "trace.mean_ms, trace.p99_ms"
LOOPS = trace_disk.LOOPS
INFLIGHT = {"open": 64, "closed": 64, "": 1}  # requests at once; with "" the trace has no times
OTHERS = 64 << 20  # of all disks' bytes: the root disk and the requests
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


def drive_bytes(name: str) -> int:
    """How large a disk with this drive is made: as the drive, as far as there is room in memory.
    Raises BadSweep if there is no such drive, or it has no size."""
    expect_one_of("drive", name, known().drives)
    return min(kernel.drive_bytes(name) or 1 << 40, MOST_DISKS - OTHERS) // PAGE * PAGE


def arms() -> dict[str, dict[str, str]]:
    """The policies of each arm: the usual ones, then each other policy in its kind's place."""
    rows, usual = {USUAL: {}}, known().defaults | BASE
    for kind, names in known().policies.items():
        others = [name for name in names if name != usual[kind] and kind != PLACE]
        rows |= {f"{kind}={name}": {kind: name} for name in others}
    return rows


def lines_of(policies: dict[str, str]) -> list[str]:
    """Policies as a file has them."""
    return [f"{kind} = {json.dumps(name)}" for kind, name in policies.items()]


def arms_text() -> str:
    """The arms as the file has them."""
    return "\n".join(
        f"[[arms]]\nname = {json.dumps(name)}\npolicies = {{{', '.join(lines_of(policies))}}}\n"
        for name, policies in arms().items()
    )


def most_buffers(choice: argparse.Namespace, path: Path) -> int:
    """The largest cache that CACHE= or POLICIES= ask for, or 0. Raises BadSweep."""
    named = re.findall(rf"\b{NBUF}\s*=([^,:]*)", choice.policies)
    sizes = [int(word) for text in named for word in re.findall(r"\d+", text)]
    if choice.cache:
        sizes += buffers(path, choice.format, choice.count, choice.cache)
    return max(sizes, default=0)


def memory_mb(choice: argparse.Namespace, path: Path, size: str) -> int:
    """The machine's memory for the requests, which are read here once for all runs, and for the
    caches that are asked for. Raises BadTraceFile if they do not fit the disk, and BadSweep if they
    do not fit a memory."""
    fit = Fit(float(choice.scale), way=choice.fit)
    requests = trace_disk.told(path, choice.format, choice.count, fit, {"size": size})["count"]
    least, most = trace_disk.memory_mb(requests), trace_disk.MOST_MB
    if least > most:
        raise BadSweep(
            f"{path.name}: {requests} requests need {least} MiB of memory, and a machine has up "
            f"to {most}: give COUNT= to take fewer"
        )
    size_of_cache = most_buffers(choice, path)
    memory = trace_disk.memory_mb(requests, size_of_cache)
    if memory > most:
        raise BadSweep(
            f"{'CACHE' if choice.cache else 'POLICIES'}: a cache of {size_of_cache} buffers and "
            f"{requests} requests need {memory} MiB of memory, and a machine has up to {most}: "
            "give a smaller cache, or COUNT= to take fewer requests"
        )
    return memory


def experiment_text(choice: argparse.Namespace, path: Path) -> str:
    """The experiment's file. Raises BadTraceFile and BadSweep."""
    size = f"{drive_bytes(choice.drive) >> 20}M"
    words = {
        "claim": f"{path.name} under many policies",
        "source": f"{path}",
        "memory": f"{memory_mb(choice, path, size)}M",
        "drive": choice.drive,
        "size": size,
        "file": str(path),
        "format": choice.format,
        "fit": choice.fit,
        "loop": choice.loop,
        "inflight": choice.inflight,
    }
    texts = {name: json.dumps(word) for name, word in words.items()}
    texts["count"] = f"count = {choice.count}" if choice.count else "# count = all"
    texts |= {"policies": "\n".join(lines_of(BASE)), "arms": arms_text(), "scale": choice.scale}
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(texts)


def plain(path: Path) -> str:
    """A trace's name without its known endings, and without what a file's name should not have."""
    name = path.name
    while ending := next((e for e in ENDINGS if name.endswith(e)), ""):
        name = name.removesuffix(ending)
    return re.sub(r"[^\w.-]+", "-", name) or "trace"


def own_name(path: Path) -> str:
    """The plain name, and what tells the trace from those of this name in other folders, or with
    other endings: the first digits of its path's hash."""
    return f"{plain(path)}-{hash_of(str(path))[:PATH_DIGITS]}"


def name_of(choice: argparse.Namespace, path: Path) -> str:
    """The experiment's name: the trace's, and what else was given, so that other replays of the
    trace stay beside this one."""
    words = [own_name(path), choice.drive]
    words += [str(choice.count)] if choice.count else []
    words += [f"x{choice.scale}"] if float(choice.scale) != 1 else []
    words += [word for word in (choice.fit, choice.loop) if word not in (REFUSE, LOOPS[0])]
    words += [f"at-{choice.inflight}"] if choice.inflight != INFLIGHT["open"] else []
    return "-".join(words)


def settle_times(choice: argparse.Namespace, module: ModuleType) -> None:
    """Settle LOOP= and INFLIGHT= where they were not given. Raises BadSweep if the trace has no
    times for the loop."""
    timeless = getattr(module, "TIMELESS", False)
    if timeless and choice.loop == "open":
        raise BadSweep("LOOP=open: a trace of this format has no times")
    if choice.inflight is None:
        choice.inflight = INFLIGHT["" if timeless and not choice.loop else choice.loop or "open"]
    if not 1 <= choice.inflight <= trace_disk.INFLIGHT:
        raise BadSweep(f"INFLIGHT={choice.inflight}: must be 1 to {trace_disk.INFLIGHT}")
    choice.loop = choice.loop or LOOPS[timeless]


def expect_count(count: int | None) -> None:
    """Raise BadSweep if COUNT= was given and takes no request."""
    if count is not None and count < 1:
        raise BadSweep(f"COUNT={count}: must be 1 or more")


def path_of(choice: argparse.Namespace) -> Path:
    """The trace's file."""
    return Path(choice.file).expanduser().resolve()


def write_experiment(choice: argparse.Namespace) -> Path:
    """Write the experiment's file. Returns its path. Raises BadTraceFile and BadSweep."""
    if not choice.file:
        raise BadSweep("\n".join(["FILE: give a trace, of one of these formats:", *reader.lines()]))
    path = path_of(choice)
    expect_one_of("FIT=", choice.fit, list(WAYS))
    if choice.loop:
        expect_one_of("LOOP=", choice.loop, list(LOOPS))
    if not NUMBER.fullmatch(choice.scale) or not 0 < float(choice.scale) < math.inf:
        raise BadSweep(f"SCALE={choice.scale}: must be a number above 0, as 2, 0.5 or 1e-3")
    choice.scale = repr(float(choice.scale)).removesuffix(".0")
    expect_count(choice.count)
    drive_bytes(choice.drive)
    if not path.exists():
        raise BadTraceFile(f"FILE={choice.file}: there is no such file")
    settle_times(choice, reader.format_named(path, choice.format))  # before anything is written
    text = experiment_text(choice, path)
    EXPERIMENTS.mkdir(parents=True, exist_ok=True)
    target = EXPERIMENTS / f"{name_of(choice, path)}.toml"
    write_whole(target, text)
    return target


def expect_no_place(text: str, name: str = "POLICIES") -> None:
    """Raise BadSweep if policies that are to be tried are place policies."""
    if re.search(rf"\b{PLACE}\s*=", text):
        raise BadSweep(
            f"{name}: {PLACE}: does nothing here, because a trace is replayed on a disk without a "
            "virtual log"
        )


def over(choice: argparse.Namespace) -> str:
    """What the sweep goes over. Raises BadSweep."""
    expect_no_place(choice.policies)
    items = [f"arm={USUAL}", choice.policies] if choice.policies else [f"arm={'|'.join(arms())}"]
    if choice.cache:
        sizes = buffers(path_of(choice), choice.format, choice.count, choice.cache)
        items.append(f"{NBUF}={'|'.join(map(str, sizes))}")
    return ", ".join(items)


def shown_value(point: Measured, metric: str) -> str:
    """A figure, for the table."""
    value = point.figures[metric]
    return f"{100 * (1 - value):.1f}" if HEADS[metric] == HITS else number(value) if value else "0"


def table(sweep: Sweep, points: list[Measured]) -> list[str]:
    """All points, those first that are best in the first objective."""
    names = [axis.name for axis in sweep.axes if len(axis.grid()) > 1] or [sweep.axes[0].name]
    rows = [[*names, *HEADS.values()]]
    for point in sorted(points, key=lambda p: (p.costs(sweep.objectives), p.number)):
        rows.append([str(point.point[n]) for n in names] + [shown_value(point, m) for m in HEADS])
    return aligned(rows, keys=len(names))


def waits(points: list[Measured], loop: str, inflight: int) -> list[str]:
    """What to know of requests that had to wait for a process."""
    late = max(point.figures[LATE] for point in points)
    if loop != "open" or late < 1:
        return []
    return [
        f"Up to {number(late)} ms of a response time is the wait for one of the {inflight} "
        "requests in flight to end: at times the trace comes faster than the drive serves it."
    ]


def below_0(points: list[Measured]) -> list[str]:
    """What to know of hits that are negative."""
    return [BELOW_0] if any(point.figures[HIT_BLOCKS] > 1 for point in points) else []


def left_dirty(points: list[Measured]) -> list[str]:
    """What to know of writes that a run has not made. The file system's own do not matter."""
    most = max(point.figures[DIRTY] for point in points)
    if most < 1 or not points[0].figures[WROTE]:
        return []
    return [
        f"Up to {number(most)} blocks were still dirty at the end: their writes are not counted, "
        "so a policy that writes late looks better than it is. A longer trace makes this less."
    ]


def unused(points: list[Measured], usual: int) -> list[str]:
    """What to know of caches, of `usual` buffers unless a point says how many, that have room for
    all blocks."""
    gone: dict[int, float] = {}  # the fewest that a policy had to take out, by the size
    for point in points:
        size, of = point.point.get(NBUF, usual), point.figures
        taken = of[EVICTIONS] + of[DIRTY_VICTIMS]
        gone[size] = min(gone.get(size, taken), taken)
    sizes = " or ".join(number(size) for size, taken in gone.items() if not taken)
    if not sizes:
        return []
    return [
        f"With {sizes} buffers no block had to give way, so replacement policies cannot differ: "
        "give a smaller cache, as CACHE=25, in percent of the blocks that the trace reads."
    ]


def usual_buffers(sweep: Sweep) -> int:
    """How many buffers the experiment has unless the sweep says."""
    return sweep.maker.of.raw["machine"][NBUF]


def in_use(sweep: Sweep) -> str:
    """Which policies are the usual ones, and how large the cache is if the table does not say."""
    policies = known().defaults | sweep.maker.of.raw["policies"]
    told = [f"{kind}={name}" for kind, name in policies.items() if kind != PLACE]
    axis = next((axis for axis in sweep.axes if axis.name == NBUF), None)
    sizes = axis.grid() if axis else [usual_buffers(sweep)]
    if len(sizes) == 1:
        told.append(f"and a cache of {number(sizes[0])} buffers of 4 KiB")
    return f"Usual, where no other is named: {', '.join(told)}."


def in_words(error: object, given: str = "POLICIES", path: Path | None = None) -> str:
    """What was wrong, as it is typed here: the experiment's file is our own, and so is OVER=, of
    which `given` is a part. path: of the trace, which is text and stays as it is."""
    said = re.sub(r"^\S+\.toml:\d+: ", "", str(error), flags=re.M)
    said = re.sub(r"^OVER: ", lambda _: f"{given}: ", said)
    own = [re.escape(text) for text in (str(path), path.name)] if path else [r"(?!)"]
    parts = re.split(f"({'|'.join(own)})", said)
    parts[::2] = [
        part.replace("fit = ", "FIT=").replace(" scale = ", " SCALE=") for part in parts[::2]
    ]
    return "".join(parts)


def do(choice: argparse.Namespace) -> bool:
    """Replay the trace, and show what came of it. Returns true if all runs were made."""
    path = write_experiment(choice)
    choice.name, choice.over = str(path), over(choice)
    choice.size, choice.how, choice.points = "full", "grid", None
    sweep = full_sweep.asked(choice.name, choice.over, want=choice.metrics)
    sweep = replace(sweep, columns=list(dict.fromkeys([*sweep.columns, *KEPT])))
    print(f"experiment: {path}")

    def remarks(points: list[Measured]) -> list[str]:
        return [
            in_use(sweep),
            *unused(points, usual_buffers(sweep)),
            *below_0(points),
            *left_dirty(points),
            *waits(points, choice.loop, choice.inflight),
        ]

    return sweeps.done(sweep, choice, lambda points: table(sweep, points), remarks)


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make trace", description=__doc__)
    options.add_argument("--file", default="", help="a trace")
    options.add_argument("--format", default="", help="its format")
    options.add_argument("--policies", default="", help="policies to try, each with each")
    options.add_argument("--cache", default="", help="percent of the blocks that the trace reads")
    options.add_argument("--drive", default=DRIVE, help="the drive")
    options.add_argument("--scale", default="1", help="how many times as fast it comes")
    options.add_argument("--count", type=int, help="requests, from the first on")
    options.add_argument("--fit", default=REFUSE, help=f"if it is too large: {', '.join(WAYS)}")
    options.add_argument("--loop", default="", help="open, or closed: without its times")
    options.add_argument("--inflight", type=int, help="requests under way at once, at most")
    commandline.add_metrics(options, METRICS)
    commandline.add_workers(options)
    commandline.add_folder(options, FOLDER)
    choice = options.parse_args()
    said = partial(in_words, path=path_of(choice) if choice.file else None)
    return commandline.status(lambda: do(choice), (BadTraceFile, BadSweep), said)


if __name__ == "__main__":
    sys.exit(stoppable(main, "all runs so far are kept; the same command goes on from there"))
