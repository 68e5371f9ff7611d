"""The command `sluice`: its verbs, of which the one that is typed is loaded.

- The table below says where each verb is, and what `sluice --help` says of it. So help and
  completion load no verb but the one that they are about.
- A verb's options and needs are beside its function (verb.py). The groups `experiment`, `lab`,
  `results`, `validate` and `dev` have verbs of their own.
"""

import importlib
import shutil
from collections.abc import Callable
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from sluice.cli.verb import HELP, command_of
from sluice.host import printing
from sluice.host.nearest import suggest
from sluice.host.paths import ROOT

SLUICE, LAB = "sluice.cli.verbs", "sluice.cli.verbs.lab"
# A verb: its function, as MODULE:FUNCTION, and what it does. A group: what it is about, its verbs.
Verbs = dict[str, tuple[str, Any]]
VERBS: Verbs = {
    "run": (f"{SLUICE}.run:run", "Boot in virtual time, do some commands, and power off."),
    "network": (
        "Several machines on one network.",
        {
            "run": (f"{SLUICE}.network:run", "Run machines on one link in one virtual time."),
            "shells": (f"{SLUICE}.network:shells", "Boot two machines, with a shell on each."),
        },
    ),
    "experiment": (
        "Experiments: make their runs, and show what came of them.",
        {
            "run": (f"{SLUICE}.experiment:run", "Make an experiment's runs and its report."),
            "list": (f"{SLUICE}.experiment:list_", "List experiments, or an experiment's runs."),
            "report": (f"{SLUICE}.experiment:report", "Write the report of runs already made."),
        },
    ),
    "sweep": (f"{SLUICE}.sweep:sweep", "Measure an experiment over ranges of numbers."),
    "crash": (
        "The crash laboratory: what each power cut leaves.",
        {
            "run": (f"{SLUICE}.crash:run", "Cut the power at every write of many workloads."),
            "show": (f"{SLUICE}.crash:show", "Tell one cut: the writes, and what was found."),
            "theatre": (f"{SLUICE}.crash:theatre", "Show one cut as a page, step by step."),
            "debug": (f"{SLUICE}.crash:debug", "Stop in gdb where a cut's last write is issued."),
            "linux": (f"{SLUICE}.crash:linux", "Cut Linux's file systems, with the same judges."),
            "try": (f"{SLUICE}.crash:try_", "Look for what your change of the sources loses."),
            "inject": (f"{SLUICE}.crash:inject", "Let the disk fail, lie, vanish and rot."),
            "sources": (f"{SLUICE}.crash:sources", "Plant faults into the sources: all are found."),
            "recovery": (f"{SLUICE}.crash:recovery", "Say how long a mount takes after a cut."),
        },
    ),
    "replay": (f"{SLUICE}.replay:replay", "Replay a trace of a real disk under many policies."),
    "trace": (
        "Traces of real disks: look at one, ask for its miss ratios, or make one.",
        {
            "look": (f"{SLUICE}.trace:look", "Say what format a trace has, and what is in it."),
            "curve": (f"{SLUICE}.trace:curve", "Print the miss ratios by the cache's size."),
            "generate": (f"{SLUICE}.trace:generate", "Make a week of one server, from a seed."),
        },
    ),
    "debug": (f"{SLUICE}.debug:debug", "Make a run again and stop it at one instant, in gdb."),
    "why": (f"{SLUICE}.why:why", "Say what a read waited for."),
    "theatre": (f"{SLUICE}.theatre:theatre", "Show a run, or two, as it went, in a page."),
    "live": (f"{SLUICE}.pages:live", "Write a page with the kernel in it, to play with."),
    "papers": (f"{SLUICE}.results:papers", "Print what came of each paper's findings."),
    "validate": (
        "Do all ways to make an experiment come to the same results?",
        {
            "repeat": (
                f"{SLUICE}.validate:repeat",
                "Compare the results of two engines, QEMUs and compilers.",
            ),
        },
    ),
    "lab": (
        "Labs: hand them out, grade them, and teach with them.",
        {
            "new": (f"{LAB}:new", "Make a new lab, a small one that works."),
            "handout": (f"{LAB}:handout", "Make the folder that a student gets."),
            "example": (f"{LAB}:example", "Show a lab's worked example."),
            "grade": (f"{LAB}:grade", "Score this tree's solution, or a submission."),
            "events": (f"{LAB}:events", "List the events around one in a graded run."),
            "recheck": (f"{LAB}:recheck", "Make a grade again from its certificate."),
            "class": (f"{LAB}:class_", "Score all submissions of a class."),
            "samples": (f"{LAB}:samples", "Make submissions to try with."),
            "solution": (f"{LAB}:solution", "Make the solution for students."),
            "bundle": (f"{LAB}:bundle", "Make Gradescope's autograder."),
            "fair": (f"{LAB}:fair", "Count the points of wrong solutions over many nonces."),
        },
    ),
    "bench": (f"{SLUICE}.dev:bench", "Measure the system's speeds."),
    "export": (f"{SLUICE}.export:export", "Write a run's trace as files for other tools."),
    "book": (f"{SLUICE}.pages:book", "Build the book as a site that opens offline."),
    "path": (f"{SLUICE}.pages:path", "List what to read, in order, for a question."),
    "results": (
        "The stored results, which documents quote.",
        {
            "store": (f"{SLUICE}.results:store", "Make and store results in full size."),
            "check": (f"{SLUICE}.results:check", "Are the stored results this kernel's too?"),
            "same": (f"{SLUICE}.results:same", "Check, and note what is the same."),
            "tables": (f"{SLUICE}.results:tables", "Put stored results into the documents."),
        },
    ),
    "dev": (
        "For those who work on Sluice itself.",
        {
            "mutants": (f"{SLUICE}.dev:mutants", "Count which changes of sources tests notice."),
            "exercise": (f"{SLUICE}.dev:exercise", "Try random changes of files against a model."),
            "search": (f"{SLUICE}.dev:search", "Visit every state of a small cache."),
            "prove": (f"{SLUICE}.dev:prove", "Prove that policies' answers are legal."),
            "fuzz": (f"{SLUICE}.dev:fuzz", "Try random inputs for as long as you like."),
            "fresh": (f"{SLUICE}.dev:fresh", "Try README's commands on bare systems."),
            "matrix": (f"{SLUICE}.matrix:matrix", "Where do the fewest misses not win?"),
            "judges": (f"{SLUICE}.dev:judges", "Compare hits with two other programs'."),
            "tune": (f"{SLUICE}.dev:tune", "Search a policy's tunables."),
            "costs": (f"{SLUICE}.dev:costs", "Count what computing takes."),
            "measure-build": (f"{SLUICE}.dev:measure_build", "Measure a compilation's files."),
        },
    ),
}  # fmt: skip


class Group(TyperGroup):
    """Verbs by name, each loaded when it is asked for."""

    verbs: Verbs

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs, in the table's order."""
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the verb or group of a name, or None."""
        if cmd_name not in self.verbs:
            return None
        first, second = self.verbs[cmd_name]
        if isinstance(second, dict):
            return group_of(cmd_name, first, second)
        module, _, function = first.partition(":")
        made: Any = command_of(getattr(importlib.import_module(module), function), cmd_name, first)
        made.short_help = second
        return made

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each verb, from the table alone."""
        rows = [
            (name, first if isinstance(second, dict) else second)
            for name, (first, second) in self.verbs.items()
        ]
        with formatter.section("Verbs"):
            formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, Any]:
        """Return the verb that the words begin with, or say which name was meant."""
        word = args[0]
        if not word.startswith("-") and word not in self.verbs and not ctx.resilient_parsing:
            ctx.fail(f"{word}: there is no such verb; {suggest(word, self.verbs)}")
        return super().resolve_command(ctx, args)


def width() -> int:
    """Return how many characters fit into a line of help; typer's own least is 50."""
    return min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)


def plain_typer(callback: Callable[..., None], add_completion: bool = False) -> typer.Typer:
    """Return an application of typer that prints as a terminal without colours shows it."""
    return typer.Typer(
        callback=callback,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=add_completion,
    )


def group_of(name: str, about: str, verbs: Verbs, app: typer.Typer | None = None) -> Any:
    """Return a group of verbs. app: the group's typer, if the group has options of its own."""
    app = app or plain_typer(lambda: None)
    app.info.cls, app.info.help, app.info.name = Group, about, name
    app.info.no_args_is_help = True
    app.info.context_settings = HELP | {"terminal_width": width()}
    app.info.subcommand_metavar = "VERB [OPTIONS]"
    made = cast(Group, typer.main.get_command(app))
    made.verbs = verbs
    return made


NARROWEST, WIDEST = 30, 100  # characters of a line of help
ABOUT = """A teaching operating system about the buffer cache: run it, measure it, grade its labs.

`sluice VERB --help` says what a verb takes, with an example. `make` builds, `make qemu` boots to a
shell, and `make test` tests."""


def show_version(wanted: bool) -> None:
    """Print the version that CHANGELOG.md has, and end."""
    if not wanted:
        return
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    words = next(line.split() for line in lines if line.startswith("## ") and line[3].isdigit())
    print(f"Sluice {words[1]}")
    raise typer.Exit


def main_options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Do nothing: the options of `sluice` itself end it."""


def command() -> Any:
    """Return the command `sluice`, with all its verbs."""
    app = plain_typer(main_options, add_completion=True)
    return group_of("sluice", ABOUT, VERBS, app)


def main() -> None:
    """Run the command that was typed. Does not return."""
    printing.protect_output()
    command()(prog_name="sluice")
