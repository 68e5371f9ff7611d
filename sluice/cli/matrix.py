"""`make matrix`: where does the replacement policy with the fewest misses lose in milliseconds?

TRACES= are traces of any format that `make trace` takes; each is replayed with caches of CACHE=
percent of the blocks that it reads, by every replacement policy of the kernel. E= are experiments
as well, or instead: each is made with its own cache and seeds, and every replacement policy. With
WITH=, policies of other kinds as 'prefetch=none|ondemand', each is tried with each of these. The
twin makes all runs; those that were made before are not made again.

A *setting* is a trace or an experiment with a cache and what else varies but for policies. In each
the command finds the policies that miss least, and those whose reads take least time. The former
lose by how much more time their reads take. With several seeds, "loses" needs a 95 % interval of
the difference, paired by seed, that excludes 0; a trace has no seeds and is replayed once.

A *miss* is a block that a disk had to read because it was asked for: by a read, with the file
system's own blocks that it needs, or by a write of a part of a block. A write of a whole block asks
for nothing. Blocks that were read ahead are told apart, and a read that waits for one which is
still coming is no miss. Both are divided by the blocks that were asked for: those that reads touch
and, of a trace, those that are written in part. The programs that measure read some blocks of the
root disk as well, less than a hundred.

It writes the figures of all settings (matrix.json), a table in Markdown (matrix.md) and a picture
(matrix.svg) to OUT=.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log2
from pathlib import Path
from statistics import mean

from sluice.cli import replay
from sluice.cli import sweep as sweeps
from sluice.experiment import commandline, interval, jobs
from sluice.experiment.aligned import aligned
from sluice.experiment.catalogue import known
from sluice.experiment.check import size_bytes
from sluice.experiment.files import write_whole
from sluice.experiment.load import FULL, opened
from sluice.experiment.schema import BadExperiment
from sluice.experiment.selection import named
from sluice.experiment.summary import number
from sluice.host.interrupt import stoppable
from sluice.host.out import expect_folder
from sluice.host.paths import BUILD
from sluice.report import picture, theme
from sluice.sweep import full_sweep
from sluice.sweep.full_sweep import Measured
from sluice.sweep.journal import FOLDER
from sluice.sweep.ranges import BadSweep
from sluice.sweep.sizes import buffers
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
READ_JOBS = ("read", "reader", "query")  # of experiments: whose reads count
CLOSE = 0.001  # misses that differ by less, of all reads, are equal
MOST = 2.0  # times the least, where the picture's colours end
CELL = 62


@dataclass(frozen=True)
class Cell:
    """Policies in a setting. Of each seed: misses for a block that was asked for, mean ms of a
    read, and blocks read ahead for a block that was asked for."""

    policy: str  # or several, joined by +
    misses: list[float]
    ms: list[float]
    ahead: list[float]

    @property
    def missed(self) -> float:
        return mean(self.misses)

    @property
    def took(self) -> float:
        return mean(self.ms)


@dataclass(frozen=True)
class Setting:
    """What was measured in one setting."""

    name: str
    varied: str  # the cache and what else varies, in words
    cells: list[Cell]

    @property
    def fewest(self) -> list[Cell]:
        """The policies that miss least, the quickest first."""
        least = min(cell.missed for cell in self.cells)
        found = [cell for cell in self.cells if cell.missed <= least + CLOSE]
        return sorted(found, key=lambda cell: cell.took)

    @property
    def quickest(self) -> Cell:
        return min(self.cells, key=lambda cell: (cell.took, cell.missed))

    @property
    def loss(self) -> float:
        """How much longer the reads of the best of `fewest` take than those of `quickest`."""
        return self.fewest[0].took / self.quickest.took - 1

    @property
    def loses(self) -> bool:
        """Whether that is told apart from nothing."""
        pairs = zip(self.fewest[0].ms, self.quickest.ms, strict=True)
        apart = interval.of_mean([a - b for a, b in pairs])
        return apart.low > 0 if apart else self.loss > 0


def policies() -> str:
    """All replacement policies, as OVER= has them."""
    return f"{KIND}={'|'.join(known().policies[KIND])}"


def expect_unvaried(text: str) -> None:
    """Raise BadSweep if WITH= varies what the command varies itself."""
    if re.search(rf"\b{KIND}\s*=", text):
        raise BadSweep(f"WITH: {KIND}: all of its policies are tried in any case")


@dataclass(frozen=True)
class Load:
    """A trace or an experiment, and how its runs tell what reads came to."""

    name: str
    sweep: full_sweep.Sweep
    ms: str  # the metric with the mean time of a read
    blocks: Callable[[dict], float]  # that were asked for, by a run's figures
    writes: str = ""  # the metric that must be 0, if any

    def cell(self, policy: str, rows: list[dict]) -> Cell:
        """What runs of some policies came to. Raises BadExperiment if `ms` is not of reads."""
        if any(row[self.writes] for row in rows if self.writes):
            raise BadExperiment(
                f"E={self.name}: {self.writes} is not 0: the times of this job are not of reads"
            )
        read, ahead = (
            [sum(row[name] for name in names) / self.blocks(row) for row in rows]
            for names in (DISK_READS, (AHEAD,))
        )
        misses = [of_all - early for of_all, early in zip(read, ahead, strict=True)]
        return Cell(policy, misses, [row[self.ms] for row in rows], ahead)


def wanted(*metrics: str) -> str:
    """All metrics that the sweep must measure."""
    return ", ".join([*DISK_READS, AHEAD, *metrics])


def of_trace(name: str, path: Path, choice: argparse.Namespace) -> Load:
    """A trace, to be replayed. Raises BadTraceFile if it is not there, and BadSweep if it reads
    nothing, or if a place policy is to be tried."""
    replay.expect_no_place(choice.others, "WITH")
    if not path.exists():
        raise BadTraceFile(f"TRACES: {path}: there is no such file")
    asked = {"file": str(path), "format": "", "scale": "1", "drive": choice.drive, "fit": PACK}
    asked |= {"count": choice.count, "loop": "closed", "inflight": 1}
    asked |= {"cache": choice.cache, "policies": choice.others}
    written = replay.write_experiment(argparse.Namespace(**asked))
    sizes = "|".join(map(str, buffers(path, "", choice.count, choice.cache)))
    arm = f"arm={replay.USUAL}"
    over = ", ".join(filter(None, [arm, policies(), f"{NBUF}={sizes}", choice.others]))
    sweep = full_sweep.asked(str(written), over, want=wanted(*TRACE_BLOCKS, TRACE_MS))
    return Load(name, sweep, TRACE_MS, lambda row: sum(row[blocks] for blocks in TRACE_BLOCKS))


def of_experiment(path: Path, choice: argparse.Namespace) -> Load:
    """An experiment: its first arm's policies, but for the replacement policy. The times are those
    of one job that reads; misses and blocks are of all jobs. Raises BadExperiment if none of its
    jobs reads."""
    of = opened(path, FULL)
    there = jobs.named(of.top["workload"].get("commands", ""))
    job = next((name for name in READ_JOBS if name in there), None)
    if not job:
        raise BadExperiment(f"E={path.stem}: none of its jobs is called {' or '.join(READ_JOBS)}")
    arm = of.top["arms"][0]["name"]
    over = ", ".join(filter(None, [f"arm={arm}", policies(), choice.others]))
    ms, writes = f"{job}.mean_ms", f"job.{job}.writes"
    sweep = full_sweep.asked(str(path), over, want=wanted(ms, writes, JOBS_READS, JOBS_BYTES))
    block = size_bytes(of.top["machine"].get("block", "4K"))

    def blocks(row: dict) -> float:
        return max(row[JOBS_READS], row[JOBS_BYTES] / block)

    return Load(path.stem, sweep, ms, blocks, writes)


def policies_of(row: dict) -> str:
    """The policies of a run, as they are shown."""
    kinds = [KIND, *(kind for kind in known().policies if kind != KIND)]
    return "+".join(row[kind] for kind in kinds if kind in row)


def varied(row: dict, sweep: full_sweep.Sweep) -> str:
    """The size of the cache, as far as it is a number, and what else tells a setting of a sweep
    from its others, in words."""
    lists = {axis.name: axis.grid() for axis in sweep.axes} | sweep.maker.of.sweep
    names = (name for name, values in lists.items() if len(values) > 1)
    told = {n: row[n] for n in names if n not in (*NOT_VARIED, *known().policies)}
    size = row.get(NBUF, sweep.maker.of.raw.get("machine", {}).get(NBUF))
    told |= {NBUF: size} if isinstance(size, int) else {}
    return ", ".join(
        f"{value} buffers" if name == NBUF else f"{name} {value}" for name, value in told.items()
    )


def settings(load: Load, points: list[Measured]) -> Iterator[Setting]:
    """The settings of a load, in the order of their first runs."""
    found: dict[str, dict[str, list[dict]]] = {}
    for point in points:
        for row in point.rows:
            all_of = point.point | row
            here = found.setdefault(varied(all_of, load.sweep), {})
            here.setdefault(policies_of(all_of), []).append(row)
    for where, of in found.items():
        seeds = max(map(len, of.values()))  # of which a run may have failed
        cells = [load.cell(policy, rows) for policy, rows in of.items() if len(rows) == seeds]
        yield Setting(load.name, where, cells)


def line(setting: Setting) -> list[str]:
    """A setting's row of the table."""
    fewest, quickest = setting.fewest, setting.quickest
    best = fewest[0]
    names = ", ".join(cell.policy for cell in fewest[:3]) + (", …" if len(fewest) > 3 else "")
    lost = f"{100 * setting.loss:.1f} %" if setting.loses else "not told apart"
    if quickest.policy in {cell.policy for cell in fewest}:
        lost = "-"
    told = [setting.name, setting.varied]
    for who, cell in ((names, best), (quickest.policy, quickest)):
        ahead = f"{100 * mean(cell.ahead):.1f}"
        told += [who, f"{100 * (1 - cell.missed):.1f}", ahead, number(cell.took)]
    return [*told, lost]


HEADS = [
    *("load", "setting", "fewest misses", "hits, %", "ahead, %", "ms"),
    *("least time", "hits, %", "ahead, %", "ms", "loses by"),
]


GROUPS = ["", "", *["fewest misses"] * 4, *["least time"] * 4, ""]  # of the terminal's heads
ALONE = ["load", "setting", "policy", "hits, %", "ahead, %", "ms", "policy", "hits, %"]


def shown(found: list[Setting]) -> str:
    """The table as the terminal shows it."""
    heads = [GROUPS, [*ALONE, *HEADS[len(ALONE) :]]]
    return "\n".join(aligned([*heads, *map(line, found)], heads=2, keys=2, words=(2, 6)))


def markdown(found: list[Setting]) -> str:
    """The table."""
    rows = [HEADS, ["---"] * len(HEADS), *map(line, found)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def lost_most(found: list[Setting]) -> str:
    """How often the policy with the fewest misses loses, and where most, in a sentence."""
    lost = [one for one in found if one.loses and one.quickest not in one.fewest]
    if not lost:
        return f"In none of {len(found)} settings does the policy with the fewest misses lose."
    worst = max(lost, key=lambda one: one.loss)
    return (
        f"In {len(lost)} of {len(found)} settings the policy with the fewest misses loses in "
        f"milliseconds, at most by {100 * worst.loss:.1f} % ({worst.name}, {worst.varied}: "
        f"{worst.fewest[0].policy} against {worst.quickest.policy})."
    )


def summed_up(found: list[Setting]) -> str:
    """The answer, and what to know of the figures."""
    if all(cell.missed <= 1 for one in found for cell in one.cells):
        return lost_most(found)
    return (
        f"{lost_most(found)} Hits are below 0 where more blocks had to be read than were asked "
        "for, because the file system's own, pointers and inodes, count against the hits."
    )


def spec(found: list[Setting]) -> dict:
    """The picture: a row for each setting, a column for each policy."""
    rows = [
        {
            "setting": f"{one.name}, {one.varied}" if one.varied else one.name,
            "policy": cell.policy,
            "more": min(log2(cell.took / one.quickest.took), log2(MOST)),
            "text": f"{round(100 * (1 - cell.missed))} %",
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


def stored(found: list[Setting]) -> str:
    """All figures."""
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


def restored(text: str) -> list[Setting]:
    """The settings that `stored` wrote."""
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


def chosen(choice: argparse.Namespace) -> Iterator[Load]:
    """The loads that are asked for. Raises BadSweep."""
    expect_unvaried(choice.others)
    if not choice.traces and not choice.name:
        raise BadSweep("TRACES: give traces, as TRACES='a.csv.gz b.spc'; or E=, an experiment")
    replay.expect_count(choice.count)
    paths = [Path(word).expanduser().resolve() for word in choice.traces.split()]
    names = [replay.plain(path) for path in paths]
    for path, name in zip(paths, names, strict=True):
        alone = names.count(name) == 1
        yield of_trace(name if alone else replay.own_name(path), path, choice)
    for word in choice.name.split():
        for path in named(word):
            yield of_experiment(path, choice)


def do(choice: argparse.Namespace) -> bool:
    """Measure, and write what was found. Returns true if all runs were made."""
    expect_folder(choice.out)
    found, failed = [], []
    for load in list(chosen(choice)):
        points, errors = sweeps.make(load.sweep, choice)
        found += settings(load, points)
        failed += errors
    for error in failed:
        print(f"FAILED {error}", file=sys.stderr)
    if not found:
        return False
    choice.out.mkdir(parents=True, exist_ok=True)
    text = f"{markdown(found)}\n{summed_up(found)}\n"
    parts = {"json": stored(found), "md": text, "svg": picture.drawn(spec(found))}
    for ending, content in parts.items():
        write_whole(choice.out / f"matrix.{ending}", content)
    print(f"{shown(found)}\n\n{summed_up(found)}\n")
    print(f"in {choice.out}: {', '.join(f'matrix.{ending}' for ending in parts)}")
    return not failed


def in_words(error: object) -> str:
    """What was wrong, as it is typed here."""
    return replay.in_words(error, "WITH")


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make matrix", description=__doc__)
    options.add_argument("name", nargs="?", default="", help="experiments")
    options.add_argument("--traces", default="", help="traces, with spaces between")
    options.add_argument("--cache", default=CACHE, help="percent of the blocks that a trace reads")
    options.add_argument("--with", dest="others", default="", help="others to try each with")
    options.add_argument("--drive", default=replay.DRIVE, help="the drive of traces")
    options.add_argument("--count", type=int, help="of a trace's requests, from the first on")
    options.add_argument("--out", type=Path, default=OUT, help="where the results go")
    commandline.add_workers(options)
    commandline.add_folder(options, FOLDER)
    choice = options.parse_args()
    return commandline.status(lambda: do(choice), (BadTraceFile, BadSweep), in_words)


if __name__ == "__main__":
    sys.exit(stoppable(main, "all runs so far are kept; the same command goes on from there"))
