"""Says which places of the sources a search has reached.

A place is the beginning of a basic block, where the compiler has put a call (covered.c). All places
are found in the program by objdump, and their lines by addr2line. Both belong to the compiler.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sluice.host.paths import ROOT
from tools.search.searcher import PROGRAM

ROOMS = ("kernel/cache/", "kernel/disk/")  # what the search is about
CALL = re.compile(r"^\s*[0-9a-f]+:\s+(call|bl)\w*\s.*<__sanitizer_cov_trace_pc>", re.M)
NEXT = re.compile(r"^\s*([0-9a-f]+):", re.M)


@dataclass(frozen=True)
class Place:
    """The beginning of a basic block: its file from the root, its line, and if it was reached."""

    file: str
    line: int
    reached: bool


def find_calls(program: Path) -> list[int]:
    """Return the addresses behind all calls that mark a place."""
    line = ["objdump", "-d", "--no-show-raw-insn", str(program)]
    text = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", check=True).stdout
    found = []
    for call in CALL.finditer(text):
        after = NEXT.search(text, call.end())
        if after:
            found.append(int(after[1], 16))
    return found


def find_lines(program: Path, addresses: list[int]) -> list[tuple[str, int]]:
    """Return the file and line of each address."""
    line = ["addr2line", "-e", str(program)]
    asked = "".join(f"{address - 1:x}\n" for address in addresses)
    ran = subprocess.run(
        line, input=asked, capture_output=True, text=True, encoding="utf-8", check=True
    )
    found = []
    for row in ran.stdout.splitlines():
        file, _, number = row.split(" ")[0].rpartition(":")
        path = Path(file)
        inside = path.is_absolute() and path.is_relative_to(ROOT)
        name = path.relative_to(ROOT).as_posix() if inside else file
        found.append((name, int(number) if number.isdigit() else 0))
    return found


def find_places(covered: str, program: Path = PROGRAM) -> list[Place]:
    """Return all places of the cache and the queue. covered: the addresses that were reached."""
    reached = {int(word, 16) for word in covered.split()}
    calls = find_calls(program)
    lines = find_lines(program, calls)
    return [
        Place(file, line, call in reached)
        for call, (file, line) in zip(calls, lines, strict=True)
        if file.startswith(ROOMS)
    ]


def table(places: Iterable[Place]) -> list[list[str]]:
    """Return a row for each file and one for all: the places reached, all places, and percent."""
    files: dict[str, list[bool]] = defaultdict(list)
    for place in places:
        files[place.file].append(place.reached)
    files = dict(sorted(files.items()))
    files["all"] = [reached for rows in files.values() for reached in rows]
    return [["file", "reached", "places", "%"]] + [
        [file, str(sum(rows)), str(len(rows)), f"{100 * sum(rows) / max(len(rows), 1):.0f}"]
        for file, rows in files.items()
    ]


def list_missed(places: Iterable[Place]) -> list[str]:
    """Return a line for each file that has places which were not reached, with their lines."""
    files: dict[str, set[int]] = defaultdict(set)
    for place in places:
        if not place.reached:
            files[place.file].add(place.line)
    return [
        f"{file}: not reached: lines {', '.join(str(n) for n in sorted(lines))}"
        for file, lines in sorted(files.items())
    ]
