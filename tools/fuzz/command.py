"""`sluice dev fuzz`: tries random inputs until the time is over, and keeps those that fail.

The inputs of a seed are numbered, and how many were tried is kept in build/fuzz, so that the same
command goes on after ^C. A failure is told by the seed, the input's number, and the command that
repeats it. The status is 0 if nothing failed, and 1 if something did.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sluice.host.paths import BUILD
from sluice.host.scratch import BASE, scratch_folder
from tools.fuzz.fuzz_targets import TARGETS

FOLDER = BUILD / "fuzz"
MOST_FAILURES = 10  # then it ends: they are likely to be one fault


@dataclass(frozen=True)
class Request:
    """The command's options. number: that of the only input to try, or None."""

    target: str
    seconds: float
    seed: int
    number: int | None = None


def kept_count(target: str, seed: int) -> Path:
    """Return the file that says how many inputs of a seed were tried."""
    return FOLDER / f"{target}-{seed}.count"


def read_count(target: str, seed: int) -> int:
    """Return how many inputs of a seed were tried by earlier commands."""
    path = kept_count(target, seed)
    return int(path.read_text(encoding="utf-8")) if path.exists() else 0


def repeat_command(target: str, seed: int, number: int) -> str:
    """Return the command that tries one input again."""
    return f"sluice dev fuzz {target} --seed {seed} --input {number}"


def try_input(target: str, seed: int, number: int, folder: Path) -> str:
    """Make an input and try it. Returns what is wrong, or ""."""
    path = TARGETS[target].make(seed, number, folder)
    data = path.read_bytes()  # what tries it may change it
    wrong = TARGETS[target].run(path)
    if wrong:
        kept = FOLDER / f"{target}-{seed}-{number}-{path.name}"
        kept.write_bytes(data)
        print(f"{target}: seed {seed}, input {number}:\n{wrong.rstrip()}")
        print(f"  kept as {kept}\n  {repeat_command(target, seed, number)}\n", flush=True)
    return wrong


def number_inputs(request: Request) -> Iterator[int]:
    """Yield the numbers of the inputs to try, until the time is over."""
    if request.number is not None:
        yield request.number
        return
    end = time.monotonic() + request.seconds
    number = read_count(request.target, request.seed)
    while time.monotonic() < end:
        yield number
        number += 1
        kept_count(request.target, request.seed).write_text(str(number), encoding="utf-8")


def run(request: Request) -> int:
    """Try inputs. Returns the exit status."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    TARGETS[request.target].prepare()
    tried = failed = 0
    with scratch_folder(FOLDER / BASE) as folder:
        try:
            for number in number_inputs(request):
                failed += bool(try_input(request.target, request.seed, number, folder))
                tried += 1
                if failed == MOST_FAILURES:
                    break
        finally:
            print(f"{request.target}: {tried} inputs of seed {request.seed}, {failed} failed")
    return int(failed > 0)
