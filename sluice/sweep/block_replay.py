"""`sluice replay`: replay a trace under many policies, by the replayer (sluice/blocks).

- --policies are the policies to try: names, as 'lru|arc', and kinds and tunables with their values,
  as 'sched=clook|sluice, aipu.age_ms=1000|5000'. Items of one kind form one list; all combinations
  of different lists are tried. Without --policies, every replace policy is tried. --sizes are sizes
  of the cache,
  in percent of the blocks of 4 KiB that the trace touches.
- Kinds that --policies does not name have the policy of BASE or the kernel's default. --drive=none
  leaves the drive out; then only hits are measured.
- The figures of each finished replay are stored (sluice/blocks/batch.py), so ^C loses only the
  replays in progress.
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
from sluice.blocks.cluster import make_there
from sluice.blocks.decoded import BLOCK, Decoded
from sluice.blocks.offline import NAME as OPTIMUM
from sluice.blocks.offline import make_optimum, plan_optimum
from sluice.blocks.replayer import Figures, Settings, Times
from sluice.blocks.slices import (
    DRAWS,
    LEAST,
    QUANTILES,
    Interval,
    Slices,
    bootstrap,
    hours_of,
    slice_length,
)
from sluice.experiment.aligned import format_table
from sluice.experiment.catalogue import Known, load_catalogue
from sluice.experiment.check import size_bytes
from sluice.experiment.progress import format_count
from sluice.experiment.summary import format_number
from sluice.experiment.trace_disk import show_passed
from sluice.host.memory import available_bytes
from sluice.host.nearest import suggest
from sluice.host.printing import line_width, print_filled
from sluice.sweep.ranges import BadSweep
from sluice.sweep.table_file import expect_table, write_table
from sluice.sweep.warmup import count_warmup, expect_warmup
from sluice.trace.errors import BadTraceFile
from sluice.trace.fit import format_bytes
from sluice.trace.stream import NUMBER

BASE = {"write": "delayed", "update": "aipu"}  # in place of the kernel's defaults
KINDS = ("replace", "sched", "prefetch", "write", "update")  # kinds of policies that a replay uses
COMPARED = "replace"  # the kind whose policies are tried if --policies is not given
NO_DRIVE = "none"
USUAL_SIZES = (1.0, 5.0, 10.0)  # percent
LEAST_BUFFERS = 16  # buffers that the kernel needs
WIDEST = 80  # characters of the table
KEY_DIGITS = 12  # of a page's name
CLOSED_SLICES = 100  # slices of a trace in a closed loop
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
    memory: str = ""
    scheduler: str = ""
    warmup: str = ""
    optimum: bool = False
    intervals: bool = False
    out: Path | None = None
    hours: Path | None = None
    folder: Path = batch.FOLDER


@dataclass(frozen=True)
class Tried:
    """A combination of policies and tunables, and its name in the table."""

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
    slices: Slices | None = None
    intervals: dict[str, Interval] = field(default_factory=dict)  # of all requests


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
    """Return all combinations of the axes' values."""
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
        raise BadSweep(f"--sizes={text}: must be percentages up to 100, as 1, 5, 10")
    return list(dict.fromkeys(float(word) for word in words))


def buffer_counts(text: str, known: Decoded, name: str) -> dict[float, int]:
    """Return the number of buffers of each size, by its percentage.

    Usual sizes that are too small for the kernel are left out. Raises BadSweep for a size of
    --sizes that is too small.
    """
    shares = parse_sizes(text) if text else USUAL_SIZES
    found = {share: round(known.blocks * share / 100) for share in shares}
    small = [share for share, buffers in found.items() if buffers < LEAST_BUFFERS]
    if text and small:
        do = "give a larger share" if known.blocks >= LEAST_BUFFERS else "give no --sizes"
        raise BadSweep(
            f"--sizes={text}: {small[0]:g} % of the {format_number(known.blocks)} blocks that "
            f"{name} touches are {found[small[0]]} buffers, and the kernel needs {LEAST_BUFFERS}: "
            f"{do}"
        )
    large = {share: buffers for share, buffers in found.items() if buffers >= LEAST_BUFFERS}
    return large or {100.0: max(known.blocks, LEAST_BUFFERS)}


# ---- the replays ----


def settle(request: BlockReplay, trace: Trace) -> Settings:
    """Return the settings that all replays share. Raises BadSweep."""
    known = trace.known
    closed = known.timeless if request.closed is None else request.closed
    if known.timeless and not closed:
        raise BadSweep("--loop=open: a trace of this format has no times")
    usual = INFLIGHT[known.timeless and request.closed is None]
    inflight = request.inflight or usual
    if closed and (request.optimum or request.hours):
        option = "--optimum" if request.optimum else "--hours"
        raise BadSweep(f"{option}: needs the trace's times, so an open loop")
    slice_ns = slice_length(known.last_ns)
    by_count = max(-(-known.requests // CLOSED_SLICES), 1)  # requests of a slice in a closed loop
    return Settings(
        drive=request.drive,
        closed=closed,
        inflight=inflight,
        warmup=count_warmup(request.warmup, trace),
        slice=by_count if closed else slice_ns,
    )


def list_runs(
    request: BlockReplay, trace: Trace, known: Known
) -> list[tuple[Tried, float, Settings]]:
    """Return the replays to make: for each the policies, the size in percent, and the settings."""
    common = settle(request, trace)
    sizes = buffer_counts(request.sizes, trace.known, request.trace.name)
    return [
        (one, percent, replace(common, policies=one.policies, tunables=one.tunables, buffers=n))
        for percent, n in sizes.items()
        for one in combinations(parse_axes(request.policies, known))
    ]


def memory_limit(request: BlockReplay, runs: list[Planned]) -> float:
    """Return the bytes of memory that all replays together may take.

    Raises BadSweep if one replay takes more than --memory.
    """
    if not request.memory:
        return available_bytes()
    limit = size_bytes(request.memory)
    most = max(batch.memory_bytes(run.settings) for run in runs)
    if most > limit:
        raise BadSweep(
            f"--memory={request.memory}: the largest replay takes up to {format_bytes(most)}: "
            "allow as much, or give smaller --sizes"
        )
    return limit


def plan_memory(runs: list[Planned], jobs: int, limit: float) -> list[str]:
    """Return a line that says that memory limits how many replays run at once, or no line."""
    sizes = sorted((batch.memory_bytes(run.settings) for run in runs), reverse=True)[:jobs]
    if sum(sizes) <= limit:
        return []
    return [
        f"memory: the {len(sizes)} largest replays would take {format_bytes(sum(sizes))} together, "
        f"and {format_bytes(int(limit))} are allowed (--memory): fewer are under way at once"
    ]


def choose_make(request: BlockReplay, runs: list[Planned]) -> batch.Make:
    """Return the function that makes the replays, by processes here or by a cluster's workers.

    Prints a line if memory is short. Raises BadSweep.
    """
    if request.scheduler:
        return make_there(request.scheduler)
    limit = memory_limit(request, runs)
    for line in plan_memory(runs, request.jobs, limit):
        print(line, flush=True)
    return batch.make_here(request.jobs, limit)


@contextmanager
def show_runs(names: Mapping[str, str], requests: int) -> Iterator[Report]:
    """Show which replays run and how much time is left: bars on a terminal, otherwise a line for
    each replay. names: the replays' names by key; requests: the number of requests of a replay.
    Yields the function to call with each step."""
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
            """Move the bars. A replay that was made before reduces the total instead."""
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
    """Return the number of requests replayed per second of processor time, as text."""
    return f"{figures.requests / max(figures.cpu_s, 0.001):,.0f}"


def order_of(row: Row) -> tuple[float, int, int]:
    """Return the sort key of a row: the size, the mean response, and the hits."""
    every = row.figures.all
    return row.percent, every.mean_ns, -every.hits


def amplification(figures: Figures) -> float | None:
    """Return the number of pages that the flash programmed per page that the host wrote, or None if
    the host wrote none."""
    written = figures.growth("flash.written")
    return (written + figures.growth("flash.moved")) / written if written else None


def result_cells(rows: list[Row], drive: str) -> list[list[str]]:
    """Return the cells of the table, with its head."""
    timed = drive != NO_DRIVE
    times = ["mean, ms", "50 %", "99 %", "99.9 %"] if timed else []
    flash = [amplification(row.figures) for row in rows]
    last = "writes x" if any(flash) else "requests/s"
    cells = [["cache", "policy", "hits, %", "bytes, %", *times, last]]
    for row in sorted(rows, key=order_of):
        every, more = row.figures.all, amplification(row.figures)
        hits = [percent(every.hits, every.count), percent(every.hit_bytes, every.bytes)]
        shown = response_cells(every) if timed else []
        ending = (f"{more:.3f}" if more else "-") if any(flash) else speed(row.figures)
        cells.append([f"{row.percent:g} %", row.tried.name, *hits, *shown, ending])
    return cells


def format_range(found: dict[str, Interval], name: str, scale: float) -> str:
    """Return an interval as text, or "-" if there is none."""
    if name not in found:
        return "-"
    low, high = (format_number(end * scale) if end else "0" for end in found[name])
    return f"{low} to {high}"


def interval_cells(rows: list[Row], drive: str) -> list[list[str]]:
    """Return the cells of the table of 95 % intervals, with its head."""
    heads = {"mean, ms": "mean_ns", "99 %": "p99_ns", "99.99 %": "p99.99_ns"}
    if drive == NO_DRIVE:
        heads = {"hits, %": "hit_ratio", "bytes, %": "byte_hit_ratio"}
    scale = 100 if drive == NO_DRIVE else 1e-6
    cells = [["cache", "policy", *heads]]
    for row in sorted(rows, key=order_of):
        shown = [format_range(row.intervals, name, scale) for name in heads.values()]
        cells.append([f"{row.percent:g} %", row.tried.name, *shown])
    return cells


def print_table(cells: list[list[str]]) -> None:
    """Print a table, at most WIDEST characters wide, and a blank line."""
    print("\n".join(format_table(cells, keys=2, width=min(line_width(), WIDEST))) + "\n")


def interval_notes(rows: list[Row], request: BlockReplay) -> list[str]:
    """Return the notes about the intervals."""
    if not request.intervals:
        return []
    return [
        "Intervals are of 95 %, by a bootstrap of blocks of time: of the trace's slices, "
        f"neighbours are drawn together, {DRAWS:,} times. Fewer than {LEAST} slices have none."
    ]


def notes(rows: list[Row], trace: Trace, request: BlockReplay) -> list[str]:
    """Return the notes about the table."""
    settings, known = rows[0].planned.settings, load_catalogue()
    usual = known.defaults | BASE
    named = [f"{kind}={usual[kind]}" for kind in KINDS]
    said = [
        f"Policies, if a row names no other: {', '.join(named)}. The cache has blocks of 4 KiB."
    ]
    late = max(row.figures.late_ns for row in rows)
    if settings.warmup:
        said.append(f"The first {settings.warmup:,} requests fill the cache and do not count.")
    if any(amplification(row.figures) for row in rows):
        said.append("writes x: pages that the flash programmed for each page that was written.")
    if request.optimum:
        said.append(
            "optimum: the drive's time with the misses of Belady's optimum, if writes and "
            "prefetching take no time. It has the fewest misses of blocks; for requests, bytes "
            "and time it is no proved bound."
        )
    said += interval_notes(rows, request)
    if settings.closed:
        said.append(
            f"Closed loop: {format_count(settings.inflight, 'request')} under way at once; the "
            "trace's times are not used."
        )
    else:
        said.append(
            "Open loop: each request is due at its time in the trace. The error of a start is 0 ns "
            f"by construction, and the response counts from then. Measured: {format_ms(late)} ms "
            "at most."
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
        flat |= interval_columns(row) | {
            "start_error_max_ns": figures.pop("late_ns"),
            "start_error_mean_ns": figures.pop("mean_late_ns"),
            "write_amplification": amplification(row.figures),
            "warmup_requests": settings.warmup,
        }
        figures.pop("warm_counters")
        figures.pop("counters")
        names = row.figures.counters
        flat |= {f"counter.{name}": row.figures.growth(name) for name in names}
        found.append(flat | figures)
    every = list(dict.fromkeys(name for row in found for name in row))
    return [{name: row.get(name) for name in every} for row in found]


def interval_columns(row: Row) -> dict[str, float | None]:
    """Return the ends of the 95 % intervals of a row, of all requests and of reads."""
    names = ["mean_ns", *(f"{name}_ns" for name in QUANTILES), "hit_ratio", "byte_hit_ratio"]
    found: dict[str, float | None] = {}
    of_reads = bootstrap(row.slices.reads) if row.slices else {}
    for kind, ends in {"all": row.intervals, "reads": of_reads}.items():
        for name in names:
            low, high = ends.get(name, (None, None))
            plain = name.replace(".", "_")
            found |= {f"{kind}_{plain}_low": low, f"{kind}_{plain}_high": high}
    return found


def find_intervals(row: Row) -> Row:
    """Return a row with its intervals. The optimum has none of its hits, because its slices do not
    say which writes hit."""
    found = bootstrap(row.slices.requests) if row.slices else {}
    if row.tried.name == OPTIMUM:
        found = {name: ends for name, ends in found.items() if name.endswith("_ns")}
    return replace(row, intervals=found)


def hour_rows(rows: list[Row]) -> list[dict[str, Any]]:
    """Return a dict of plain values for each hour of the trace and row."""
    return [
        {
            "policy": row.tried.name,
            "cache_percent": row.percent,
            "hour": hour,
            "kind": kind,
            "requests": int(found.count.sum()),
            "bytes": int(found.bytes.sum()),
            "hits": int(found.hits.sum()),
            "hit_bytes": int(found.hit_bytes.sum()),
            "mean_ns": round(found.mean_ns()),
            **{f"{n.replace('.', '_')}_ns": found.quantile_ns(s) for n, s in QUANTILES.items()},
        }
        for row in rows
        if row.slices
        for kind in ("reads", "writes")
        for hour, found in hours_of(getattr(row.slices, kind), row.planned.settings.slice)
    ]


def optimum_rows(rows: list[Row], trace: Trace, folder: Path) -> list[Row]:
    """Return a row of the optimum for each size. Raises CurveFailed and ReplayFailed."""
    found = []
    sizes = {row.percent: row.planned.settings for row in rows}
    for share, settings in sizes.items():
        planned = plan_optimum(trace, settings)
        figures, slices = make_optimum(planned, folder)
        print(f"{OPTIMUM}, {share:g} %: {figures.cpu_s:.1f} s of processor time", flush=True)
        found.append(Row(Tried(OPTIMUM), share, planned, figures, slices))
    return found


def make_page(request: BlockReplay, trace: Trace, rows: list[Row]) -> Path:
    """Write the page of a replay. Returns its path, which is the same for the same replays."""
    from sluice.sweep.replay_page import Shown, write_page  # the drawing library loads slowly

    timed = request.drive != NO_DRIVE
    ordered = sorted(rows, key=order_of)
    shown = [
        Shown(
            row.tried.name,
            row.percent,
            100 * row.figures.all.hits / max(row.figures.all.count, 1),
            row.figures.all.mean_ns / 1e6 if timed else None,
            row.figures.all.p99_ns / 1e6 if timed else None,
            row.intervals,
            row.slices,
            0 if row.planned.settings.closed else row.planned.settings.slice,
        )
        for row in ordered
    ]
    key = batch.hash_words(*(row.planned.key for row in rows))[:KEY_DIGITS]
    path = request.folder / "pages" / f"{key}.html"
    tables = (result_cells(rows, request.drive), interval_cells(rows, request.drive))
    about = describe_trace(request.trace.name, trace)
    write_page(path, request.trace.name, shown, tables, about, notes(rows, trace, request))
    return path


def describe_error(error: Exception) -> str:
    """Return the text of an error, with options as a user types them."""
    return re.sub(r": scale = (\S+):", r": --scale=\1:", str(error))


def execute(request: BlockReplay) -> bool:
    """Replay the trace, and print the table. Returns true. Raises BadTraceFile, BadSweep, BadOut
    and ReplayFailed."""
    expect_table(request.out)
    expect_table(request.hours, "--hours")
    expect_warmup(request.warmup)
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
    print_filled(describe_trace(request.trace.name, trace))
    listed = list_runs(request, trace, known)
    runs = batch.plan(trace, [settings for _, _, settings in listed])
    names = {
        run.key: f"{one.name}, {share:g} %"
        for run, (one, share, _) in zip(runs, listed, strict=True)
    }
    make = choose_make(request, runs)
    with show_runs(names, trace.known.requests) as report:
        figures = batch.make_runs(runs, request.folder, make, report)
    rows = [
        Row(one, share, run, found, batch.load_kept_slices(request.folder, run))
        for (one, share, _), run, found in zip(listed, runs, figures, strict=True)
    ]
    if request.optimum:
        rows += optimum_rows(rows, trace, request.folder)
    rows = [find_intervals(row) for row in rows]
    print()
    print_table(result_cells(rows, request.drive))
    if request.intervals:
        print_table(interval_cells(rows, request.drive))
    print_filled(notes(rows, trace, request))
    if request.out:
        write_table(request.out, flat_rows(rows))
        print(f"table: {request.out}")
    if request.hours:
        write_table(request.hours, hour_rows(rows))
        print(f"hours: {request.hours}")
    print(f"page: {make_page(request, trace, rows)}")
    return True
