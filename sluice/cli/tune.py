"""`make tune`: search the values of a policy's tunables, over many loads, drives and seeds.

E= names a file of experiments/tune, an experiment with a table [tune]. The twin measures
candidates in the settings of the size `full` (sluice/sweep/tuning.py).

With JUDGE=1 the machine measures what was found in the size `held`, whose loads, drives and seeds
took no part in the search, beside the arms of the file. Tables of both are stored in
results/tune/NAME.md.

Runs that were made before are not made again, so that a search that was stopped goes on. Equal
files give equal candidates.
"""

import argparse
import math
import re
import sys
from itertools import groupby
from pathlib import Path
from statistics import mean

from sluice.experiment import commandline, interval, metrics, runner
from sluice.experiment.aligned import aligned
from sluice.experiment.files import write_whole
from sluice.experiment.load import load
from sluice.experiment.progress import counted, counting, reporting
from sluice.experiment.result import BadResult
from sluice.experiment.schema import BadExperiment
from sluice.experiment.selection import there
from sluice.host import printing
from sluice.host.interrupt import stoppable
from sluice.host.nearest import meant
from sluice.host.paths import BUILD, ROOT
from sluice.sweep import tuning
from sluice.sweep.journal import Journal
from sluice.sweep.sweep_runs import measuring
from sluice.sweep.tuning import Found, Search, Trials

FILES = ROOT / "experiments" / "tune"
STORED = ROOT / "results" / "tune"
FOLDER = BUILD / "tune"
HELD = "held"
FOUND = "found"
CHANGES = "what it changes"
BOLD = re.compile(r"\*\*(.+)\*\*")
SURE = "* the 95 % interval excludes 0"


def told(trials: list[float]) -> str:
    """A mean difference as percent, with its interval; in bold if that excludes 0."""

    def percent(value: float) -> str:
        return f"{100 * (math.exp(value) - 1):+.1f}"

    sure = interval.of_mean(trials)
    if not sure:
        return f"{percent(mean(trials))} %"
    text = f"{percent(mean(trials))} % ({percent(sure.low)} to {percent(sure.high)})"
    return text if sure.low <= 0 <= sure.high else f"**{text}**"


def changes(search: Search, point: dict) -> str:
    """What a point changes of the arm, in words."""
    found = search.changes(point).items()
    return ", ".join(f"{n.rpartition('.')[2]} {value}" for n, value in found) or "nothing"


def row_of(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def head_of(*cells: str) -> list[str]:
    return [row_of(*cells), "|---|" + "---|" * (len(cells) - 1)]


def on_terminal(text: list[str]) -> list[str]:
    """The lines of a page in Markdown for the terminal: its tables aligned, and its sentences
    filled. What is bold in a table has a star instead."""
    lines: list[str] = []
    for is_table, part in groupby(text, key=lambda line: line.startswith("|")):
        if not is_table:
            lines += [line for sentence in part for line in printing.filled(sentence, 0) or [""]]
            continue
        head, _, *rows = ([cell.strip(" `") for cell in line.split("|")[1:-1]] for line in part)
        told = [[BOLD.sub(r"\1 *", cell) for cell in row] for row in rows]
        lines += aligned([head, *told], words=[head.index(CHANGES)] if CHANGES in head else [])
        if any(cell.endswith(" *") for row in told for cell in row):
            lines += ["", *printing.filled(SURE, 0)]
    return lines


def of_settings(search: Search, settings: dict[tuple, dict[str, list[float]]]) -> list[str]:
    """A table of the differences in each setting."""
    text = head_of("setting", *(f"`{name}`" for name in search.metrics))
    for setting, row in settings.items():
        name = ", ".join(str(value) for _, value in setting)
        text.append(row_of(name, *(told(row[metric]) for metric in search.metrics)))
    return text


def of_search(search: Search, found: Found) -> list[str]:
    """What the search came to."""
    less = sum(mean(c.screened) < 0 for c in found.candidates)
    first, others = search.seeds
    text = [
        f"Of {len(found.candidates)} candidates {less} have less than the values of "
        f'"{search.arm}" over all settings, with {counted(len(first), "seed")}. The best of them, '
        f"with that and with {len(others)} others:",
        "",
        *head_of("candidate", CHANGES, "screened", "other seeds"),
    ]
    for c in found.finalists:
        text.append(
            row_of(c.number, changes(search, c.point), told([mean(c.screened)]), told(c.others))
        )
    if not found.best:
        return [*text, "", "None of them is better for sure, so nothing changes."]
    text += ["", f"What was found: candidate {found.best.number}. With the other seeds:", ""]
    return text + of_settings(search, found.settings)


def of_machine(search: Search, found: Found, jobs: int) -> list[str]:
    """How what was found compares with the file's arms where nothing was tuned."""
    if not found.best:
        return []
    arms = [search.as_an_arm(found.best.point, FOUND)]
    experiment = load(search.path, HELD, arms=arms)
    with reporting(f"{experiment.name}, in the machine", len(experiment.runs)) as report:
        outcome = runner.execute(experiment, experiment.runs, jobs, report, FOLDER)
    if outcome.errors:
        raise BadResult("\n".join(f"{name}: {why}" for name, why in outcome.errors.items()))
    of_arm: dict[str, Trials] = {}
    for result in outcome.results:
        figures = {name: metrics.of(result, name) for name in search.metrics}
        of_arm.setdefault(result["arm"], {})[tuple(result["variables"].items())] = figures
    text = [
        "",
        "What was found, against the arms of the file, under loads, on drives and with seeds that "
        "were held back from the search, in the machine:",
        "",
        *head_of("against", *(f"`{name}`" for name in search.metrics)),
    ]
    for arm, trials in of_arm.items():
        if arm != FOUND:
            logs = [tuning.by_seed(of_arm[FOUND], trials, [name]) for name in search.metrics]
            text.append(row_of(arm, *(told(list(each.values())) for each in logs)))
    settings = tuning.by_setting(of_arm[FOUND], of_arm[search.arm], search.metrics)
    text += ["", f'Each of these settings, against "{search.arm}":', ""]
    return text + of_settings(search, settings)


def do(choice: argparse.Namespace) -> bool:
    """Make the search, and store what was judged."""
    path = FILES / f"{choice.name}.toml"
    if not there(path, Path.is_file):
        near = meant(choice.name, [file.stem for file in sorted(FILES.glob("*.toml"))])
        raise BadExperiment(f"E={choice.name}: there is no such search; {near}")
    search = tuning.search_of(path)
    journal = Journal(FOLDER / f"{path.stem}.jsonl")
    with (
        counting(f"search of {path.stem}", search.runs) as done,
        measuring(journal, search.metrics, choice.jobs) as measurer,
    ):
        found = tuning.searched(search, measurer, done)
    text = of_search(search, found)
    if choice.judge:
        text += of_machine(search, found, choice.jobs)
    print("\n".join([*on_terminal(text), ""]))
    if choice.judge:
        STORED.mkdir(exist_ok=True)
        write_whole(STORED / f"{choice.name}.md", "\n".join([*text, ""]))
        print(f"stored: {STORED / choice.name}.md")
    return True


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make tune", description=__doc__)
    options.add_argument("name", help="a file of experiments/tune, without its ending")
    commandline.add_jobs(options)
    options.add_argument("--judge", action="store_true", help="judge the result by what is held")
    choice = options.parse_args()
    return commandline.status(lambda: do(choice))


if __name__ == "__main__":
    sys.exit(stoppable(main, "the same command goes on from there"))
