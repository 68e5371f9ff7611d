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

A read that waits for a block which is still being read ahead is no miss.

It writes the figures of all settings (matrix.json), a table in Markdown (matrix.md) and a picture
(matrix.svg) to OUT=.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2
from pathlib import Path
from statistics import mean

import numpy as np

from grade.commands import replay_trace
from grade.commands import sweep as sweeps
from grade.host.interrupt import stoppable
from grade.host.paths import BUILD
from grade.measure import commandline, interval, jobs
from grade.measure.choose import named
from grade.measure.files import write_whole
from grade.measure.known import known
from grade.measure.load import FULL, opened
from grade.measure.schema import BadExperiment
from grade.measure.summary import number
from grade.report import picture, theme
from grade.sweep import whole
from grade.sweep.journal import FOLDER
from grade.sweep.over import BadSweep
from grade.sweep.whole import Measured
from grade.traces import read
from grade.traces.bad import BadTraceFile
from grade.traces.fit import PACK

KIND = "replace"
CACHE = "10, 25, 50"
OUT = BUILD / "matrix"
BLOCK = 4096
LEAST_BUFFERS = 64  # the kernel refuses less
NOT_VARIED = ("arm", "seed")
TRACE_JOB = "trace"
READ_JOBS = ("read", "reader", "query")  # of experiments: whose reads count
CLOSE = 0.001  # misses that differ by less, of all reads, are equal
MOST = 2.0  # times the least, where the picture's colours end
CELL = 62


@dataclass(frozen=True)
class Cell:
    """Policies in a setting: misses for a block read, mean ms of a read, of each seed."""

    policy: str  # or several, joined by +
    misses: list[float]
    ms: list[float]

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


def shares(text: str) -> list[float]:
    """The percentages of CACHE=. Raises BadSweep."""
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch(r"\d+(\.\d+)?", word) and 0 < float(word) <= 100 for word in words):
        raise BadSweep(f"CACHE={text}: must be percentages, as 10, 25, 50")
    return [float(word) for word in words]


def blocks_read(requests: np.ndarray) -> int:
    """How many different blocks a trace reads."""
    reads = requests[requests["write"] == 0]
    if not len(reads):
        return 0
    first, last = reads["offset"] // BLOCK, (reads["offset"] + reads["bytes"] - 1) // BLOCK
    most = int((last - first).max()) + 1
    parts = [(first + i)[first + i <= last] for i in range(most)]
    return len(np.unique(np.concatenate(parts)))


def buffers(path: Path, choice: argparse.Namespace) -> list[int]:
    """The caches that a trace is tried with, as numbers of buffers."""
    there = blocks_read(read.read(path, count=choice.count))
    found = [max(LEAST_BUFFERS, round(there * share / 100)) for share in shares(choice.cache)]
    return list(dict.fromkeys(found))


def of_trace(path: Path, choice: argparse.Namespace) -> whole.Sweep:
    """The sweep of a trace."""
    asked = {"file": str(path), "format": "", "scale": "1", "drive": choice.drive, "fit": PACK}
    asked |= {"count": choice.count, "loop": "closed", "inflight": 1}
    written = replay_trace.write_experiment(argparse.Namespace(**asked))
    sizes = "|".join(map(str, buffers(path, choice)))
    arm = f"arm={replay_trace.USUAL}"
    over = ", ".join(filter(None, [arm, policies(), f"nbuf={sizes}", choice.others]))
    return whole.asked(str(written), over, want=wanted(TRACE_JOB, "read_blocks"))


def wanted(job: str, reads: str) -> str:
    """The metrics: misses for a block read, and ms."""
    return f"stat.bio.misses / job.{job}.{reads}, {job}.mean_ms"


def of_experiment(path: Path, choice: argparse.Namespace) -> whole.Sweep:
    """The sweep of an experiment: its first arm's policies, but for the replacement policy. Raises
    BadExperiment if none of its jobs reads."""
    of = opened(path, FULL)
    there = jobs.named(of.top["workload"].get("commands", ""))
    job = next((name for name in READ_JOBS if name in there), None)
    if not job:
        raise BadExperiment(f"E={path.stem}: none of its jobs is called {' or '.join(READ_JOBS)}")
    arm = of.top["arms"][0]["name"]
    over = ", ".join(filter(None, [f"arm={arm}", policies(), choice.others]))
    return whole.asked(str(path), over, want=wanted(job, "ios"))


def policies_of(row: dict) -> str:
    """The policies of a run, as they are shown."""
    kinds = [KIND, *(kind for kind in known().policies if kind != KIND)]
    return "+".join(row[kind] for kind in kinds if kind in row)


def varied(row: dict, sweep: whole.Sweep) -> str:
    """What tells a setting of a sweep from its others, in words."""
    lists = {axis.name: axis.grid() for axis in sweep.axes} | sweep.maker.of.sweep
    names = (name for name, values in lists.items() if len(values) > 1)
    told = {n: row[n] for n in names if n not in (*NOT_VARIED, *known().policies)}
    return ", ".join(
        f"{value} buffers" if name == "nbuf" else f"{name} {value}" for name, value in told.items()
    )


def settings(sweep: whole.Sweep, name: str, points: list[Measured]) -> Iterator[Setting]:
    """The settings of a sweep, in the order of their first runs."""
    missed, took = (each.metric for each in sweep.objectives)
    found: dict[str, dict[str, list[dict]]] = {}
    for point in points:
        for row in point.rows:
            all_of = point.point | row
            here = found.setdefault(varied(all_of, sweep), {})
            here.setdefault(policies_of(all_of), []).append(row)
    for where, of in found.items():
        seeds = max(map(len, of.values()))  # of which a run may have failed
        cells = [
            Cell(policy, [row[missed] for row in rows], [row[took] for row in rows])
            for policy, rows in of.items()
            if len(rows) == seeds
        ]
        yield Setting(name, where, cells)


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
        told += [who, f"{100 * (1 - cell.missed):.1f}", number(cell.took)]
    return [*told, lost]


HEADS = [
    *("load", "setting", "fewest misses", "hits, %", "ms"),
    *("least time", "hits, %", "ms", "loses by"),
]


def markdown(found: list[Setting]) -> str:
    """The table."""
    rows = [HEADS, ["---"] * len(HEADS), *map(line, found)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def summed_up(found: list[Setting]) -> str:
    """The answer, in a sentence."""
    lost = [one for one in found if one.loses and one.quickest not in one.fewest]
    if not lost:
        return f"In none of {len(found)} settings does the policy with the fewest misses lose."
    worst = max(lost, key=lambda one: one.loss)
    return (
        f"In {len(lost)} of {len(found)} settings the policy with the fewest misses loses in "
        f"milliseconds, at most by {100 * worst.loss:.1f} % ({worst.name}, {worst.varied}: "
        f"{worst.fewest[0].policy} against {worst.quickest.policy})."
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
        | {"policies": {c.policy: {"misses": c.misses, "mean_ms": c.ms} for c in one.cells}}
        for one in found
    ]
    return json.dumps(rows, indent=1) + "\n"


def restored(text: str) -> list[Setting]:
    """The settings that `stored` wrote."""
    return [
        Setting(
            row["load"],
            row["setting"],
            [Cell(name, of["misses"], of["mean_ms"]) for name, of in row["policies"].items()],
        )
        for row in json.loads(text)
    ]


def chosen(choice: argparse.Namespace) -> Iterator[tuple[str, whole.Sweep]]:
    """The sweeps that are asked for, with the names of their loads. Raises BadSweep."""
    expect_unvaried(choice.others)
    if not choice.traces and not choice.name:
        raise BadSweep("TRACES: give traces, as TRACES='a.csv.gz b.spc'; or E=, an experiment")
    paths = [Path(word).expanduser().resolve() for word in choice.traces.split()]
    names = [replay_trace.plain(path) for path in paths]
    for path, name in zip(paths, names, strict=True):
        alone = names.count(name) == 1
        yield name if alone else replay_trace.own_name(path), of_trace(path, choice)
    for word in choice.name.split():
        for path in named(word):
            yield path.stem, of_experiment(path, choice)


def do(choice: argparse.Namespace) -> bool:
    """Measure, and write what was found. Returns true if all runs were made."""
    found, failed = [], []
    for name, sweep in list(chosen(choice)):
        points, errors = sweeps.make(sweep, choice)
        found += settings(sweep, name, points)
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
    print(text)
    print(f"in {choice.out}: {', '.join(f'matrix.{ending}' for ending in parts)}")
    return not failed


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make matrix", description=__doc__)
    options.add_argument("name", nargs="?", default="", help="experiments")
    options.add_argument("--traces", default="", help="traces, with spaces between")
    options.add_argument("--cache", default=CACHE, help="percent of the blocks that a trace reads")
    options.add_argument("--with", dest="others", default="", help="others to try each with")
    options.add_argument("--drive", default=replay_trace.DRIVE, help="the drive of traces")
    options.add_argument("--count", type=int, help="of a trace's requests, from the first on")
    options.add_argument("--out", type=Path, default=OUT, help="where the results go")
    commandline.add_workers(options)
    commandline.add_folder(options, FOLDER)
    choice = options.parse_args()
    return commandline.status(lambda: do(choice), (BadTraceFile, BadSweep), replay_trace.in_words)


if __name__ == "__main__":
    sys.exit(stoppable(main, "all runs so far are kept; the same command goes on from there"))
