"""Read the output of `strace -f -ttt -y`, a line for each system call, as calls.

A call that another process interrupts is on two lines, "<unfinished ...>" and "resumed". It is one
Call, at the time when it began. Lines about a signal or the end of a process are no calls, and
neither is a call that never returned.

Source: strace(1), "Output format".
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LINE = re.compile(r"(\d+) +(\d+\.\d+) (.*)")
UNFINISHED = re.compile(r"(.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"<\.\.\. \w+ resumed>(.*)")
CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+)(?:<(.*)>)?(?: .*)?$")


class BadTrace(ValueError):
    """A line that strace does not write; the text has its number."""


@dataclass(frozen=True)
class Call:
    """A system call: its process, its time (seconds since 1970), its arguments as text, its result.

    path: the path of the descriptor that the call returned, if it returned a descriptor.
    """

    pid: int
    time_s: float
    name: str
    arguments: str
    result: int
    path: str | None = None

    @property
    def has_failed(self) -> bool:
        """True if the call returned an error."""
        return self.result < 0


def parse_calls(lines: Iterable[str]) -> Iterator[Call]:
    """Yield the calls, in the order in which they returned. Raises BadTrace."""
    begun: dict[int, tuple[float, str]] = {}
    for number, line in enumerate(lines, 1):
        if not (found := LINE.match(line)):
            raise BadTrace(f"line {number}: no process and time: {line.rstrip()[:60]}")
        pid, time_s, said = int(found[1]), float(found[2]), found[3]
        if unfinished := UNFINISHED.match(said):
            begun[pid] = time_s, unfinished[1]
            continue
        if resumed := RESUMED.match(said):
            if pid not in begun:
                raise BadTrace(f"line {number}: process {pid} resumes a call that it did not begin")
            time_s, beginning = begun.pop(pid)
            said = beginning + resumed[1]
        if call := CALL.match(said):
            yield Call(pid, time_s, call[1], call[2], int(call[3]), call[4])
