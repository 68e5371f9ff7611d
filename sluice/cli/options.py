"""The options that several verbs have, each with one name, default, help and check.

- A check raises typer.BadParameter, which names the option, and the nearest name there is.
- Names are those of files (experiments/, grade/labs/, policies/, drives/), so that nothing has to
  be loaded or built to check and complete them.
- A path is relative to the folder of who types it, and absolute from here on.
"""

import fnmatch
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from sluice.host.experiments import EXPERIMENTS, experiment_files
from sluice.host.nearest import suggest
from sluice.host.out import BadOut, expect_folder
from sluice.host.paths import PACKAGE, ROOT

FULL, ALL = "full", "all"
ENGINES = MACHINE, TWIN = ("machine", "twin")
JOBS = os.cpu_count() or 1
MOST_JOBS = 999
UNITS_S = {"s": 1, "m": 60, "h": 3600}
Check = Callable[[Any], Any]


# ---- names ----


def experiments() -> list[str]:
    """Return the names of all experiments."""
    return [path.stem for path in experiment_files()]


def labs() -> list[str]:
    """Return the names of all labs."""
    return sorted(path.parent.name for path in (ROOT / "grade" / "labs").glob("*/lab.toml"))


def policies() -> list[str]:
    """Return the names of all policies."""
    found = (ROOT / "policies").glob("*/*.c")
    return sorted({path.stem for path in found if path.parent.name != "lib"})


def drives() -> list[str]:
    """Return the names of all drives."""
    return sorted(path.stem for path in (ROOT / "drives").glob("*.c"))


def modules(folder: str) -> list[str]:
    """Return the names of the modules in a folder of the package."""
    return sorted(path.stem for path in (PACKAGE / folder).glob("[!_]*.py"))


def sizes(name: str) -> list[str]:
    """Return the sizes that the experiments of a word have."""
    found: set[str] = {FULL}
    for path in files_of(name):
        found |= tomllib.loads(path.read_text(encoding="utf-8")).get("sizes", {}).keys()
    return sorted(found)


def files_of(name: str) -> list[Path]:
    """Return the files of the experiments that a word means: a name, the beginning of names, a
    file, a folder with its `/`, or all."""
    if name.endswith("/"):
        return folder_files(Path(name))
    if name.endswith(".toml"):
        return [Path(name)]
    every = {path.stem: path for path in experiment_files()}
    names = every if name == ALL else [name] if name in every else fnmatch.filter(every, f"{name}*")
    return [every[one] for one in names]


def folder_files(folder: Path) -> list[Path]:
    """Return the files of the experiments in a folder; experiments/ has those of its folders."""
    whole = folder.resolve() == EXPERIMENTS
    return experiment_files() if whole else sorted(folder.glob("*.toml"))


# ---- checks ----


def value_callback(check: Check) -> Callable[[typer.Context, Any], Any]:
    """Return a callback of typer that checks a value, if one was given."""

    def callback(context: typer.Context, value: Any) -> Any:
        """Check a value that was given."""
        if value is None or value == "" or context.resilient_parsing:
            return value
        return check(value)

    return callback


def check_among(what: str, names: Callable[[], Iterable[str]]) -> Check:
    """Return a check that a value is one of some names."""

    def check(value: str) -> str:
        """Return the value if it is one of the names; otherwise raise BadParameter, which suggests
        the nearest name."""
        there = list(names())
        if value not in there:
            raise typer.BadParameter(f"{value}: there is no such {what}; {suggest(value, there)}")
        return value

    return check


def beginning(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a function that completes the beginning of a name for the shell."""

    def complete(incomplete: str) -> list[str]:
        """Return the names that begin so."""
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def is_there(path: Path, kind: Callable[[Path], bool]) -> bool:
    """Return true if a path is a file, or a folder. A path that is too long is not there."""
    try:
        return kind(path)
    except OSError:
        return False


def check_experiments(word: str) -> str:
    """Return a word that means experiments, its path absolute."""
    if word.endswith(("/", ".toml")):
        path = absolute(Path(word))
        if not is_there(path, Path.is_dir if word.endswith("/") else Path.is_file):
            kind = "folder" if word.endswith("/") else "file"
            raise typer.BadParameter(f"{word}: there is no such {kind}")
        if word.endswith("/") and not folder_files(path):
            raise typer.BadParameter(f"{word}: there is no .toml file in this folder")
        return f"{path}/" if word.endswith("/") else str(path)
    if not files_of(word):
        if is_there(absolute(Path(word)), Path.is_dir):
            raise typer.BadParameter(f"{word}: {word}/ means the experiments in this folder")
        raise typer.BadParameter(
            f"{word}: there is no such experiment; {suggest(word, experiments())}"
        )
    return word


def check_experiment(word: str) -> str:
    """Return a word that means one experiment."""
    word = check_experiments(word)
    found = [path.stem for path in files_of(word)]
    if len(found) > 1:
        raise typer.BadParameter(f"{word}: give one experiment; these begin so: {', '.join(found)}")
    return word


def check_size(values: dict[str, Any]) -> None:
    """Raise BadParameter if a verb's experiments have no such size."""
    size, name = values.get("size"), values.get("name")
    if size and name and size not in (there := sizes(name)):
        raise typer.BadParameter(
            f"{size}: {name} has no such size; {suggest(size, there)}", param_hint="--size"
        )


def check_run(values: dict[str, Any]) -> None:
    """Raise BadParameter if no run of an experiment is chosen, or there is no such size."""
    check_size(values)
    if values["name"] and values["run"] is None:
        raise typer.BadParameter(
            f"give the number of a run; sluice experiment list {values['name']} shows them",
            param_hint="--run",
        )


def absolute(path: Path) -> Path:
    """Return a path as this process sees it, from the root on."""
    return Path.cwd() / path.expanduser()


def writable_folder(path: Path) -> Path:
    """Return the absolute path of --folder, in which files can be made."""
    try:
        expect_folder(absolute(path), option="--folder")
    except BadOut as error:
        raise typer.BadParameter(str(error)) from None
    return absolute(path)


def replaceable_file(path: Path) -> Path:
    """Return the absolute path of a file that can be made, or made anew. A device is refused,
    because a file would take its place."""
    if absolute(path).exists() and not absolute(path).is_file():
        raise typer.BadParameter(f"{path}: is no file, but a folder, a device or a pipe")
    return absolute(path)


def existing(path: Path) -> Path:
    """Return the absolute path of a file or folder that is there."""
    if not is_there(absolute(path), Path.exists):
        raise typer.BadParameter(f"{path}: there is no such file or folder")
    return absolute(path)


def completes(what: str, names: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """Return what typer takes for a name that is checked and completed."""
    return {
        "callback": value_callback(check_among(what, names)),
        "autocompletion": beginning(names),
    }


# ---- the shapes of options ----


def existing_path(metavar: str, about: str) -> dict[str, Any]:
    """Return what typer takes for the path of a file or folder that must be there."""
    return {"metavar": metavar, "help": about, "callback": value_callback(existing)}


def one_word(what: str, names: Collection[str], about: str) -> dict[str, Any]:
    """Return what typer takes for one of a few words, which help lists."""
    return {"metavar": "|".join(names), "help": about, **completes(what, lambda: names)}


def output_file(about: str) -> dict[str, Any]:
    """Return what typer takes for the path of a file that the command writes."""
    return {"metavar": "FILE", "help": about, "callback": value_callback(absolute)}


def parse_time(text: str) -> str:
    """Return a time as 90s, 10m or 2h. Raises BadParameter for other text."""
    if not re.fullmatch(r"[1-9][0-9]{0,5}[smh]", text):
        raise typer.BadParameter(f"{text}: give a time as 90s, 10m or 2h")
    return text


def count_seconds(text: str) -> int:
    """Return the seconds of a time that parse_time takes."""
    return int(text[:-1]) * UNITS_S[text[-1]]


def time_span(about: str) -> dict[str, Any]:
    """Return what typer takes for a time, as 90s, 10m or 2h."""
    return {"metavar": "TIME", "help": about, "callback": value_callback(parse_time)}


def number(about: str, least: int = 0, most: int | None = None) -> dict[str, Any]:
    """Return what typer takes for a whole number: a seed, or how many of what may be left out."""
    return {"metavar": "NUMBER", "min": least, "max": most, "help": about}


def count_of(about: str) -> dict[str, Any]:
    """Return what typer takes for a number of things, at least 1."""
    return number(about, 1)


# ---- options ----

EXPERIMENTS_HELP = "An experiment, the beginning of several names, a file, a folder/, or all."
OF_EXPERIMENTS = {
    "metavar": "EXPERIMENT",
    "help": EXPERIMENTS_HELP,
    "callback": value_callback(check_experiments),
    "autocompletion": beginning(lambda: [*experiments(), ALL]),
}
ExperimentsName = Annotated[str, typer.Argument(**OF_EXPERIMENTS)]
ExperimentName = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT",
        help="An experiment, the beginning of its name, or its file.",
        callback=value_callback(check_experiment),
        autocompletion=beginning(experiments),
    ),
]
Size = Annotated[
    str,
    typer.Option(
        metavar="SIZE",
        help="A size that the experiment has, as quick or full.",
        autocompletion=beginning(lambda: [FULL, "quick"]),
    ),
]
Run = Annotated[
    int | None,
    typer.Option(
        "--run", **count_of("The number of a run: sluice experiment list EXPERIMENT shows them.")
    ),
]
Second = Annotated[
    int | None, typer.Option("--second", **count_of("The number of another run, beside it."))
]
Engine = Annotated[
    str,
    typer.Option(
        **one_word(
            "engine",
            ENGINES,
            "What makes the runs: QEMU, or the kernel compiled for this computer, which is much "
            "faster.",
        )
    ),
]
AnyEngine = Annotated[
    str,
    typer.Option(
        **one_word(
            "engine",
            ("auto", *ENGINES),
            "What makes the runs: QEMU (machine), or the kernel compiled for this computer (twin), "
            "which is much faster. auto: the twin, if it comes to the same results.",
        )
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        show_default="this computer's CPUs",
        **number("How many runs, compilers or machines work at a time.", 1, MOST_JOBS),
    ),
]
Scheduler = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="A Dask scheduler whose workers make the runs, as tcp://host:8786.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Where the output goes.", callback=value_callback(absolute)),
]
OutRequired = Annotated[
    Path,
    typer.Option(
        "--out", metavar="PATH", help="What is to be made.", callback=value_callback(absolute)
    ),
]
GdbCommands = Annotated[
    str | None,
    typer.Option(
        metavar="COMMANDS",
        help="Commands of gdb, separated by ;, after which it ends; without it, gdb waits "
        "for yours.",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where results are kept.",
        show_default="in build/",
        callback=value_callback(absolute),
    ),
]
NewFolder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="FOLDER",
        help="Where results are kept.",
        show_default="in build/",
        callback=value_callback(writable_folder),
    ),
]
Lab = Annotated[
    str,
    typer.Argument(metavar="LAB", help="The name of a lab.", **completes("lab", labs)),
]
Metrics = Annotated[
    str,
    typer.Option(
        metavar="METRICS",
        help="What is to be less, or with a + more: 'read.mean_ms, +stat.x'.",
    ),
]
Drive = Annotated[
    str,
    typer.Option(
        metavar="DRIVE",
        help="The drive on which traces are replayed.",
        **completes("drive", drives),
    ),
]
Count = Annotated[
    int | None,
    typer.Option(**count_of("How many of a trace's requests, from the first.")),
]
Submission = Annotated[
    Path | None,
    typer.Option(
        **existing_path("PATH", "A folder or archive that was handed in; without it, this tree.")
    ),
]
Nonce = Annotated[
    str, typer.Option(metavar="WORD", help="The nonce of an earlier grading, to repeat its tests.")
]
Tests = Annotated[
    str,
    typer.Option(
        "--test", metavar="TESTS", help="Only these: GROUP or GROUP.TEST, separated by commas."
    ),
]
