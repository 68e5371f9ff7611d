"""`make export`: write one run's trace as files for other tools.

E= names the experiment, SIZE= its size, and N= the run. FORMAT= chooses one format, if not all, and
OUT= the folder for the files. LIST=1 lists formats and experiments or, with E=, runs.
"""

import argparse
import importlib
import pkgutil
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from sluice.experiment import commandline
from sluice.experiment.aligned import aligned
from sluice.experiment.load import FULL, load
from sluice.experiment.schema import Experiment, Run
from sluice.experiment.selection import EXPERIMENTS, list_runs, named
from sluice.export import formats
from sluice.export.recording import Recording, remake
from sluice.host.interrupt import stoppable
from sluice.host.nearest import meant
from sluice.host.out import expect_folder
from sluice.host.paths import BUILD

ALL = "all"


class BadChoice(ValueError):
    """Something was named that does not exist; the text says what exists."""


def find_formats() -> dict[str, ModuleType]:
    """The formats by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    return {name: importlib.import_module(f"{formats.__name__}.{name}") for name in names}


def choose_formats(name: str) -> dict[str, ModuleType]:
    """The formats that FORMAT= means."""
    found = find_formats()
    if name == ALL:
        return found
    if name not in found:
        raise BadChoice(f"FORMAT={name}: there is no such format; {meant(name, [*found, ALL])}")
    return {name: found[name]}


def experiment_file(name: str | None) -> Path:
    """The file that E= means: a name, the beginning of exactly one name, or a path."""
    found = named(name) if name else sorted(EXPERIMENTS.glob("*.toml"))
    if name and len(found) == 1:
        return found[0]
    names = ", ".join(path.stem for path in found)
    if not name:
        raise BadChoice(f"E= is missing: give an experiment; there are {names}")
    raise BadChoice(f"E={name}: give one experiment; these begin so: {names}")


def choose_run(experiment: Experiment, number: int | None, variable: str = "N") -> Run:
    """The run that N= means, or another variable of make."""
    count = len(experiment.runs)
    if number is None or not 1 <= number <= count:
        missing = f"{variable}= is missing: give a run"
        said = missing if number is None else f"{variable}={number}: there is no such run"
        raise BadChoice(f"{said}; {experiment.name} has runs 1 to {count}, and LIST=1 lists them")
    return experiment.runs[number - 1]


def told(recording: Recording) -> str:
    """Lines that say what was recorded."""
    run, seconds = recording.run, (recording.end_ns - recording.start_ns) / 1e9
    lines = [
        f"{run.experiment} run {run.number}, {run.name}: "
        f"{len(recording.requests)} requests in {seconds:.1f} s of virtual time"
    ]
    if recording.unfinished:
        lines.append(
            f"{recording.unfinished} more requests were not finished at its end, and are left out"
        )
    if recording.lost:
        lines.append(
            f"{recording.lost} events were overwritten by newer ones, so the beginning may be "
            "missing: raise trace_k in [machine] of the experiment's file"
        )
    return "\n".join(lines)


def write(recording: Recording, chosen: dict[str, ModuleType], out: Path) -> list[str]:
    """Write all files, or none if one cannot be made. Returns how to open each."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as name:
        lines = []
        for format_name, module in chosen.items():
            for command in module.write(recording, Path(name)):
                lines.append(f"  {format_name}: {command}")
        out.mkdir(parents=True, exist_ok=True)
        for path in sorted(Path(name).iterdir()):
            if path.is_dir():  # anew: those of another run would stay in it
                shutil.rmtree(out / path.name, ignore_errors=True)
                shutil.copytree(path, out / path.name)
            else:
                (out / path.name).write_bytes(path.read_bytes())
    return lines


def show_all() -> None:
    """List formats and experiments."""
    rows = [[name, module.ABOUT] for name, module in find_formats().items()]
    print("\n".join(aligned(rows, heads=0, words=(1,))))
    for path in sorted(EXPERIMENTS.glob("*.toml")):
        print(f"{path.stem}: {len(load(path).runs)} runs")


def do(choice: argparse.Namespace) -> bool:
    """Write the files, or list what there is."""
    if choice.list and not choice.name:
        show_all()
        return True
    experiment = load(experiment_file(choice.name), choice.size)
    if choice.list:
        list_runs(experiment)
        return True
    chosen = choose_formats(choice.format)
    run = choose_run(experiment, choice.run)
    out = choice.out or BUILD / "exports" / f"{experiment.name}-{run.number:03}"
    expect_folder(out)
    recording = remake(run, choice.folder)
    lines = write(recording, chosen, out)
    print(told(recording))
    print("\n".join([f"in {out}:", *lines]))
    return True


def main() -> int:
    """Returns the exit status: 2 for a wrong choice, 1 if the run failed."""
    options = argparse.ArgumentParser(prog="make export", description=__doc__)
    options.add_argument("name", nargs="?", help="an experiment, or the beginning of its name")
    options.add_argument("--run", type=int, help="the number of a run")
    options.add_argument("--size", default=FULL, help="a size that the experiment has")
    options.add_argument("--format", default=ALL, help="one format; if not given, all")
    options.add_argument("--out", type=Path, help="folder for the files")
    options.add_argument("--list", action="store_true", help="list formats, experiments or runs")
    commandline.add_folder(options)
    choice = options.parse_args()
    return commandline.status(lambda: do(choice), (BadChoice,))


if __name__ == "__main__":
    sys.exit(stoppable(main, "no file was written"))
