"""Follow what each traced process did with files: which it read and wrote, in which pieces.

- A file's position is followed for each descriptor, so that a write has a place in the file. Writes
  that follow one another in the file are one *run*; a run ends where the program seeks.
- What a process inherits from its parent other than its name is not followed: compilers, assemblers
  and linkers open what they use.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tools.trace_build.calls import Call

DESCRIPTOR = re.compile(r"(\d+)<(.*?)>[,)]?")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass
class Run:
    """Bytes that were written one after another in a file."""

    at: int
    bytes: int

    @property
    def end(self) -> int:
        """The place after the run."""
        return self.at + self.bytes


@dataclass
class Written:
    """A process's writes to a file: the sizes of its calls, its runs, its first and last time."""

    began_s: float
    ended_s: float = 0
    calls: list[int] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """The size to which the writes extend the file."""
        return max(run.end for run in self.runs)


@dataclass
class Process:
    """A process from its start to its last call."""

    pid: int
    began_s: float
    ended_s: float
    program: str = ""
    read: dict[str, int] = field(default_factory=dict)  # bytes, by path
    written: dict[str, Written] = field(default_factory=dict)

    def share_before(self, time_s: float) -> float:
        """Return the part of the process's life that had passed at this time."""
        life_s = self.ended_s - self.began_s
        return (time_s - self.began_s) / life_s if life_s else 1


@dataclass
class Trace:
    """All processes, in the order in which they began, and how long removed files had lived."""

    processes: list[Process]
    lifetimes_s: dict[str, float]


@dataclass
class Follower:
    """The state while calls are followed."""

    processes: dict[int, Process] = field(default_factory=dict)
    positions: dict[tuple[int, int], int] = field(default_factory=dict)  # by pid and descriptor
    created_s: dict[str, float] = field(default_factory=dict)
    lifetimes_s: dict[str, float] = field(default_factory=dict)

    def follow_call(self, call: Call) -> None:
        """Follow one call."""
        new = Process(call.pid, call.time_s, call.time_s)
        process = self.processes.setdefault(call.pid, new)
        process.ended_s = call.time_s
        if call.has_failed:
            return
        if call.name == "execve":
            process.began_s, process.program = call.time_s, first_quoted(call).rsplit("/", 1)[-1]
        elif call.name in ("open", "openat", "creat"):
            self.follow_open(call)
        elif call.name in ("unlink", "unlinkat"):
            self.follow_removal(call)
        elif call.name in ("lseek", "read", "write") and (at := DESCRIPTOR.match(call.arguments)):
            self.follow_transfer(process, call, int(at[1]), at[2])

    def follow_open(self, call: Call) -> None:
        """Follow a call that opened a file."""
        self.positions[call.pid, call.result] = 0
        if call.path and (call.name == "creat" or "O_CREAT" in call.arguments):
            self.created_s.setdefault(call.path, call.time_s)

    def follow_removal(self, call: Call) -> None:
        """Follow a call that removed a file."""
        if (path := first_quoted(call)) in self.created_s:
            self.lifetimes_s[path] = call.time_s - self.created_s.pop(path)

    def follow_transfer(self, process: Process, call: Call, descriptor: int, path: str) -> None:
        """Follow a seek, a read or a write."""
        key = call.pid, descriptor
        if call.name == "lseek":
            self.positions[key] = call.result
            return
        at = self.positions.get(key, 0)
        self.positions[key] = at + call.result
        if call.name == "read":
            process.read[path] = process.read.get(path, 0) + call.result
        elif call.result:
            written = process.written.setdefault(path, Written(call.time_s))
            written.ended_s = call.time_s
            written.calls.append(call.result)
            if written.runs and written.runs[-1].end == at:
                written.runs[-1].bytes += call.result
            else:
                written.runs.append(Run(at, call.result))


def first_quoted(call: Call) -> str:
    """Return the first text in quotes among the arguments; empty if there is none."""
    found = QUOTED.search(call.arguments)
    return found[1] if found else ""


def follow_calls(calls: Iterable[Call]) -> Trace:
    """Return all processes of a trace."""
    follower = Follower()
    for call in calls:
        follower.follow_call(call)
    return Trace(list(follower.processes.values()), follower.lifetimes_s)
