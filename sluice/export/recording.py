"""A run as its trace shows it, from which the formats are made.

It contains only the measured part, from the first reading of /dev/stat to the second: the kernel's
counters grew in that time by what is recorded here.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sluice.experiment import run as runs
from sluice.experiment import runner, service
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import Run
from sluice.host.scratch import scratch
from sluice.system import devtext, trace
from sluice.system.requests import Request, pair
from sluice.system.trace import Event

WORD_BYTES = 8  # of a name in an event
Read = Callable[[int], tuple[int, Sequence[Event]]]  # a trace at an address: trace.read


@dataclass(frozen=True)
class Recording:
    """The recording of one run."""

    run: Run
    lost: int  # events of the measured part, its first, overwritten by newer ones
    start_ns: int  # of that part, since power-on
    end_ns: int
    requests: list[Request]  # completed in that time, in order of queueing
    unfinished: int  # begun in it, completed later or never
    events: list[Event]  # all until its end, also from before it
    names: dict[int, str]  # of processes
    jobs: Sequence[dict] = ()  # what they printed

    def process(self, pid: int) -> str:
        """A process's name; 0 is the kernel, and not a process."""
        return self.names.get(pid, f"pid {pid}" if pid else "kernel")

    def disk(self, number: int) -> str:
        """A disk's name, and the drive it is the model of."""
        return f"disk{number} ({service.model(self.run, number)})"


def process_names(events: Iterable[Event], jobs: list[dict]) -> dict[int, str]:
    """The last name of each process; a process that did a job has the job's name too."""
    names = {}
    for e in events:
        if e.name == "named":
            words = (word.to_bytes(WORD_BYTES, "little") for word in (e.block, e.argument))
            names[e.pid] = b"".join(words).split(b"\0")[0].decode(errors="replace")
    for job in jobs:
        if "pid" in job:
            names[job["pid"]] = f"{job['program']} {job['job']}"
    return names


def measured(events: list[Event], start_ms: int, end_ms: int) -> tuple[int, int]:
    """The times at which /dev/stat was read for the result: the first after each of these times."""
    read = [e.time_ns for e in events if e.name == "counted"]
    end = bisect_left(read, end_ms * 10**6)
    start = bisect_left(read, start_ms * 10**6)
    return (read[start] if start < end else events[0].time_ns), read[end]


def record(
    run: Run, lost: int, events: list[Event], times_ms: tuple[int, int], jobs: list[dict]
) -> Recording:
    """The recording of a run, from all events of its trace.

    times_ms: the times just before the two readings of /dev/stat; jobs: what the jobs printed.
    """
    start_ns, end_ns = measured(events, *times_ms)
    pairing = pair(events)
    ended = [r for r in pairing.done if start_ns <= r.completed_ns <= end_ns]
    later = [r for r in pairing.done if r.completed_ns > end_ns] + pairing.undone()
    times = [e.time_ns for e in events]
    return Recording(
        run,
        lost,
        start_ns,
        end_ns,
        sorted(ended, key=lambda r: r.number),
        sum(r.queued_ns <= end_ns for r in later),
        events[: bisect_right(times, end_ns)],
        process_names(events, jobs),
        jobs,
    )


def check_equal(result: dict, stored: dict | None) -> None:
    """Raise RunFailed unless the run that was made again has the same result."""
    other = [name for name in result if stored and result[name] != stored.get(name)]
    if other:
        raise RunFailed(f"the run came out unlike the stored result: {', '.join(other)} differ")


def remake(run: Run, folder: Path) -> Recording:
    """Make the run again, and record it. folder: where results are. Raises RunFailed."""
    stored = runner.stored(folder / run.experiment, run, runs.key(run))
    with scratch(runs.UNDER_WAY) as files:
        console, memory = files / "console", files / "memory"
        result, _ = runs.make(run, console, memory)
        check_equal(result, stored)
        said = console.read_text(encoding="utf-8").replace("\r", "")
        return of_console(run, said, result["jobs"], partial(trace.read, memory))


def of_console(run: Run, said: str, jobs: list[dict], read: Read) -> Recording:
    """The recording of a run, from what its console showed, its jobs, and its trace, which `read`
    gives for its address."""
    shown = runs.readings(said)
    start, end = (devtext.stat(shown[name]) for name in ("stat0", "stat1"))
    lost, events = read(end["trace.phys"][0])
    lost_since = max(0, lost - start["trace.written"][0])
    times_ms = (runs.uptime_ms(shown["start"]), runs.uptime_ms(shown["end"]))
    return record(run, lost_since, list(events), times_ms, jobs)
