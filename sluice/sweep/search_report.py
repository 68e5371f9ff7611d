"""`sluice dev tune`: search the values of a policy's tunables, over many loads, drives and seeds.

SEARCH names a file of experiments/tune, an experiment with a table [tune]. The twin measures
candidates in the settings of the size `full` (sluice/sweep/tuning.py).

With --judge the machine also measures the best candidate and the arms of the file in the size
`held`, whose loads, drives and seeds took no part in the search. Tables of both are stored in
results/tune/NAME.md.

Runs that were made before are not made again, so the same command continues a stopped search. Equal
files give equal candidates.
"""

import math
import re
from itertools import groupby
from pathlib import Path
from statistics import mean

from sluice.experiment import interval, metrics, runner
from sluice.experiment.aligned import format_table
from sluice.experiment.files import write_atomically
from sluice.experiment.load import load
from sluice.experiment.progress import format_count, show_count, show_steps
from sluice.experiment.result import BadResult
from sluice.experiment.schema import BadExperiment
from sluice.experiment.selection import path_exists
from sluice.host import printing
from sluice.host.nearest import suggest
from sluice.host.paths import BUILD, ROOT
from sluice.sweep import tuning
from sluice.sweep.journal import Journal
from sluice.sweep.sampling import Point
from sluice.sweep.sweep_runs import open_measurer
from sluice.sweep.tuning import Found, Search, Setting, Trials

FILES = ROOT / "experiments" / "tune"
STORED = ROOT / "results" / "tune"
FOLDER = BUILD / "tune"
HELD = "held"
FOUND = "found"
CHANGES = "what it changes"
BOLD = re.compile(r"\*\*(.+)\*\*")
SURE = "* the 95 % interval excludes 0"


def format_difference(trials: list[float]) -> str:
    """Return a mean difference as percent, with its interval; in bold if that excludes 0."""

    def percent(value: float) -> str:
        """Return the difference whose logarithm this is, in percent."""
        return f"{100 * (math.exp(value) - 1):+.1f}"

    sure = interval.mean_interval(trials)
    if not sure:
        return f"{percent(mean(trials))} %"
    text = f"{percent(mean(trials))} % ({percent(sure.low)} to {percent(sure.high)})"
    return text if sure.low <= 0 <= sure.high else f"**{text}**"


def describe_changes(search: Search, point: Point) -> str:
    """Return the values of a point that differ from the arm's, in words."""
    found = search.changed_values(point).items()
    return ", ".join(f"{n.rpartition('.')[2]} {value}" for n, value in found) or "nothing"


def table_row(*cells: object) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def table_head(*cells: str) -> list[str]:
    """Return the two rows of a table's head in Markdown."""
    return [table_row(*cells), "|---|" + "---|" * (len(cells) - 1)]


def format_for_terminal(text: list[str]) -> list[str]:
    """Return the lines of a page in Markdown for the terminal: its tables aligned, and its
    sentences filled. What is bold in a table has a star instead."""
    lines: list[str] = []
    for is_table, part in groupby(text, key=lambda line: line.startswith("|")):
        if not is_table:
            lines += [
                line for sentence in part for line in printing.fill_lines(sentence, 0) or [""]
            ]
            continue
        head, _, *rows = ([cell.strip(" `") for cell in line.split("|")[1:-1]] for line in part)
        told = [[BOLD.sub(r"\1 *", cell) for cell in row] for row in rows]
        lines += format_table([head, *told], words=[head.index(CHANGES)] if CHANGES in head else [])
        if any(cell.endswith(" *") for row in told for cell in row):
            lines += ["", *printing.fill_lines(SURE, 0)]
    return lines


def settings_table(search: Search, settings: dict[Setting, dict[str, list[float]]]) -> list[str]:
    """Return a table of the differences in each setting."""
    text = table_head("setting", *(f"`{name}`" for name in search.metrics))
    for setting, row in settings.items():
        name = ", ".join(str(value) for _, value in setting)
        text.append(table_row(name, *(format_difference(row[metric]) for metric in search.metrics)))
    return text


def search_summary(search: Search, found: Found) -> list[str]:
    """Return the lines of a search's report in Markdown: how many candidates were better than
    the arm, a table of the finalists, and the best one's differences in each setting."""
    less = sum(mean(c.screened) < 0 for c in found.candidates)
    first, others = search.seeds
    text = [
        f"Of {len(found.candidates)} candidates {less} have less than the values of "
        f'"{search.arm}" over all settings, with {format_count(len(first), "seed")}. '
        f"The best of them, with that and with {len(others)} others:",
        "",
        *table_head("candidate", CHANGES, "screened", "other seeds"),
    ]
    for c in found.finalists:
        text.append(
            table_row(
                c.number,
                describe_changes(search, c.point),
                format_difference([mean(c.screened)]),
                format_difference(c.others),
            )
        )
    if not found.best:
        return [*text, "", "None of them is significantly better, so nothing changes."]
    text += ["", f"What was found: candidate {found.best.number}. With the other seeds:", ""]
    return text + settings_table(search, found.settings)


def machine_comparison(search: Search, found: Found, jobs: int) -> list[str]:
    """Return lines that compare the best candidate with the file's arms in the size `held`.

    Raises BadResult if a run fails.
    """
    if not found.best:
        return []
    arms = [search.to_arm(found.best.point, FOUND)]
    experiment = load(search.path, HELD, arms=arms)
    with show_steps(f"{experiment.name}, in the machine", len(experiment.runs)) as report:
        outcome = runner.execute(experiment, experiment.runs, jobs, report, FOLDER)
    if outcome.errors:
        raise BadResult("\n".join(f"{name}: {why}" for name, why in outcome.errors.items()))
    of_arm: dict[str, Trials] = {}
    for result in outcome.results:
        figures = {name: metrics.evaluate(result, name) for name in search.metrics}
        of_arm.setdefault(result["arm"], {})[tuple(result["variables"].items())] = figures
    text = [
        "",
        "What was found, against the arms of the file, under loads, on drives and with seeds that "
        "were held back from the search, in the machine:",
        "",
        *table_head("against", *(f"`{name}`" for name in search.metrics)),
    ]
    for arm, trials in of_arm.items():
        if arm != FOUND:
            logs = [
                tuning.differences_by_seed(of_arm[FOUND], trials, [name]) for name in search.metrics
            ]
            text.append(table_row(arm, *(format_difference(list(each.values())) for each in logs)))
    settings = tuning.differences_by_setting(of_arm[FOUND], of_arm[search.arm], search.metrics)
    text += ["", f'Each of these settings, against "{search.arm}":', ""]
    return text + settings_table(search, settings)


def search_and_store(name: str, judge: bool, jobs: int) -> bool:
    """Make the search, and store its results. Returns true."""
    path = FILES / f"{name}.toml"
    if not path_exists(path, Path.is_file):
        near = suggest(name, [file.stem for file in sorted(FILES.glob("*.toml"))])
        raise BadExperiment(f"{name}: there is no such search; {near}")
    search = tuning.read_search(path)
    journal = Journal(FOLDER / f"{path.stem}.jsonl")
    with (
        show_count(f"search of {path.stem}", search.runs) as done,
        open_measurer(journal, search.metrics, jobs) as measurer,
    ):
        found = tuning.run_search(search, measurer, done)
    text = search_summary(search, found)
    if judge:
        text += machine_comparison(search, found, jobs)
    print("\n".join([*format_for_terminal(text), ""]))
    if judge:
        STORED.mkdir(exist_ok=True)
        write_atomically(STORED / f"{name}.md", "\n".join([*text, ""]))
        print(f"stored: {STORED / name}.md")
    return True
