"""The experiments that a word means: a name, the beginning of names, a file, or a folder."""

import fnmatch
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sluice.experiment.aligned import aligned
from sluice.experiment.load import FULL, load, read_toml
from sluice.experiment.schema import TWIN, BadExperiment, Experiment, Run
from sluice.host.nearest import meant
from sluice.host.paths import ROOT
from sluice.host.printing import filled

EXPERIMENTS = ROOT / "experiments"
ALL = "all"
DEFAULT = "mogul-4.1"  # the beginning of the names that are run if none is given


def there(path: Path, is_one: Callable[[Path], bool]) -> bool:
    """Whether a path is there and is a file, or a folder. No path is there that is too long."""
    try:
        return is_one(path)
    except OSError:
        return False


def named(name: str) -> list[Path]:
    """The files that a word means: a path, a folder with its `/`, or the beginning of names. Raises
    BadExperiment if there is none."""
    if name == ALL:
        return sorted(EXPERIMENTS.glob("*.toml"))
    if name.endswith("/"):
        return in_folder(name)
    if name.endswith(".toml"):
        if not there(Path(name), Path.is_file):
            raise BadExperiment(f"E={name}: there is no such file")
        return [Path(name)]
    exact = EXPERIMENTS / f"{name}.toml"
    return [exact] if there(exact, Path.is_file) else beginning_so(name)


def in_folder(name: str) -> list[Path]:
    """The experiments in a folder. Raises BadExperiment if there is none."""
    if not there(Path(name), Path.is_dir):
        raise BadExperiment(f"E={name}: there is no such folder")
    found = sorted(Path(name).glob("*.toml"))
    if not found:
        raise BadExperiment(f"E={name}: there is no .toml file in this folder")
    return found


def beginning_so(name: str) -> list[Path]:
    """The experiments whose names begin so. Raises BadExperiment if there is none."""
    every = {path.stem: path for path in sorted(EXPERIMENTS.glob("*.toml"))}
    found = fnmatch.filter(every, f"{name}*")
    if found:
        return [every[each] for each in found]
    if there(Path(name), Path.is_dir):
        raise BadExperiment(f"E={name}: this is a folder; E={name}/ means the experiments in it")
    if there(Path(name), Path.is_file):
        raise BadExperiment(f"E={name}: an experiment's file has a name that ends in .toml")
    raise BadExperiment(f"E={name}: there is no such experiment; {meant(name, every)}")


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
        claim = read_toml(path)[0].get("claim", "")
        print("\n".join([path.stem, *filled(f"    {claim}", 4)]))


def list_runs(experiment: Experiment) -> None:
    """Print the runs of one experiment, with the numbers that N= takes."""
    print("\n".join([experiment.name, *filled(f"    {experiment.claim}", 4)]))
    rows = [[str(run.number), run.name] for run in experiment.runs]
    print("\n".join(aligned(rows, heads=0, keys=0, words=(1,))))
