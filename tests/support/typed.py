"""Run command lines of `sluice` in this process: nothing is installed, built or copied."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from sluice.cli import main, verb
from sluice.host import printing

LINE = [sys.executable, "-m", "tests.support.typed"]  # of a process in ROOT; the words follow


@contextlib.contextmanager
def work_begun_by(start: Callable[..., int]) -> Iterator[None]:
    """Have a verb's work begun by this function. (unittest.mock would take a tenth of the time of
    a short command, because it imports asyncio.)"""
    before, verb.start = verb.start, start
    try:
        yield
    finally:
        verb.start = before


def enter(*words: object) -> int:
    """Run a command line. Returns its exit status."""
    with work_begun_by(lambda home, function, values: function(**values)):
        try:
            main.command()([str(word) for word in words], prog_name="sluice")
        except SystemExit as end:
            return end.code
    raise AssertionError("a command line ends with an exit status")


def work(home: str, **values: object) -> list[str]:
    """Return the words behind `python` that do a verb's work with these values of its options,
    without reading a command line. home: MODULE:FUNCTION, of the verbs."""
    values = {name: {"path": str(v)} if isinstance(v, Path) else v for name, v in values.items()}
    return ["-m", "sluice.cli.work", f"sluice.cli.verbs.{home}", json.dumps(values)]


def read(*words: object) -> int:
    """Read a command line, check it, and do nothing. Returns its exit status."""
    with work_begun_by(lambda home, function, values: 0):
        try:
            main.command()([str(word) for word in words], prog_name="sluice")
        except SystemExit as end:
            return end.code
    raise AssertionError("a command line ends with an exit status")


def call(*words: object) -> int:
    """Run a command line like `enter`, but let ^C through."""
    found: list = []

    def keep(home: str, function: Callable[..., int], values: dict) -> int:
        found.append((function, values))
        return 0

    with work_begun_by(keep), contextlib.suppress(SystemExit):
        main.command()([str(word) for word in words], prog_name="sluice")
    [(function, values)] = found
    return function(**values)


if __name__ == "__main__":
    printing.protect_output()
    sys.exit(enter(*sys.argv[1:]))
