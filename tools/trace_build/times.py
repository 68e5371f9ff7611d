"""Read the CPU times of a compiler's passes from what `gcc -time=FILE` writes.

A line has the seconds in user and in system mode, and the command. The passes of one source follow
one another, the assembler last; it names the object. Their sum is exact, while its two parts are
estimated by the kernel's clock ticks: some programs have no user time at all.

Source: the GNU Compiler Collection's manual, "Developer Options", -time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath


class BadTimes(ValueError):
    """A line that gcc does not write; the text has its number."""


@dataclass
class Times:
    """CPU times in us: of the passes up to each object (by its name), all archives, the link."""

    passes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    archive_us: int = 0
    link_us: int = 0


def parse_times(lines: Iterable[str]) -> Times:
    """Return the times of a build of one process at a time. Raises BadTimes."""
    times, before = Times(), []
    for number, line in enumerate(lines, 1):
        try:
            user_s, system_s, program, *words = line.split()
            us = round((float(user_s) + float(system_s)) * 1e6)
        except ValueError as error:
            raise BadTimes(f"line {number}: no times and command: {line.rstrip()[:60]}") from error
        name = PurePath(program).name
        if name.endswith("ar"):
            times.archive_us += us
        elif name in ("collect2", "ld"):
            times.link_us += us
        elif name == "as":
            made = PurePath(words[words.index("-o") + 1]).name
            times.passes[made] = (*before, us)
            before = []
        else:
            before.append(us)
    return times
