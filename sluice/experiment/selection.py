"""Finds the experiments that a word selects: a name, a beginning of names, a file, or a folder."""

import fnmatch
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sluice.experiment.aligned import format_table
from sluice.experiment.load import FULL, load, read_toml
from sluice.experiment.schema import CHARGED, TWIN, BadExperiment, Experiment, Run
from sluice.host.experiments import EXPERIMENTS, experiment_files
from sluice.host.nearest import suggest
from sluice.host.printing import fill_lines
from sluice.twin import engine

ALL = "all"
AUTO = "auto"
DEFAULT = "mogul-4.1"  # the beginning of the names that are run if none is given


def path_exists(path: Path, is_one: Callable[[Path], bool]) -> bool:
    """Return whether the path exists and `is_one` is true of it. A path that is too long does not
    exist."""
    try:
        return is_one(path)
    except OSError:
        return False


def experiments_by_name() -> dict[str, Path]:
    """Return the file of each experiment, by name. Raises BadExperiment for two of one name."""
    found: dict[str, Path] = {}
    for path in experiment_files():
        if path.stem in found:
            raise BadExperiment(f"{found[path.stem]} and {path} have one name: rename one of them")
        found[path.stem] = path
    return found


def experiment_file(name: str) -> Path:
    """Return the file of the experiment with this name. Raises BadExperiment if there is none."""
    every = experiments_by_name()
    if name not in every:
        raise BadExperiment(f"{name}: there is no such experiment; {suggest(name, every)}")
    return every[name]


def find_experiment_files(name: str) -> list[Path]:
    """Return the files that a word selects: a path, a folder with its `/`, or the beginning of
    names. Raises BadExperiment if there is none."""
    if name == ALL:
        return list(experiments_by_name().values())
    if name.endswith("/"):
        return folder_experiments(name)
    if name.endswith(".toml"):
        if not path_exists(Path(name), Path.is_file):
            raise BadExperiment(f"{name}: there is no such file")
        return [Path(name)]
    every = experiments_by_name()
    return [every[name]] if name in every else experiments_with_prefix(name, every)


def folder_experiments(name: str) -> list[Path]:
    """Return the experiments in a folder. Raises BadExperiment if there is none."""
    if not path_exists(Path(name), Path.is_dir):
        raise BadExperiment(f"{name}: there is no such folder")
    if Path(name).resolve() == EXPERIMENTS:
        return list(experiments_by_name().values())
    found = sorted(Path(name).glob("*.toml"))
    if not found:
        raise BadExperiment(f"{name}: there is no .toml file in this folder")
    return found


def experiments_with_prefix(name: str, every: dict[str, Path]) -> list[Path]:
    """Return those of the experiments whose names begin with a text. Raises BadExperiment if there
    is none."""
    found = fnmatch.filter(every, f"{name}*")
    if found:
        return [every[each] for each in found]
    if path_exists(Path(name), Path.is_dir):
        raise BadExperiment(f"{name}: this is a folder; {name}/ means the experiments in it")
    if path_exists(Path(name), Path.is_file):
        raise BadExperiment(f"{name}: an experiment's file has a name that ends in .toml")
    raise BadExperiment(f"{name}: there is no such experiment; {suggest(name, every)}")


def load_experiments(name: str, size: str | None, policy: str = "") -> list[Experiment]:
    """Return the experiments that a word selects, in this size. policy: a policy that is measured
    in each of them, too."""
    size = size or ("quick" if name == ALL else FULL)
    return [load(path, size, policy) for path in find_experiment_files(name)]


def has_charged_time(experiment: Experiment) -> bool:
    """Return whether time is charged in all runs of an experiment, so that each
    compiler's kernel comes to the same results."""
    return all(run.config["clock"] == CHARGED for run in experiment.runs)


def suits_twin(experiment: Experiment) -> bool:
    """Return whether the twin makes the results of this experiment, on this host."""
    if not has_charged_time(experiment):
        return False
    for run in experiment.runs:
        machines = [run.config, *([run.config["server"]] if "server" in run.config else [])]
        for machine in machines:
            sizes = [disk["size"] for disk in (machine["root"], machine["data"]) if disk]
            if engine.run_refusal_reason(run.config["commands"], sizes):
                return False
    return True


def choose_engine(experiment: Experiment, word: str) -> Experiment:
    """Return the experiment, made by the engine that a word names: machine, twin, or auto, which is
    the twin if it makes the same results."""
    if word == TWIN or (word == AUTO and suits_twin(experiment)):
        return twin_variant(experiment)
    return experiment


def twin_variant(experiment: Experiment) -> Experiment:
    """Return a copy of the experiment that the twin makes, with charged time. If the file asks for
    counted time, the copy has another name, because its results are not those of the file."""
    exact = has_charged_time(experiment)
    name = experiment.name if exact else f"{experiment.name}@{TWIN}"
    runs = [
        replace(run, experiment=name, config=run.config | {"engine": TWIN, "clock": CHARGED})
        for run in experiment.runs
    ]
    return replace(experiment, name=name, runs=runs, engine=TWIN)


def find_experiment_file(name: str) -> Path:
    """Return the file that a word selects: a path, a name, or the beginning of exactly one name.
    Raises BadExperiment."""
    found = find_experiment_files(name)
    if len(found) == 1:
        return found[0]
    names = ", ".join(path.stem for path in found)
    raise BadExperiment(f"{name}: give one experiment; these begin so: {names}")


def select_run(experiment: Experiment, number: int | None, option: str = "--run") -> Run:
    """Return the run with this number. option: how the number was given. Raises BadExperiment."""
    count = len(experiment.runs)
    if number is None or not 1 <= number <= count:
        said = f"{option} is missing: give a run"
        if number is not None:
            said = f"{option}={number}: there is no such run"
        raise BadExperiment(
            f"{said}; {experiment.name} has runs 1 to {count}, and sluice experiment list shows "
            "them"
        )
    return experiment.runs[number - 1]


def select_runs(experiment: Experiment, number: int | None) -> list[Run]:
    """Return a list of the run with this number, or of all runs. Raises BadExperiment."""
    return experiment.runs if number is None else [select_run(experiment, number)]


def list_experiments() -> None:
    """Print the names and claims of all experiments."""
    for name, path in experiments_by_name().items():
        claim = read_toml(path)[0].get("claim", "")
        print("\n".join([name, *fill_lines(f"    {claim}", 4)]))


def list_runs(experiment: Experiment) -> None:
    """Print the runs of one experiment, with the numbers that --run takes."""
    print("\n".join([experiment.name, *fill_lines(f"    {experiment.claim}", 4)]))
    rows = [[str(run.number), run.name] for run in experiment.runs]
    print("\n".join(format_table(rows, heads=0, keys=0, words=(1,))))
