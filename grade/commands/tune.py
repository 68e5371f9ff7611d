"""`make tune`: search the values of a policy's tunables, over many loads, drives and seeds.

E= names a file of grade/experiments/tune, an experiment with a table [tune]. The search begins
with the values of one arm, the best so far. In each round it draws candidates: each changes about a
third of the best's values to others of the file, by chance. All are measured in all settings of the
size `full`, with the first seed. Those that are best there, the finalists, are measured with the
other seeds, too. A finalist becomes the best only if its difference from the best over these has a
95 % interval that excludes 0.

The difference of two arms with a seed is the mean, over settings and metrics, of the logarithm of
their ratio: so ten percent less in one makes up for ten percent more in another.

With JUDGE=1 the best is measured in the size `held`, whose loads, drives and seeds took no part in
the search, beside the arms of the file. Tables of both are stored in grade/results/tune/NAME.md.

Runs that were made before are not made again, so that a search that was stopped goes on. Equal
files give equal candidates.
"""

import argparse
import math
import random
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from grade.host.interrupt import stoppable
from grade.host.paths import BUILD, ROOT
from grade.measure import commandline, interval, metrics, runner
from grade.measure.files import write_whole
from grade.measure.load import FULL, load, read_toml
from grade.measure.progress import reporting
from grade.measure.result import BadResult
from grade.measure.schema import BadExperiment, Experiment

FILES = ROOT / "grade" / "experiments" / "tune"
STORED = ROOT / "grade" / "results" / "tune"
FOLDER = BUILD / "tune"
HELD = "held"
CHANGED = 1 / 3  # of the values of a candidate
SEED = 1994

Values = dict[str, int]


@dataclass(frozen=True)
class Search:
    """What is searched: the file, its [tune], and the arm that it begins with."""

    path: Path
    tune: dict
    arm: dict

    def named(self, name: str, values: Values) -> dict:
        """An arm of the file with other values."""
        return self.arm | {"name": name, "tunables": self.arm.get("tunables", {}) | values}


def search_of(path: Path) -> Search:
    """The search that a file asks for."""
    tune = load(path).tune
    if not tune:
        raise BadExperiment(f"{path}: there is no [tune]")
    arms = {arm["name"]: arm for arm in read_toml(path)[0]["arms"]}
    return Search(path, tune, arms[tune["arm"]])


def drawn(best: Values, choices: dict[str, list[int]], count: int, chance: random.Random) -> list:
    """So many different changes of the best."""
    found: list[Values] = []
    while len(found) < count:
        changed = {
            name: chance.choice([value for value in values if value != best.get(name)])
            for name, values in choices.items()
            if chance.random() < CHANGED
        }
        if changed and best | changed not in found:
            found.append(best | changed)
    return found


def differences(results: list[dict], arm: str, other: str, names: list[str]) -> dict:
    """The mean logarithm of the arms' ratios, of each trial that both have, by its variables."""

    def trials(name: str) -> dict[tuple, dict]:
        return {tuple(r["variables"].items()): r for r in results if r["arm"] == name}

    def logarithm(one: dict, than: dict, name: str) -> float:
        return math.log(metrics.of(one, name) / metrics.of(than, name))

    mine, others = trials(arm), trials(other)
    return {
        key: mean(logarithm(mine[key], others[key], name) for name in names)
        for key in mine.keys() & others.keys()
    }


def by_seed(found: dict[tuple, float]) -> dict[object, float]:
    """The mean difference of each seed."""
    seeds: dict[object, list[float]] = {}
    for key in sorted(found):
        seeds.setdefault(dict(key).get("seed"), []).append(found[key])
    return {seed: mean(values) for seed, values in seeds.items()}


def told(trials: list[float]) -> str:
    """A mean difference as percent, with its interval; in bold if that excludes 0."""

    def percent(value: float) -> str:
        return f"{100 * (math.exp(value) - 1):+.1f}"

    sure = interval.of_mean(trials)
    if not sure:
        return f"{percent(mean(trials))} %"
    text = f"{percent(mean(trials))} % ({percent(sure.low)} to {percent(sure.high)})"
    return text if sure.low <= 0 <= sure.high else f"**{text}**"


def surely_less(trials: list[float]) -> bool:
    """Is the mean difference told apart from 0, and less?"""
    sure = interval.of_mean(trials)
    return sure is not None and sure.high < 0


def measured(
    search: Search,
    size: str,
    arms: list[dict],
    names: list[str],
    jobs: int,
    seeds: Collection | None = None,
) -> list:
    """The results of the named arms, of which `arms` are added to those of the file; with these
    seeds only, if any are given."""
    experiment: Experiment = load(search.path, size, arms=arms)
    only = [
        run
        for run in experiment.runs
        if run.arm in names and (not seeds or run.variables["seed"] in seeds)
    ]
    with reporting(f"{experiment.name}, {len(names)} arms", len(only)) as report:
        outcome = runner.execute(experiment, only, jobs, report, FOLDER)
    if outcome.errors:
        raise BadResult("\n".join(f"{name}: {why}" for name, why in outcome.errors.items()))
    return [result for result in outcome.results if result["arm"] in names]


def changes(values: Values, begin: Values) -> str:
    """The values that differ from those at the beginning."""
    found = [f"{k.partition('.')[2]} {v}" for k, v in values.items() if v != begin.get(k)]
    return ", ".join(found) or "none"


def searched(search: Search, jobs: int) -> tuple[Values, list[str]]:
    """The best values, and the rows of a table of all candidates."""
    tune, begin = search.tune, dict(search.arm.get("tunables", {}))
    first, *others = dict.fromkeys(run.variables["seed"] for run in load(search.path).runs)
    chance, best, best_name, rows = random.Random(SEED), begin, tune["arm"], []

    def differing(names: list[str], seeds: list) -> dict[str, list[float]]:
        """The differences of the named arms from the best, of these seeds."""
        found = measured(search, FULL, arms, [*names, best_name], jobs, seeds)
        logs = {n: by_seed(differences(found, n, best_name, tune["metrics"])) for n in names}
        return {name: [each[seed] for seed in seeds] for name, each in logs.items()}

    for number in range(tune["rounds"]):
        drawn_now = drawn(best, tune["values"], tune["candidates"], chance)
        values = {f"{number + 1}.{i + 1}": each for i, each in enumerate(drawn_now)}
        arms = [search.named(name, each) for name, each in values.items()]
        if best_name != tune["arm"]:
            arms.append(search.named(best_name, best))
        screened = differing(list(values), [first])
        finalists = sorted(screened, key=screened.get)[: tune["finalists"]]
        trials = differing(finalists, others)
        for name, each in values.items():
            final = told(trials[name]) if name in trials else ""
            cells = (name, changes(each, begin), best_name, told(screened[name]), final)
            rows.append(f"| {' | '.join(cells)} |")
        better = [name for name in finalists if surely_less(trials[name])]
        if better:
            best_name = min(better, key=lambda name: mean(trials[name]))
            best = values[best_name]
    rows.append("")
    rows.append(f"The best: {best_name}, which changes {changes(best, begin)}.")
    return best, rows


def judged(search: Search, best: Values, jobs: int) -> list[str]:
    """The rows of a table that compares the best with the file's arms where nothing was tuned."""
    names = [arm["name"] for arm in read_toml(search.path)[0]["arms"]]
    results = measured(search, HELD, [search.named("found", best)], [*names, "found"], jobs)
    rows = []
    for name in names:
        cells = [
            told(list(by_seed(differences(results, "found", name, [metric])).values()))
            for metric in search.tune["metrics"]
        ]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return rows


def page(search: Search, rows: list[str], held: list[str]) -> str:
    """The stored text."""
    metrics_row = " | ".join(f"`{name}`" for name in search.tune["metrics"])
    text = [
        "Candidates, and their difference from the best before them, over all settings of the",
        "search: with its first seed and, of finalists, with the others.",
        "",
        "| candidate | what it changes | compared with | first seed | other seeds |",
        "|---|---|---|---|---|",
        *rows,
    ]
    if held:
        text += [
            "",
            "What was found, against the arms of the file, under loads, on drives and with seeds",
            "that were held back from the search:",
            "",
            f"| against | {metrics_row} |",
            "|---|" + "---|" * len(search.tune["metrics"]),
            *held,
        ]
    return "\n".join([*text, ""])


def do(choice: argparse.Namespace) -> bool:
    """Make the search, and store what was judged."""
    path = FILES / f"{choice.name}.toml"
    if not path.exists():
        there = ", ".join(file.stem for file in sorted(FILES.glob("*.toml")))
        raise BadExperiment(f"E={choice.name}: there is no such search; there are {there}")
    search = search_of(path)
    best, rows = searched(search, choice.jobs)
    text = page(search, rows, judged(search, best, choice.jobs) if choice.judge else [])
    print(text)
    if choice.judge:
        STORED.mkdir(exist_ok=True)
        write_whole(STORED / f"{choice.name}.md", text)
        print(f"stored: {STORED / choice.name}.md")
    return True


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make tune", description=__doc__)
    options.add_argument("name", help="a file of grade/experiments/tune, without its ending")
    commandline.add_jobs(options)
    options.add_argument("--judge", action="store_true", help="judge the result by what is held")
    choice = options.parse_args()
    return commandline.status(lambda: do(choice))


if __name__ == "__main__":
    sys.exit(stoppable(main, "the same command goes on from there"))
