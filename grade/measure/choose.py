"""Which experiments are meant: by a name, the beginning of names, a file, or a folder."""

from pathlib import Path

from grade.host.paths import ROOT
from grade.measure.load import FULL, load, read_toml
from grade.measure.schema import BadExperiment, Experiment, Run

EXPERIMENTS = ROOT / "grade" / "experiments"
ALL = "all"
DEFAULT = "mogul-4.1"  # of these words begin the names of those run without a name


def named(name: str) -> list[Path]:
    """The files meant: a path, a folder of them with its `/`, a name, or the beginning of names."""
    if name.endswith(".toml"):
        return [Path(name)]
    if name == ALL or name.endswith("/"):
        return sorted((EXPERIMENTS if name == ALL else Path(name)).glob("*.toml"))
    exact = EXPERIMENTS / f"{name}.toml"
    found = [exact] if exact.exists() else sorted(EXPERIMENTS.glob(f"{name}*.toml"))
    if not found:
        names = ", ".join(path.stem for path in sorted(EXPERIMENTS.glob("*.toml")))
        raise BadExperiment(f'no experiment "{name}"; there are {names}')
    return found


def chosen(name: str, size: str | None, policy: str = "") -> list[Experiment]:
    """The experiments meant, of the size; with a policy that is measured in them, too."""
    size = size or ("quick" if name == ALL else FULL)
    return [load(path, size, policy) for path in named(name)]


def asked_for(experiment: Experiment, number: int | None) -> list[Run]:
    """The runs meant."""
    if number is None:
        return experiment.runs
    if not 1 <= number <= len(experiment.runs):
        raise BadExperiment(f"{experiment.name} has runs 1 to {len(experiment.runs)}, no {number}")
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
