"""`sluice dev matrix`: find settings where the replacement policy with the fewest misses is not the
fastest.

--trace are traces of any format that `sluice replay` takes; each is replayed with caches of --cache
percent of the blocks that it reads, by every replacement policy of the kernel. Experiments may be
given, too, or instead: each is run with its own cache and seeds, and with every replacement policy.
--with names policies of other kinds, as 'prefetch=none|ondemand'; then all combinations are tried.
The twin makes all runs; those that were made before are not made again.

A *setting* is a trace or an experiment with one size of the cache and one value of everything else
that varies, except policies. In each setting the command finds the policies with the fewest misses
and the policies with the shortest reads. The loss is by how much longer reads take under the
former. With several seeds, "loses" needs a 95 % interval of the difference, paired by seed, that
excludes 0; a trace has no seeds and is replayed once.

A *miss* is a block that a disk had to read because it was asked for: by a read, with the file
system's own blocks that it needs, or by a write of a part of a block. A write of a whole block asks
for nothing. Blocks that were read ahead are counted separately, and a read that waits for a block
which is being read ahead is no miss. Both numbers are divided by the number of requested blocks:
those that reads touch and, in a trace, those that are written in part. The programs that measure
read some blocks of the root disk as well, less than a hundred.

It writes the figures of all settings (matrix.json), a table in Markdown (matrix.md), a picture
(matrix.svg) and the form in which results/ keeps figures (matrix.short.json) to --out.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log2
from pathlib import Path
from statistics import mean
from typing import Any

from sluice.experiment import interval, jobs
from sluice.experiment.aligned import format_table
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.check import size_bytes
from sluice.experiment.files import write_atomically
from sluice.experiment.load import FULL, open_experiment
from sluice.experiment.schema import BadExperiment
from sluice.experiment.selection import find_experiment_files
from sluice.experiment.summary import format_number
from sluice.host.out import expect_folder
from sluice.host.paths import BUILD
from sluice.report import picture, theme
from sluice.report.theme import Spec
from sluice.sweep import full_sweep
from sluice.sweep import request as sweeps
from sluice.sweep import trace_replay as replay
from sluice.sweep.full_sweep import Measured
from sluice.sweep.journal import FOLDER
from sluice.sweep.ranges import BadSweep
from sluice.sweep.sizes import buffer_counts
from sluice.trace.errors import BadTraceFile
from sluice.trace.fit import PACK

KIND, NBUF = "replace", "nbuf"
CACHE = "10, 25, 50"
OUT = BUILD / "matrix"
NOT_VARIED = ("arm", "seed")
DISK_READS = ("hist.disk0.read_response.count", "hist.disk1.read_response.count")
AHEAD = "stat.bio.ahead"
TRACE_BLOCKS = ("job.trace.read_blocks", "job.trace.partial_blocks")
TRACE_MS = "job.trace.read_mean_ms"
JOBS_READS, JOBS_BYTES = "job.*.reads", "job.*.read_bytes"
READ_JOBS = ("read", "reader", "query")  # names of an experiment's jobs whose reads count
CLOSE = 0.001  # shares of misses that differ by less than this count as equal
MOST = 2.0  # ratio to the shortest time at which the picture's colours end
CELL = 62
DIGITS = 5  # of the figures that results/ keeps


@dataclass(frozen=True)
class MatrixRequest:
    """Loads as they are typed, and how their runs are made. others: policies of other kinds. out:
    where the table goes; folder: where the runs' figures are kept."""

    names: list[str]
    traces: list[Path]
    cache: str = CACHE
    others: str = ""
    drive: str = replay.DRIVE
    count: int | None = None
    out: Path = OUT
    jobs: int = 1
    scheduler: str = ""
    folder: Path = FOLDER


@dataclass(frozen=True)
class Cell:
    """Policies in a setting.

    For each seed: misses per requested block, the mean time of a read in ms, and blocks read ahead
    per requested block.
    """

    policy: str  # or several, joined by +
    misses: list[float]
    ms: list[float]
    ahead: list[float]

    @property
    def mean_misses(self) -> float:
        """Misses per requested block, the mean over the seeds."""
        return mean(self.misses)

    @property
    def took(self) -> float:
        """The mean time of a read in ms, over the seeds."""
        return mean(self.ms)


@dataclass(frozen=True)
class Setting:
    """The measurements in one setting."""

    name: str
    varied: str  # the size of the cache and the other variables, in words
    cells: list[Cell]

    @property
    def fewest(self) -> list[Cell]:
        """The policies that miss least, the quickest first."""
        least = min(cell.mean_misses for cell in self.cells)
        found = [cell for cell in self.cells if cell.mean_misses <= least + CLOSE]
        return sorted(found, key=lambda cell: cell.took)

    @property
    def quickest(self) -> Cell:
        """The policies with the shortest reads; of equal ones, those that miss least."""
        return min(self.cells, key=lambda cell: (cell.took, cell.mean_misses))

    @property
    def loss(self) -> float:
        """By which share the reads under the best of `fewest` take longer than under `quickest`."""
        return self.fewest[0].took / self.quickest.took - 1

    @property
    def loses(self) -> bool:
        """Whether `loss` is significantly more than 0."""
        pairs = zip(self.fewest[0].ms, self.quickest.ms, strict=True)
        apart = interval.mean_interval([a - b for a, b in pairs])
        return apart.low > 0 if apart else self.loss > 0


def policies_axis() -> str:
    """Return the axis of all replacement policies, in the form of --over."""
    return f"{KIND}={'|'.join(load_catalogue().policies[KIND])}"


def expect_unvaried(text: str) -> None:
    """Raise BadSweep if --with varies what the command varies itself."""
    if re.search(rf"\b{KIND}\s*=", text):
        raise BadSweep(f"--with: {KIND}: all of its policies are tried in any case")


@dataclass(frozen=True)
class Load:
    """A trace or an experiment, and which figures of its runs are about reads."""

    name: str
    sweep: full_sweep.Sweep
    ms: str  # the metric with the mean time of a read
    blocks: Callable[[full_sweep.Row], float]  # returns the requested blocks from a run's figures
    writes: str = ""  # the metric that must be 0, if any

    def cell(self, policy: str, rows: list[full_sweep.Row]) -> Cell:
        """Return the figures of some policies' runs. Raises BadExperiment if `ms` is not of
        reads."""
        if any(row[self.writes] for row in rows if self.writes):
            raise BadExperiment(
                f"{self.name}: {self.writes} is not 0: the times of this job are not of reads"
            )
        misses, ahead = [], []  # of each run: per requested block
        for row in rows:
            blocks = self.blocks(row)
            read = sum(row[name] for name in DISK_READS) / blocks
            read_ahead = row[AHEAD] / blocks
            misses.append(read - read_ahead)
            ahead.append(read_ahead)
        return Cell(policy, misses, [row[self.ms] for row in rows], ahead)


def metrics_text(*metrics: str) -> str:
    """Return all metrics that the sweep must measure, in the form of --metrics."""
    return ", ".join([*DISK_READS, AHEAD, *metrics])


def trace_load(name: str, path: Path, request: MatrixRequest) -> Load:
    """Return the load of a trace.

    Raises BadTraceFile if the file does not exist, and BadSweep if it has no reads, or if --with
    names a place policy.
    """
    replay.expect_no_idle_kind(request.others, "--with")
    if not path.exists():
        raise BadTraceFile(f"--trace: {path}: there is no such file")
    asked = replay.ReplayRequest(
        path, policies=request.others, cache=request.cache, drive=request.drive,
        count=request.count, fit=PACK, loop="closed", inflight=1,
    )  # fmt: skip
    written = replay.write_experiment(asked)
    sizes = "|".join(map(str, buffer_counts(path, "", request.count, request.cache)))
    arm = f"arm={replay.USUAL}"
    over = ", ".join(filter(None, [arm, policies_axis(), f"{NBUF}={sizes}", request.others]))
    sweep = full_sweep.parse_sweep(str(written), over, want=metrics_text(*TRACE_BLOCKS, TRACE_MS))
    return Load(name, sweep, TRACE_MS, lambda row: sum(row[blocks] for blocks in TRACE_BLOCKS))


def experiment_load(path: Path, request: MatrixRequest) -> Load:
    """Return the load of an experiment, with its first arm's policies except for the replacement
    policy. The times are those of one job that reads; misses and blocks are of all jobs. Raises
    BadExperiment if none of its jobs reads."""
    of = open_experiment(path, FULL)
    there = jobs.job_names(of.top["workload"].get("commands", ""))
    job = next((name for name in READ_JOBS if name in there), None)
    if not job:
        raise BadExperiment(f"{path.stem}: none of its jobs is called {' or '.join(READ_JOBS)}")
    arm = of.top["arms"][0]["name"]
    over = ", ".join(filter(None, [f"arm={arm}", policies_axis(), request.others]))
    ms, writes = f"{job}.mean_ms", f"job.{job}.writes"
    sweep = full_sweep.parse_sweep(
        str(path), over, want=metrics_text(ms, writes, JOBS_READS, JOBS_BYTES)
    )
    block = size_bytes(of.top["machine"].get("block", "4K"))

    def blocks(row: full_sweep.Row) -> float:
        """Return how many blocks a run's jobs have read: at least one for each request."""
        found: float = max(row[JOBS_READS], row[JOBS_BYTES] / block)
        return found

    return Load(path.stem, sweep, ms, blocks, writes)


def policies_text(row: full_sweep.Row) -> str:
    """Return the policies of a run, as they are shown."""
    kinds = [KIND, *(kind for kind in load_catalogue().policies if kind != KIND)]
    return "+".join(row[kind] for kind in kinds if kind in row)


def describe_setting(row: full_sweep.Row, sweep: full_sweep.Sweep) -> str:
    """Return in words what distinguishes a setting from others of its sweep: the size of the cache,
    if it is a number, and the other variables."""
    lists = {axis.name: axis.grid() for axis in sweep.axes} | sweep.maker.opened.sweep
    names = (name for name, values in lists.items() if len(values) > 1)
    told = {n: row[n] for n in names if n not in (*NOT_VARIED, *load_catalogue().policies)}
    size = row.get(NBUF, sweep.maker.opened.raw.get("machine", {}).get(NBUF))
    told |= {NBUF: size} if isinstance(size, int) else {}
    return ", ".join(
        f"{value} buffers" if name == NBUF else f"{name} {value}" for name, value in told.items()
    )


def collect_settings(load: Load, points: list[Measured]) -> Iterator[Setting]:
    """Return the settings of a load, in the order of their first runs."""
    found: dict[str, dict[str, list[full_sweep.Row]]] = {}
    for point in points:
        for row in point.rows:
            all_of = point.point | row
            here = found.setdefault(describe_setting(all_of, load.sweep), {})
            here.setdefault(policies_text(all_of), []).append(row)
    for where, of in found.items():
        seeds = max(map(len, of.values()))  # policies with fewer rows have a failed run
        cells = [load.cell(policy, rows) for policy, rows in of.items() if len(rows) == seeds]
        yield Setting(load.name, where, cells)


def setting_row(setting: Setting) -> list[str]:
    """Return a setting's row of the table."""
    fewest, quickest = setting.fewest, setting.quickest
    best = fewest[0]
    names = ", ".join(cell.policy for cell in fewest[:3]) + (", …" if len(fewest) > 3 else "")
    lost = f"{100 * setting.loss:.1f} %" if setting.loses else "not told apart"
    if quickest.policy in {cell.policy for cell in fewest}:
        lost = "-"
    told = [setting.name, setting.varied]
    for who, cell in ((names, best), (quickest.policy, quickest)):
        ahead = f"{100 * mean(cell.ahead):.1f}"
        told += [who, f"{100 * (1 - cell.mean_misses):.1f}", ahead, format_number(cell.took)]
    return [*told, lost]


HEADS = [
    *("load", "setting", "fewest misses", "hits, %", "ahead, %", "ms"),
    *("least time", "hits, %", "ahead, %", "ms", "loses by"),
]


GROUPS = ["", "", *["fewest misses"] * 4, *["least time"] * 4, ""]  # first line of the heads
ALONE = ["load", "setting", "policy", "hits, %", "ahead, %", "ms", "policy", "hits, %"]


def table_lines(found: list[Setting]) -> str:
    """Return the table as the terminal shows it."""
    heads = [GROUPS, [*ALONE, *HEADS[len(ALONE) :]]]
    return "\n".join(
        format_table([*heads, *map(setting_row, found)], heads=2, keys=2, words=(2, 6))
    )


def markdown_table(found: list[Setting]) -> str:
    """Return the table in Markdown."""
    rows = [HEADS, ["---"] * len(HEADS), *map(setting_row, found)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def describe_losses(found: list[Setting]) -> str:
    """Return a sentence that says how often the policy with the fewest misses loses, and where it
    loses most."""
    lost = [one for one in found if one.loses and one.quickest not in one.fewest]
    if not lost:
        return f"In none of {len(found)} settings does the policy with the fewest misses lose."
    worst = max(lost, key=lambda one: one.loss)
    return (
        f"In {len(lost)} of {len(found)} settings the policy with the fewest misses loses in "
        f"milliseconds, at most by {100 * worst.loss:.1f} % ({worst.name}, {worst.varied}: "
        f"{worst.fewest[0].policy} against {worst.quickest.policy})."
    )


def summarise_settings(found: list[Setting]) -> str:
    """Return the answer, and the notes about the figures."""
    if all(cell.mean_misses <= 1 for one in found for cell in one.cells):
        return describe_losses(found)
    return (
        f"{describe_losses(found)} Hits are below 0 where more blocks had to be read than were "
        "asked for, because the file system's own, pointers and inodes, count against the hits."
    )


def matrix_spec(found: list[Setting]) -> Spec:
    """Return the picture: a row for each setting, a column for each policy."""
    rows = [
        {
            "setting": f"{one.name}, {one.varied}" if one.varied else one.name,
            "policy": cell.policy,
            "more": min(log2(cell.took / one.quickest.took), log2(MOST)),
            "text": f"{round(100 * (1 - cell.mean_misses))} %",
            "mark": "○" * (cell in one.fewest) + "●" * (cell is one.quickest),
        }
        for one in found
        for cell in one.cells
    ]
    order = list(dict.fromkeys(row["setting"] for row in rows))
    names = {"type": "nominal", "title": None}
    x = {**names, "field": "policy", "axis": {"orient": "top", "labelAngle": -40}}
    y = {**names, "field": "setting", "sort": order, "axis": {"labelLimit": 400}}
    colour = {
        "field": "more",
        "type": "quantitative",
        "scale": {"domain": [0, log2(MOST)], "range": ["#F4F8FB", "#D55E00"], "interpolate": "rgb"},
        "legend": None,
    }
    texts = [("text", -9, 12), ("mark", 9, 13)]
    return {
        "config": theme.CONFIG | {"view": {"stroke": None}},
        "data": {"values": rows},
        "width": {"step": CELL},
        "height": {"step": 38},
        "title": {
            "text": "Hits, and the time of a read",
            "subtitle": [
                "Figures are hits. The darker a field, the longer reads take: white is the least",
                "time of its row, full colour twice that and more. ○ fewest misses   ● least time",
            ],
        },
        "encoding": {"x": x, "y": y},
        "layer": [
            {"mark": {"type": "rect", "stroke": "#FFFFFF"}, "encoding": {"color": colour}},
            *(
                {
                    "mark": {"type": "text", "dy": dy, "fontSize": size, "color": theme.INK},
                    "encoding": {"text": {"field": field}},
                }
                for field, dy, size in texts
            ),
        ],
    }


def settings_json(found: list[Setting]) -> str:
    """Return all figures as JSON."""
    rows = [
        {"load": one.name, "setting": one.varied, "loss": one.loss, "loses": one.loses}
        | {
            "policies": {
                cell.policy: {"misses": cell.misses, "mean_ms": cell.ms, "ahead": cell.ahead}
                for cell in one.cells
            }
        }
        for one in found
    ]
    return json.dumps(rows, indent=1) + "\n"


def parse_settings(text: str) -> list[Setting]:
    """Return the settings from the text that `settings_json` returned."""
    return [
        Setting(
            row["load"],
            row["setting"],
            [
                Cell(name, of["misses"], of["mean_ms"], of["ahead"])
                for name, of in row["policies"].items()
            ],
        )
        for row in json.loads(text)
    ]


def shorten_settings(found: list[Setting]) -> str:
    """Return all figures with DIGITS digits as JSON: the policies, then a line for each setting:
    load, setting, and for each policy its misses, milliseconds and blocks read ahead, if there are
    any, or null if its runs failed. Several seeds are a list."""

    def figures(values: list[float]) -> float | list[float]:
        """Return the figures with fewer digits; a single one without a list."""
        short = [float(f"{value:.{DIGITS}g}") for value in values]
        return short if len(short) > 1 else short[0]

    names = list(dict.fromkeys(cell.policy for one in found for cell in one.cells))
    lines: list[list[object]] = [[*names]]
    for one in found:
        row: dict[str, list[object] | None] = dict.fromkeys(names)
        for cell in one.cells:
            ahead = [figures(cell.ahead)] if any(cell.ahead) else []
            row[cell.policy] = [figures(cell.misses), figures(cell.ms), *ahead]
        lines.append([one.name, one.varied, *row.values()])
    rows = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)
    return "[" + ",\n".join(rows) + "]\n"


def lengthen_settings(text: str) -> list[Setting]:
    """Return the settings from the text that `shorten_settings` returned."""

    def cell(policy: str, figures: list[Any]) -> Cell:
        """Return the cell that a policy's stored figures stand for."""
        misses, ms, ahead = (v if isinstance(v, list) else [v] for v in (*figures, 0.0)[:3])
        return Cell(policy, misses, ms, ahead if any(ahead) else [0.0] * len(ms))

    names, *rows = json.loads(text)
    return [
        Setting(name, varied, [cell(p, of) for p, of in zip(names, cells, strict=True) if of])
        for name, varied, *cells in rows
    ]


def requested_loads(request: MatrixRequest) -> Iterator[Load]:
    """Yield the requested loads. Raises BadSweep."""
    expect_unvaried(request.others)
    if not request.traces and not request.names:
        raise BadSweep("give an experiment, or a trace as --trace=a.csv.gz")
    replay.expect_count(request.count)
    paths = [path.expanduser().resolve() for path in request.traces]
    names = [replay.plain_name(path) for path in paths]
    for path, name in zip(paths, names, strict=True):
        alone = names.count(name) == 1
        yield trace_load(name if alone else replay.own_name(path), path, request)
    for word in request.names:
        for path in find_experiment_files(word):
            yield experiment_load(path, request)


def execute(request: MatrixRequest) -> bool:
    """Make the runs and write the results. Returns true if all runs were made."""
    expect_folder(request.out)
    found: list[Setting] = []
    failed: list[str] = []
    for load in list(requested_loads(request)):
        points, errors = sweeps.make_runs(
            load.sweep, request.folder, request.jobs, request.scheduler
        )
        found += collect_settings(load, points)
        failed += errors
    for error in failed:
        print(f"FAILED {error}", file=sys.stderr)
    if not found:
        return False
    request.out.mkdir(parents=True, exist_ok=True)
    text = f"{markdown_table(found)}\n{summarise_settings(found)}\n"
    parts = {"json": settings_json(found), "md": text, "svg": picture.draw_svg(matrix_spec(found))}
    parts["short.json"] = shorten_settings(found)
    for ending, content in parts.items():
        write_atomically(request.out / f"matrix.{ending}", content)
    print(f"{table_lines(found)}\n\n{summarise_settings(found)}\n")
    print(f"in {request.out}: {', '.join(f'matrix.{ending}' for ending in parts)}")
    return not failed


def describe_error(error: object) -> str:
    """Return the text of an error, with options as a user types them."""
    return replay.describe_error(error, "--with")
