"""Runs the search (explore.c) on a configuration, and reads the lines that it prints."""

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sluice.host.paths import ROOT

PROGRAM = ROOT / "build" / "search" / "search"
REFUSED = 2  # the status of a configuration that cannot be searched
FOUND = 1


@dataclass(frozen=True)
class Configuration:
    """A search: the programs, the sizes, and the boot arguments."""

    programs: tuple[str, ...]
    args: str = ""
    buffers: int = 4
    blocks: int = 4
    depth: int = 2  # commands that the device has at once
    harts: int = 2
    pauses: int = 0  # of tasks at releases of locks, in all
    failures: int = 0  # of commands, in all
    shortages: int = 0  # requests for memory that get none
    live: bool = False  # the queue gathers writes, as in real time
    states: int = 1 << 22  # that are kept at most
    for_ms: int = 0  # of the search; 0: until all states are visited

    def words(self, *more: str) -> list[str]:
        """Return the program's arguments. more: further options, as --replay PATH."""
        numbers = {
            "buffers": self.buffers,
            "blocks": self.blocks,
            "depth": self.depth,
            "harts": self.harts,
            "pauses": self.pauses,
            "failures": self.failures,
            "shortages": self.shortages,
            "live": int(self.live),
            "states": self.states,
        }
        options = [word for name, n in numbers.items() for word in (f"--{name}", str(n))]
        options += ["--args", self.args] if self.args else []
        options += ["--milliseconds", str(self.for_ms)] if self.for_ms else []
        return [*options, *more, *self.programs]

    def command(self) -> str:
        """Return the words of `sluice dev search` that choose this configuration."""
        usual = Configuration(self.programs)
        said = [
            f"--{name} {getattr(self, name)}"
            for name in ("buffers", "blocks", "depth", "harts", "pauses", "failures", "shortages")
            if getattr(self, name) != getattr(usual, name)
        ]
        said += ["--live"] if self.live else []
        said += [f"--args '{self.args}'"] if self.args else []
        return " ".join(["sluice dev search", *said, *(f"'{p}'" for p in self.programs)])


@dataclass
class Outcome:
    """The result of a search."""

    status: int = 0
    values: dict[str, str] = field(default_factory=dict)  # what is behind a line's first word
    error: str = ""
    interrupted: bool = False

    def number(self, name: str) -> int:
        """Return a count that was printed, or 0."""
        return int(self.values.get(name, "0"))


def run_search(
    configuration: Configuration,
    program: Path = PROGRAM,
    on_progress: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Run a search to its end, and return what it found.

    on_progress gets a line each second. ^C ends the search, whose counts so far are returned.
    """
    outcome = Outcome()
    line = [str(program), *configuration.words()]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        subprocess.Popen(
            line, text=True, encoding="utf-8", start_new_session=True, **pipes
        ) as child,
        forward_interrupt(child, outcome),
    ):
        read_lines(child, outcome, on_progress)
        assert child.stderr
        outcome.error = child.stderr.read().strip()
    outcome.status = child.returncode
    return outcome


@contextmanager
def forward_interrupt(child: subprocess.Popen[str], outcome: Outcome) -> Iterator[None]:
    """Have the first ^C end the search, which then prints its counts, and nothing else.

    A second ^C kills this process. Threads get none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def forward(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        outcome.interrupted = True
        child.send_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, forward)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def read_lines(
    child: subprocess.Popen[str], outcome: Outcome, on_progress: Callable[[str], None]
) -> None:
    """Read what a search prints into its outcome, until it ends."""
    assert child.stdout
    for line in iter(child.stdout.readline, ""):
        name, _, rest = line.rstrip("\n").partition(" ")
        if name == "progress":
            on_progress(rest)
        else:
            outcome.values[name] = rest


def replay(configuration: Configuration, path: str, program: Path = PROGRAM) -> tuple[int, str]:
    """Take the choices of a path again. Returns the status and the lines that were printed."""
    line = [str(program), *configuration.words("--replay", path)]
    ran = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", check=False)
    return ran.returncode, ran.stdout if ran.stdout else ran.stderr
