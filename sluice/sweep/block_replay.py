"""`sluice replay`: replay a trace under many policies, by the replayer (sluice/blocks).

- --policies are the policies to try: names, as 'lru|arc', and kinds and tunables with their values,
  as 'sched=clook|sluice, aipu.age_ms=1000|5000'. Items of one kind are joined; different kinds are
  tried each with each. Without it, every replace policy is tried. --sizes are sizes of the cache,
  in percent of the blocks of 4 KiB that the trace touches.
- What is not said is BASE, or else the kernel's own. --drive=none leaves the drive out: then only
  hits are of interest.
- What was replayed is kept (sluice/blocks/batch.py), so ^C and a second call lose nothing.
"""

import itertools
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sluice.blocks import batch
from sluice.blocks.batch import Planned, Report, Step, Trace
from sluice.blocks.decoded import BLOCK, Decoded
from sluice.blocks.replayer import Figures, Settings, Times
from sluice.experiment.aligned import format_table
from sluice.experiment.catalogue import Known, load_catalogue
from sluice.experiment.progress import format_count
from sluice.experiment.summary import format_number
from sluice.experiment.trace_disk import show_passed
from sluice.host.nearest import suggest
from sluice.host.printing import fill_lines, line_width
from sluice.sweep.ranges import BadSweep
from sluice.sweep.table_file import expect_table, write_table
from sluice.trace.errors import BadTraceFile
from sluice.trace.fit import format_bytes
from sluice.trace.stream import NUMBER

BASE = {"write": "delayed", "update": "aipu"}  # where the kernel's own policies are others
KINDS = ("replace", "sched", "prefetch", "write", "update")  # that a replay asks
COMPARED = "replace"  # the kind whose policies are tried if --policies is not given
NO_DRIVE = "none"
USUAL_SIZES = (1.0, 5.0, 10.0)  # percent
LEAST = 16  # buffers that the kernel needs
WIDEST = 80  # characters of the table
INFLIGHT = {False: 64, True: 1}  # requests at once; True: the format has no times


@dataclass(frozen=True)
class BlockReplay:
    """A replay as it is typed. closed, inflight: None if they were not given."""

    trace: Path
    format: str = ""
    policies: str = ""
    sizes: str = ""
    drive: str = "cheetah4lp"
    scale: float = 1.0
    count: int | None = None
    closed: bool | None = None
    inflight: int | None = None
    jobs: int = 1
    out: Path | None = None
    folder: Path = batch.FOLDER


@dataclass(frozen=True)
class Tried:
    """A combination of policies: what it is called, and what it is."""

    name: str
    policies: dict[str, str] = field(default_factory=dict)
    tunables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A row of the table: the policies, the cache's size in percent, and the figures."""

    tried: Tried
    percent: float
    planned: Planned
    figures: Figures


# ---- the policies ----


def kind_of(name: str, known: Known) -> str:
    """Return the kind of the policy of this name. Raises BadSweep."""
    kinds = [kind for kind in KINDS if name in known.policies[kind]]
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        raise BadSweep(f"--policies: {name}: is of several kinds: write {kinds[0]}={name}")
    every = [one for kind in KINDS for one in known.policies[kind]]
    raise BadSweep(f'--policies: unknown policy "{name}"; {suggest(name, every)}')


def expect_values(what: str, values: list[str], known: Known) -> None:
    """Raise BadSweep unless the values of a kind or a tunable are possible."""
    if what in KINDS:
        for name in values:
            if name not in known.policies[what]:
                near = suggest(name, known.policies[what])
                raise BadSweep(f'--policies: {what}={name}: unknown {what} policy "{name}"; {near}')
        return
    if what not in known.tunables:
        near = suggest(what, [*KINDS, *known.tunables])
        raise BadSweep(f"--policies: {what}: neither a kind of policy nor a tunable; {near}")
    low, high = known.tunables[what].low, known.tunables[what].high
    for text in values:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise BadSweep(f"--policies: {what}={text}: must be a whole number, {low} to {high}")


def parse_axes(text: str, known: Known) -> dict[str, list[str]]:
    """Return the values of each kind of policy and tunable that --policies names. Raises
    BadSweep."""
    axes: dict[str, list[str]] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        what, equals, listed = (word.strip() for word in item.rpartition("="))
        values = [word.strip() for word in listed.split("|")]
        for value in values:
            axis = what if equals else kind_of(value, known)
            expect_values(axis, [value], known)
            axes.setdefault(axis, [])
            axes[axis] += [value] * (value not in axes[axis])
    return axes or {COMPARED: list(known.policies[COMPARED])}


def combinations(axes: dict[str, list[str]]) -> list[Tried]:
    """Return each value with each of the other axes."""
    found = []
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        shown = [v for what, v in chosen.items() if len(axes[what]) > 1] or list(values)
        policies = BASE | {what: v for what, v in chosen.items() if what in KINDS}
        tunables = {what: v for what, v in chosen.items() if what not in KINDS}
        found.append(Tried(" ".join(shown), policies, tunables))
    return found


# ---- the cache's sizes ----


def parse_sizes(text: str) -> list[float]:
    """Return the percentages of --sizes. Raises BadSweep."""
    words = [word.strip().removesuffix("%").strip() for word in text.split(",")]
    if not all(NUMBER.fullmatch(word) and 0 < float(word) <= 100 for word in words):
        raise BadSweep(f"--sizes={text}: must be percentages, as 1, 5, 10")
    return list(dict.fromkeys(float(word) for word in words))


def buffer_counts(text: str, known: Decoded, name: str) -> dict[float, int]:
    """Return how many buffers each size has, by its percentage. Sizes that were not asked for are
    left out if the kernel needs more. Raises BadSweep."""
    shares = parse_sizes(text) if text else USUAL_SIZES
    found = {share: round(known.blocks * share / 100) for share in shares}
    small = [share for share, buffers in found.items() if buffers < LEAST]
    if text and small:
        raise BadSweep(
            f"--sizes={text}: {small[0]:g} % of the {format_number(known.blocks)} blocks that "
            f"{name} touches are {found[small[0]]} buffers, and the kernel needs {LEAST}: give a "
            "larger share"
        )
    large = {share: buffers for share, buffers in found.items() if buffers >= LEAST}
    return large or {100.0: max(known.blocks, LEAST)}


# ---- the replays ----


def settle(request: BlockReplay, known: Decoded) -> Settings:
    """Return the settings that all replays share. Raises BadSweep."""
    closed = known.timeless if request.closed is None else request.closed
    if known.timeless and not closed:
        raise BadSweep("--loop=open: a trace of this format has no times")
    inflight = request.inflight or INFLIGHT[known.timeless and request.closed is None]
    return Settings(drive=request.drive, closed=closed, inflight=inflight)


def list_runs(
    request: BlockReplay, trace: Trace, known: Known
) -> list[tuple[Tried, float, Settings]]:
    """Return what is replayed: the policies, the size in percent, and the settings."""
    common = settle(request, trace.known)
    sizes = buffer_counts(request.sizes, trace.known, request.trace.name)
    return [
        (one, percent, replace(common, policies=one.policies, tunables=one.tunables, buffers=n))
        for percent, n in sizes.items()
        for one in combinations(parse_axes(request.policies, known))
    ]


@contextmanager
def show_runs(names: Mapping[str, str], requests: int) -> Iterator[Report]:
    """Show which replays are under way and how much time is left: bars on a terminal, otherwise a
    line for each replay. names: by the key of a replay; requests: of each. Yields the function to
    call with each step."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    console, lock = Console(), threading.Lock()
    if not console.is_terminal:
        yield lambda step: print_step(names, step)
        return
    columns = [TextColumn("{task.description}", markup=False), BarColumn(bar_width=24)]
    columns += [TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        whole = progress.add_task("all replays", total=len(names) * requests)
        tasks: dict[str, TaskID] = {}
        done: dict[str, int] = {}

        def report(step: Step) -> None:
            """Move the bars. A replay that was made before shortens the whole instead."""
            key = step.planned.key
            with lock:
                if step.kept:
                    total = progress.tasks[0].total or requests
                    progress.update(whole, total=total - requests)
                    return
                if key not in tasks:
                    tasks[key] = progress.add_task(names[key], total=requests)
                progress.update(tasks[key], completed=step.done, visible=not step.figures)
                progress.advance(whole, step.done - done.get(key, 0))
                done[key] = step.done

        yield report


def print_step(names: Mapping[str, str], step: Step) -> None:
    """Print a line for a replay that has ended."""
    if step.figures:
        how = "made before" if step.kept else f"{step.figures.cpu_s:.1f} s of processor time"
        print(f"{names[step.planned.key]}: {how}", flush=True)


# ---- what is shown ----


def percent(part: int, whole: int) -> str:
    """Return a share in percent, or "-" of nothing."""
    return f"{100 * part / whole:.2f}" if whole else "-"


def format_ms(ns: int) -> str:
    """Return a time in ms."""
    return format_number(ns / 1e6) if ns else "0"


def response_cells(times: Times) -> list[str]:
    """Return the response times of a row."""
    return [format_ms(ns) for ns in (times.mean_ns, times.p50_ns, times.p99_ns, times.p99_9_ns)]


def speed(figures: Figures) -> str:
    """Return how many requests a second of processor time were replayed."""
    return f"{figures.requests / max(figures.cpu_s, 0.001):,.0f}"


def order_of(row: Row) -> tuple[float, int, int]:
    """Return what rows are sorted by: the size, the mean response, and the hits."""
    every = row.figures.all
    return row.percent, every.mean_ns, -every.hits


def result_table(rows: list[Row], drive: str) -> list[str]:
    """Return the lines of the table, at most WIDEST characters wide."""
    timed = drive != NO_DRIVE
    times = ["mean, ms", "50 %", "99 %", "99.9 %"] if timed else []
    cells = [["cache", "policy", "hits, %", "bytes, %", *times, "requests/s"]]
    for row in sorted(rows, key=order_of):
        every = row.figures.all
        hits = [percent(every.hits, every.count), percent(every.hit_bytes, every.bytes)]
        shown = response_cells(every) if timed else []
        cells.append([f"{row.percent:g} %", row.tried.name, *hits, *shown, speed(row.figures)])
    return format_table(cells, keys=2, width=min(line_width(), WIDEST))


def notes(rows: list[Row], trace: Trace, request: BlockReplay) -> list[str]:
    """Return what to know of the table."""
    settings, known = rows[0].planned.settings, load_catalogue()
    usual = known.defaults | BASE
    named = [f"{kind}={usual[kind]}" for kind in KINDS]
    said = [f"Where no other is named: {', '.join(named)}; the cache has blocks of 4 KiB."]
    late = max(row.figures.late_ns for row in rows)
    if settings.closed:
        said.append(
            f"Closed loop: {format_count(settings.inflight, 'request')} under way at once; the "
            "trace's times are not used."
        )
    else:
        said.append(
            "Open loop: each request is due at its time in the trace. The error of a start is 0 ns "
            "by construction, and the response counts from then."
        )
    if late and not settings.closed:
        said.append(
            f"Up to {format_ms(late)} ms of a response are the wait for one of the "
            f"{settings.inflight} requests under way to end; --inflight lets more be under way."
        )
    dirty = max(row.figures.counters.get("bio.dirty", 0) for row in rows)
    if dirty:
        said.append(f"Up to {dirty:,} blocks were still dirty at the end; nobody waits for them.")
    said.append(
        "A hit: all blocks are cached, or their read is under way. requests/s: of one core."
    )
    return said


def describe_trace(name: str, trace: Trace) -> list[str]:
    """Return lines about the trace: how it was read, and its size."""
    known = trace.known
    reads = 100 * known.reads / known.requests
    span = f"{known.last_ns / 1e9:,.0f} s" if not known.timeless else "no times"
    lines = [
        f"{name}: format {known.format}, {known.requests:,} requests, {reads:.0f} % reads, {span}",
        f"volume of {format_bytes(known.volume_bytes)}, of which {known.blocks:,} blocks of 4 KiB "
        f"({format_bytes(known.blocks * BLOCK)}) are touched",
    ]
    return lines + [f"left out: {known.left_out}"] * bool(known.left_out)


def flat_rows(rows: list[Row]) -> list[dict[str, Any]]:
    """Return a dict of plain values for each row: settings, and all figures in ns, bytes and
    requests."""
    found = []
    for row in rows:
        settings, figures = row.planned.settings, asdict(row.figures)
        flat: dict[str, Any] = {
            "policy": row.tried.name,
            "cache_percent": row.percent,
            "buffers": settings.buffers,
            "drive": settings.drive,
            "loop": "closed" if settings.closed else "open",
            "inflight": settings.inflight,
            **settings.policies,
            **settings.tunables,
        }
        for kind in ("all", "reads", "writes"):
            flat |= {f"{kind}_{name}": n for name, n in figures.pop(kind).items()}
        flat |= {f"counter.{name}": n for name, n in figures.pop("counters").items()}
        found.append(flat | figures)
    return found


def describe_error(error: Exception) -> str:
    """Return what was wrong, with options as they are typed here."""
    return re.sub(r": scale = (\S+):", r": --scale=\1:", str(error))


def execute(request: BlockReplay) -> bool:
    """Replay the trace, and print the table. Returns true. Raises BadTraceFile, BadSweep, BadOut
    and ReplayFailed."""
    expect_table(request.out)
    if not request.trace.exists():
        raise BadTraceFile(f"{request.trace}: there is no such file")
    known = load_catalogue()
    parse_axes(request.policies, known)
    if request.sizes:
        parse_sizes(request.sizes)
    with show_passed(f"reading {request.trace.name}", "requests") as seen:
        trace = batch.prepare(
            request.trace, request.folder, request.format, request.count, request.scale, seen
        )
    print("\n".join(describe_trace(request.trace.name, trace)), flush=True)
    listed = list_runs(request, trace, known)
    runs = batch.plan(trace, [settings for _, _, settings in listed])
    names = {
        run.key: f"{one.name}, {share:g} %"
        for run, (one, share, _) in zip(runs, listed, strict=True)
    }
    with show_runs(names, trace.known.requests) as report:
        figures = batch.make_runs(runs, request.folder, request.jobs, report)
    rows = [
        Row(one, share, run, found)
        for (one, share, _), run, found in zip(listed, runs, figures, strict=True)
    ]
    print("\n" + "\n".join(result_table(rows, request.drive)) + "\n")
    for note in notes(rows, trace, request):
        print("\n".join(fill_lines(note, 2)))
    if request.out:
        write_table(request.out, flat_rows(rows))
        print(f"table: {request.out}")
    return True
