"""A verb of `sluice`: a function with the options that typer reads, and what it needs.

    @verb(needs(groups=("run",), goals=("all",)), "sluice run 'ls /bin'")
    def run(commands: Annotated[str, typer.Argument(...)]) -> int: ...

- The command line is read once, before anything is installed or built. Then the needs of the verb
  are set up (sluice/host/clone.py), and its function runs: in this process, or, for a verb that
  reads what is built, in another one on a snapshot of the tree (sluice/host/snapshot.py).
- The function returns the exit status. A module of verbs imports what takes long to load, or what
  is not installed yet, within its functions.
"""

import json
import os
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import typer
from typer.core import TyperCommand

from sluice.host import clone
from sluice.host.interrupt import NOTHING, run_interruptible
from sluice.host.nearest import suggest
from sluice.host.paths import ROOT

# What a snapshot for a verb has. RUNS: the programs of runs, nothing to compile.
WHOLE, LESS, RUNS, NONE = "whole", "without the twin", "for runs", "none"
# The programs that find out, after a run, what its drive's model did. An experiment's file asks.
DRIVES = ("build/native/drive_parts_tool", "build/native/drive_replay_tool")
GRADING = ("build/native/drive_times_tool", "build/native/places_tool")
DEBUG_KERNEL = "build/debug/kernel/kernel.elf"
WORK = "sluice.cli.work"
MOST_NAMES = 20  # that an error lists
HELP = {"help_option_names": ["-h", "--help"]}
Values = dict[str, Any]


@dataclass(frozen=True)
class Needs:
    """The needs of a verb: groups of tools/setup.sh, goals of make, a snapshot.
    system_path: the verb runs tests, which use the system's programs only."""

    groups: tuple[str, ...] = ("build",)
    goals: tuple[str, ...] = ("all",)
    snapshot: str = WHOLE
    system_path: bool = False

    def adding(self, *goals: str) -> "Needs":
        """Return these needs and further goals."""
        return replace(self, goals=(*self.goals, *goals))


def needs_of_engine(needs: Needs) -> Callable[[Values], Needs]:
    """Return a function for a verb with --engine: it returns these needs, with the twin if the twin
    is to make the runs."""
    return lambda values: needs.adding("twin") if values.get("engine") == "twin" else needs


class Work(Protocol):
    """A verb's function: it takes its options by name, and returns the exit status."""

    about: "About"
    __name__: str

    def __call__(self, **values: Any) -> int:
        """Do the work."""


@dataclass(frozen=True)
class About:
    """A verb's requirements, its example, what it keeps, and its check."""

    needs: Callable[[Values], Needs]
    example: str
    kept: str
    check: Callable[[Values], None] = field(default=lambda values: None)


def verb(
    needs: Needs | Callable[[Values], Needs],
    example: str,
    kept: str = NOTHING,
    check: Callable[[Values], None] = lambda values: None,
) -> Callable[[Callable[..., int]], Work]:
    """Return a decorator that makes a function a verb. needs: what it needs, or a function that
    tells this from the options' values. kept: what is said after ^C. check: raises a
    typer.BadParameter if values do not go together."""

    def find_needs(values: Values) -> Needs:
        """Return what the verb needs with these values of its options."""
        return needs(values) if callable(needs) else needs

    def mark(function: Callable[..., int]) -> Work:
        """Return the function with its description."""
        work = cast(Work, function)
        work.about = About(find_needs, example, kept, check)
        return work

    return mark


class Verb(TyperCommand):
    """The command that typer makes of a verb."""

    function: Work
    home: str  # where work.py finds the function, as MODULE:FUNCTION

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the example, unbroken, so that it can be copied."""
        with formatter.section("Example"):
            formatter.write(f"  {self.function.about.example}\n")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options. For an option that does not exist, suggest the nearest one."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # typer exports no name for this one
            word = getattr(error, "option_name", "")
            if isinstance(error, typer.BadParameter) and error.param and not error.message:
                names = [item.value for item in error.param.shell_complete(ctx, "")]
                few = ", ".join(names) if len(names) <= MOST_NAMES else f"those like {names[0]}"
                error.message = f"Give one of {few}" if names else ""
            if word:
                there = [option for param in self.get_params(ctx) for option in param.opts]
                near = suggest(word, [option for option in there if option.startswith("--")])
                ctx.fail(f"{word}: there is no such option; {near}")
            raise

    def invoke(self, ctx: Any) -> None:
        """Check the values, set up what is needed, and do the work."""
        about = self.function.about
        try:
            about.check(ctx.params)
        except typer.BadParameter as error:
            error.ctx = error.ctx or ctx
            raise
        raise typer.Exit(
            run_interruptible(partial(start, self.home, self.function, ctx.params), about.kept)
        )


def command_of(function: Work, name: str, home: str) -> Verb:
    """Return the command that reads the options of a verb."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=Verb, context_settings=HELP)(function)
    command = cast(Verb, typer.main.get_command(app))
    command.function, command.home = function, home
    return command


def start(home: str, function: Work, values: Values) -> int:
    """Set up what a verb needs, and do its work: here, or on a snapshot. Returns the exit status.
    Everything works in the root of the tree: paths of the values are absolute."""
    from sluice.host import snapshot  # its imports take long

    needs = function.about.needs(values)
    env = clone.environment(needs.system_path)
    os.chdir(ROOT)
    if needs.groups or needs.goals:
        snapshot.expect_own_tree(ROOT)
    if clone.is_clone():
        status = clone.prepare(needs.groups, needs.goals, values.get("jobs"), env)
        if status:
            return status
    if needs.snapshot == NONE or not clone.is_clone():
        os.environ.update(env)
        return function(**values)
    parts = {LESS: [snapshot.WITHOUT_TWIN], RUNS: [snapshot.FOR_RUNS]}.get(needs.snapshot, [])
    line = ["-m", "sluice.host.snapshot", *parts, "-m", WORK, home, encode_values(values)]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *line], env)
    return 0


def encode_values(values: Values) -> str:
    """Return the values of options as a text that `read` reads."""
    return json.dumps(
        {name: {"path": str(v)} if isinstance(v, Path) else v for name, v in values.items()}
    )


def read(text: str) -> Values:
    """Return the values that `encode_values` wrote."""
    return {
        name: Path(v["path"]) if isinstance(v, dict) else v for name, v in json.loads(text).items()
    }


def join(*parts: Collection[str]) -> tuple[str, ...]:
    """Return all parts in one tuple."""
    return tuple(word for part in parts for word in part)
