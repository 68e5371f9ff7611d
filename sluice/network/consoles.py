"""Merges the consoles of several machines by virtual time.

With the boot argument console_times=1 each line of a console begins with its time, as `[NS] `. So
the order of lines in the merged text depends on no host: it is by time, and at one time by the
machine's number.
"""

import codecs
import heapq
import re
from dataclasses import dataclass, field

TIMES = "console_times=1"
STAMP = re.compile(r"\[(\d+)\] (.*)", re.DOTALL)
KERNEL_ENDS = ("boot: ", "panic: ")  # begin the kernel's last word (kernel/machine/panic.h)
# The last line of a machine that is off and stays, because it is the hub of others.
HUB = "link: off, and the hub of the machines that are on"
NS_PER_S, NS_PER_US = 10**9, 1000


@dataclass(frozen=True, order=True)
class Line:
    """A line of a console. Lines are in order of time, machine and number."""

    time_ns: int
    machine: int  # from 1
    number: int  # of the line, in its console
    text: str

    def __str__(self) -> str:
        """Return the line as it is printed."""
        return f"{format_time(self.time_ns)}  {self.machine}  {self.text}".rstrip()


def format_time(time_ns: int) -> str:
    """Return a time in seconds, to the microsecond, which is never rounded up."""
    seconds, rest_ns = divmod(time_ns, NS_PER_S)
    return f"{seconds:5}.{rest_ns // NS_PER_US:06}"


@dataclass
class Console:
    """The text that one machine has printed so far."""

    machine: int
    time_ns: int = 0  # the time of the machine's latest line
    lines: int = 0
    begun: str = ""  # a line whose end has not come
    kernel_end: str = ""  # the kernel's last word, if it ended the machine itself
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def feed(self, data: bytes) -> list[Line]:
        """Return the lines that end in these bytes. b"" is the console's end."""
        text = self.begun + self.decoder.decode(data, not data).replace("\r", "")
        *whole, self.begun = text.split("\n")
        if not data and self.begun:
            whole, self.begun = [*whole, self.begun], ""
        return [self._parse_line(one) for one in whole]

    def _parse_line(self, text: str) -> Line:
        """Return the Line of a text. A text without a time gets the time of the line before it: the
        machine was still booting."""
        if found := STAMP.fullmatch(text):
            self.time_ns, text = int(found[1]), found[2]
        self.lines += 1
        if text.startswith(KERNEL_ENDS):
            self.kernel_end = text
        return Line(self.time_ns, self.machine, self.lines, text)


class Merger:
    """Puts the lines of all consoles in order as they come."""

    def __init__(self, count: int) -> None:
        self.consoles = [Console(number) for number in range(1, count + 1)]
        self.open = {console.machine: console for console in self.consoles}  # more lines may come
        self.waiting: list[Line] = []

    def feed(self, machine: int, data: bytes) -> list[Line]:
        """Take bytes of a machine's console; b"" is its end. Returns the lines that no other line
        can precede any more, in order."""
        lines = self.consoles[machine - 1].feed(data)
        for line in lines:
            heapq.heappush(self.waiting, line)
        if not data or any(line.text == HUB for line in lines):
            self.open.pop(machine, None)
        found = []
        while self.waiting and self._is_next(self.waiting[0]):
            found.append(heapq.heappop(self.waiting))
        return found

    def _is_next(self, line: Line) -> bool:
        """Return whether every later line of another machine comes after this line."""
        here = (line.time_ns, line.machine)
        return all(
            here < (console.time_ns, number)
            for number, console in self.open.items()
            if number != line.machine
        )

    def rest(self) -> list[Line]:
        """Return the lines that wait for other machines' lines, in order."""
        return sorted(self.waiting)
