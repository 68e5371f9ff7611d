"""`sluice validate repeat`: make experiments in several ways and compare all bytes of the results.

The first way is this tree's machine. The others are the twin, other QEMUs, and other compilers,
each of which builds a copy of the tree in build/repeat. In charged time all of them must come to
the same results. Counted time depends on the compiler, and the twin has no counted time: of an
experiment with counted time, results are compared under the QEMUs only, and a table says by how
much another compiler moves its times, and which verdicts it changes. With --page that table goes
into the book. With --draw only some runs of each experiment are made, so nothing is judged, and
there is no such table.

tools/other_qemu.sh and tools/other_compiler.sh fetch a QEMU and a compiler.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median

from sluice.experiment import runner
from sluice.experiment.aligned import format_table
from sluice.experiment.expect import judge_experiment
from sluice.experiment.jobs import numbers_by_name
from sluice.experiment.progress import show_steps
from sluice.experiment.records import RunResult
from sluice.experiment.schema import BadExperiment, Experiment
from sluice.experiment.selection import (
    has_charged_time,
    load_experiments,
    twin_variant,
)
from sluice.host import page_tables, printing
from sluice.host.paths import BUILD, ROOT
from sluice.host.version import version_line
from sluice.system.qemu import program

FOLDER = BUILD / "repeat"
SHOWN = 5  # figures that differ, for each run
MADE_BY = ("key", "kernel", "images", "experiment")  # of a result: what made it, not what came out
BUILDING = "build.log"
GOALS = ("all", "build/native/drive_parts_tool", "build/native/drive_replay_tool")
LEFT_OUT = (".git", ".venv", "build")  # of a copy of the tree
PAGE, TABLE = ROOT / "book" / "pages" / "inside" / "clock.md", "<!-- table: counted -->"


@dataclass(frozen=True)
class Way:
    """A way to make results: a name for people and folders, and what differs from this tree's
    machine."""

    name: str
    qemu: str = ""
    compiler: str = ""  # the prefix of its programs
    twin: bool = False

    def makes(self, experiment: Experiment) -> bool:
        """Return whether this way must come to the results of this tree's machine."""
        return has_charged_time(experiment) or not (self.compiler or self.twin)


@dataclass
class Compared:
    """An experiment and one way: how many runs it has, how many are equal, and what differs."""

    experiment: str
    way: str
    runs: int
    equal: int = 0
    complaints: list[str] = field(default_factory=list)


def to_folder_name(text: str) -> str:
    """Return a text as a name of a folder."""
    return re.sub(r"[^\w.+-]+", "_", text).strip("_")


def qemu_way(qemu: str) -> Way:
    """Return the way to repeat runs with another QEMU. Raises OSError if there is none."""
    return Way(to_folder_name("QEMU " + version_line(qemu).split("version ")[1]), qemu=qemu)


def compiler_way(prefix: str) -> Way:
    """Return the way to repeat runs with another compiler. Raises OSError if there is none."""
    return Way(to_folder_name(version_line(f"{prefix}gcc")), compiler=prefix)


def choose_ways(qemus: Iterable[str], compilers: Iterable[str], twin: bool) -> list[Way]:
    """Return the ways to compare, this tree's machine first. Raises BadExperiment if two are the
    same or there is only one, and OSError if there is no such program."""
    ways = [qemu_way(program()), *map(qemu_way, qemus), *map(compiler_way, compilers)]
    ways += [Way("twin", twin=True)] if twin else []
    names = [way.name for way in ways]
    for name in names:
        if names.count(name) > 1:
            raise BadExperiment(f"{name}: two of the ways to be compared are the same")
    if len(ways) == 1:
        raise BadExperiment("there is only one way: name another QEMU or compiler")
    return ways


# ---- drawing ----


@dataclass(frozen=True)
class Draw:
    """How many runs of each experiment are made, and the seed by which they are drawn; 0 runs:
    all."""

    runs: int = 0
    seed: int = 0

    def pick(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the runs that are drawn, in their order. What is drawn of one
        experiment does not depend on the others."""
        if not self.runs or self.runs >= len(experiment.runs):
            return experiment
        chance = random.Random(f"{self.seed} {experiment.name}")
        drawn = chance.sample(range(len(experiment.runs)), self.runs)
        return replace(experiment, runs=[experiment.runs[i] for i in sorted(drawn)])


ALL_RUNS = Draw()


# ---- making ----


def make_here(
    names: Sequence[str],
    size: str,
    folder: Path,
    jobs: int,
    twin: bool = False,
    draw: Draw = ALL_RUNS,
) -> None:
    """Make the runs of experiments in this process's tree. The results are in the folder."""
    loaded = [draw.pick(load_experiments(name, size)[0]) for name in names]
    experiments = list(map(twin_variant, loaded)) if twin else loaded
    asked = [(experiment, experiment.runs) for experiment in experiments]
    with show_steps(folder.name, sum(len(only) for _, only in asked)) as report:
        for outcome in runner.execute_all(asked, jobs, report, folder):
            for run, error in outcome.errors.items():
                print(f"{run}: {error}", file=sys.stderr)


def build_copy(way: Way, folder: Path) -> Path:
    """Build a copy of the tree by another compiler. Returns the copy. Raises BadExperiment if it
    cannot be built."""
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(
        ROOT, tree, symlinks=True, ignore=lambda at, _: LEFT_OUT if at == str(ROOT) else ()
    )
    line = ["make", "SETUP=no", f"TOOLPREFIX={way.compiler}", *GOALS]
    with (folder / BUILDING).open("wb") as log:
        done = subprocess.run(line, cwd=tree, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise BadExperiment(f"{way.name}: the tree cannot be built by it: {folder / BUILDING}")
    return tree


# The work of a process of a copy of the tree.
MAKE_THERE = """\
import json, sys
from pathlib import Path
from sluice.experiment import repeat
names, size, folder, jobs, draw = json.loads(sys.argv[1])
repeat.make_here(names, size, Path(folder), jobs, draw=repeat.Draw(**draw))
"""


def make_there(
    way: Way, names: Sequence[str], size: str, folder: Path, jobs: int, draw: Draw
) -> None:
    """Make the runs of experiments in a copy of the tree, by a process of that copy."""
    tree = build_copy(way, folder)
    asked = json.dumps([names, size, str(folder), jobs, asdict(draw)])
    line = [sys.executable, "-P", "-c", MAKE_THERE, asked]
    environment = {**os.environ, "PYTHONPATH": str(tree), "TOOLPREFIX": way.compiler}
    environment.pop("SLUICE_SNAPSHOT", None)
    subprocess.run(line, cwd=tree, env=environment, stdin=subprocess.DEVNULL, check=True)


def make_way(way: Way, names: Sequence[str], size: str, base: Path, jobs: int, draw: Draw) -> None:
    """Make the runs of experiments in one way."""
    folder = base / way.name
    if way.compiler:
        make_there(way, names, size, folder, jobs, draw)
        return
    before = os.environ.get("QEMU")
    try:
        if way.qemu:
            os.environ["QEMU"] = way.qemu
        runner.qemu_version.cache_clear()
        make_here(names, size, folder, jobs, way.twin, draw)
    finally:
        os.environ.pop("QEMU", None)
        os.environ.update({} if before is None else {"QEMU": before})


# ---- comparing ----


Rows = dict[str, dict[str, object]]  # results by arm and variables


def read_results(folder: Path, name: str) -> Rows:
    """Return an experiment's results by arm and variables, without what says who made them."""
    rows: Rows = {}
    for line in (folder / name / "results.jsonl").read_text(encoding="utf-8").splitlines():
        result = {key: value for key, value in json.loads(line).items() if key not in MADE_BY}
        result["config"].pop("engine", None)
        rows[json.dumps([result["arm"], result["variables"]])] = result
    return rows


def differences(one: object, other: object, at: str = "") -> Iterator[str]:
    """Return the places where two values of JSON differ, each with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            yield from differences(one.get(name), other.get(name), f"{at}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{at}[{i}]")
    elif one != other:
        yield f"{at.removeprefix('.')}: {str(one)[:40]} and {str(other)[:40]}"


def compare(experiment: Experiment, here: Rows, way: Way, there: Rows) -> Compared:
    """Return how the results of one way differ from those of this tree's machine."""
    compared = Compared(experiment.name, way.name, len(experiment.runs))
    for run in experiment.runs:
        key = json.dumps([run.arm, run.variables])
        one, other = here.get(key), there.get(key)
        if one and other and runner.to_line(one) == runner.to_line(other):
            compared.equal += 1
            continue
        found = list(differences(one, other))
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        compared.complaints.append(f"{run.name}: " + "; ".join(found[:SHOWN] + more))
    return compared


def compare_all(experiments: list[Experiment], ways: list[Way], base: Path) -> Iterator[Compared]:
    """Yield how the results of each further way differ, by experiment."""
    first, *others = ways
    for experiment in experiments:
        here = read_results(base / first.name, experiment.name)
        for way in others:
            if way.makes(experiment):
                name = twin_variant(experiment).name if way.twin else experiment.name
                yield compare(experiment, here, way, read_results(base / way.name, name))


# ---- how far a compiler moves counted time ----


@dataclass
class Moved:
    """A counted experiment and a compiler: by how many per cent its times differ from those of this
    tree's, and the verdicts that differ."""

    experiment: str
    way: str
    percents: list[float]
    verdicts: list[str]


def read_rows(folder: Path, name: str) -> list[RunResult]:
    """Return an experiment's results."""
    text = (folder / name / "results.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def times_of(result: RunResult) -> dict[str, float]:
    """Return the times in a result, by name: the jobs' times, and the counters in ns."""
    found = {name: float(n) for name, (n, unit) in result["counters"].items() if unit == "ns"}
    for number, row in enumerate(result["jobs"]):
        numbers = numbers_by_name(row).items()
        found |= {f"{number} {name}": n for name, n in numbers if "_ns" in name}
    return found


def measure_moves(experiment: Experiment, way: Way, base: Path, first: Way) -> Moved:
    """Return how far a compiler moves the times and verdicts of a counted experiment."""
    here, there = (read_rows(base / each.name, experiment.name) for each in (first, way))
    pairs = [
        (value, other[name])
        for one, other in zip(map(times_of, here), map(times_of, there), strict=True)
        for name, value in one.items()
        if value and name in other
    ]
    judged = [judge_experiment(experiment, rows) for rows in (here, there)]
    verdicts = [
        f"{one.says}: {one.word} here, {other.word} there"
        for one, other in zip(*judged, strict=True)
        if one.word != other.word
    ]
    percents = [abs(other / value - 1) * 100 for value, other in pairs]
    return Moved(experiment.name, way.name, percents, verdicts)


def moves_cells(row: Moved) -> list[str]:
    """Return how far a compiler moves an experiment, as cells: its times, the median and the
    largest move of one, and the number of verdicts that differ."""
    moves = [f"{move(row.percents):.2f} %" for move in (median, max)]
    return [str(len(row.percents)), *moves, str(len(row.verdicts))]


def short_name(way: str) -> str:
    """Return a compiler's name and version alone, as gcc 15.3.0."""
    found = re.search(r"(gcc|clang).*?(\d+\.\d+\.\d+)$", way)
    return f"{found[1]} {found[2]}" if found else way


def put_moves(rows: list[Moved]) -> None:
    """Put a row for each counted experiment and compiler into the book's page."""
    cells = [[f"`{row.experiment}`", short_name(row.way), *moves_cells(row)] for row in rows]
    page_tables.put_rows(PAGE, TABLE, cells, names=2)


def moves_table(rows: list[Moved]) -> str:
    """Return a row for each counted experiment and compiler. Below are the verdicts that differ."""
    cells = [[row.experiment, row.way, *moves_cells(row)] for row in rows]
    head = ["counted time", "compiler", "times", "median moves by", "largest", "verdicts"]
    lines = format_table([head, *cells], words=(1,))
    for row in rows:
        for verdict in row.verdicts:
            lines += printing.fill_lines(f"{row.experiment}, {row.way}: {verdict}", 4)
    return "\n".join(lines)


def table(rows: list[Compared]) -> str:
    """Return a table with a row for each experiment and way. Lines below it say what differs."""
    equal, count = sum(row.equal for row in rows), sum(row.runs for row in rows)
    cells = [[row.experiment, row.way, str(row.runs), str(row.equal)] for row in rows]
    lines = format_table(
        [["", "compared with", "runs", "equal"], *cells, ["all", "", str(count), str(equal)]],
        words=(1,),
    )
    for row in rows:
        for complaint in row.complaints:
            lines += printing.fill_lines(f"{row.experiment}, {row.way}: {complaint}", 4)
    return "\n".join(lines)


def execute(
    whole: list[Experiment],
    ways: list[Way],
    folder: Path,
    jobs: int,
    page: bool = False,
    draw: Draw = ALL_RUNS,
) -> bool:
    """Make all runs in all ways and print the tables. page: put how far compilers move times into
    the book. draw: make the drawn runs only, and only where results must be equal. Returns true if
    all results are equal that must be, and no compiler changes a verdict."""
    experiments = [draw.pick(each) for each in whole]
    for way in ways:
        judged = way.compiler and not draw.runs
        names = [str(each.path) for each in experiments if judged or way.makes(each)]
        if names:
            make_way(way, names, experiments[0].size, folder, jobs, draw)
    rows = list(compare_all(experiments, ways, folder))
    print(f"\ncompared with {ways[0].name}:\n{table(rows)}")
    moved = [
        measure_moves(each, way, folder, ways[0])
        for each in experiments
        for way in ways
        if way.compiler and not way.makes(each) and not draw.runs
    ]
    if moved:
        print(f"\n{moves_table(moved)}")
    if page:
        put_moves(moved)
    return all(row.equal == row.runs for row in rows) and not any(row.verdicts for row in moved)
