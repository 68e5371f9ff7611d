"""The experiments that a word means: a name, the beginning of names, a file, or a folder."""

import difflib
from dataclasses import replace
from pathlib import Path

from grade.host.paths import ROOT
from grade.measure.load import FULL, load, read_toml
from grade.measure.schema import TWIN, BadExperiment, Experiment, Run

EXPERIMENTS = ROOT / "grade" / "experiments"
ALL = "all"
DEFAULT = "mogul-4.1"  # the beginning of the names that are run if none is given


def named(name: str) -> list[Path]:
    """The files that a word means: a path, a folder with its `/`, or the beginning of names."""
    if name.endswith(".toml"):
        return [Path(name)]
    if name == ALL or name.endswith("/"):
        return sorted((EXPERIMENTS if name == ALL else Path(name)).glob("*.toml"))
    exact = EXPERIMENTS / f"{name}.toml"
    found = [exact] if exact.exists() else sorted(EXPERIMENTS.glob(f"{name}*.toml"))
    if not found:
        names = [path.stem for path in sorted(EXPERIMENTS.glob("*.toml"))]
        near = difflib.get_close_matches(name, names, 1)
        meant = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(names)}"
        raise BadExperiment(f"E={name}: there is no such experiment; {meant}")
    return found


def chosen(name: str, size: str | None, policy: str = "") -> list[Experiment]:
    """The experiments that a word means, in this size; with `policy` measured in each, too."""
    size = size or ("quick" if name == ALL else FULL)
    return [load(path, size, policy) for path in named(name)]


def on_twin(experiment: Experiment) -> Experiment:
    """The same experiment, made by the twin: its name, and so its results, are others."""
    name = f"{experiment.name}@{TWIN}"
    runs = [
        replace(run, experiment=name, config=run.config | {"engine": TWIN})
        for run in experiment.runs
    ]
    return replace(experiment, name=name, runs=runs, engine=TWIN)


def asked_for(experiment: Experiment, number: int | None) -> list[Run]:
    """The run of this number, or all runs."""
    if number is None:
        return experiment.runs
    if not 1 <= number <= len(experiment.runs):
        raise BadExperiment(
            f"N={number}: {experiment.name} has runs 1 to {len(experiment.runs)}; LIST=1 lists them"
        )
    return [experiment.runs[number - 1]]


def list_experiments() -> None:
    """Print names and claims."""
    for path in sorted(EXPERIMENTS.glob("*.toml")):
        print(f"{path.stem}\n    {read_toml(path)[0].get('claim', '')}")


def list_runs(experiment: Experiment) -> None:
    """Print the runs of one experiment, with the numbers that N= takes."""
    print(f"{experiment.name}\n    {experiment.claim}")
    for run in experiment.runs:
        print(f"{run.number:5}  {run.name}")
