"""Record a run from its trace; every format is written from this recording.

The recording has only the measured part, from the first reading of /dev/stat to the second. So its
events agree with the growth of the kernel's counters.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sluice.experiment import run as runs
from sluice.experiment import runner, service
from sluice.experiment.records import JobLine
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import Run
from sluice.experiment.two_machines import SERVER_MARK
from sluice.host.scratch import scratch_folder
from sluice.system import devtext, trace
from sluice.system.requests import Request, pair_requests
from sluice.system.trace import Event

WORD_BYTES = 8  # bytes of a process's name in one word of an event
Read = Callable[[int], tuple[int, Sequence[Event]]]  # a trace at an address: trace.read


@dataclass(frozen=True)
class Recording:
    """The recording of one run."""

    run: Run
    lost: int  # number of events at the start of the measured part that newer events overwrote
    start_ns: int  # start of the measured part, since power-on
    end_ns: int
    requests: list[Request]  # those completed in the measured part, in order of queueing
    unfinished: int  # requests begun in the measured part that completed later or never
    events: list[Event]  # all until the end of the measured part, also those before its start
    names: dict[int, str]  # of processes
    jobs: Sequence[JobLine] = ()  # what they printed

    def process(self, pid: int) -> str:
        """Return a process's name. Process 0 is the kernel."""
        return self.names.get(pid, f"pid {pid}" if pid else "kernel")

    def disk(self, number: int) -> str:
        """Return a disk's name, with that of its drive model."""
        return f"disk{number} ({service.drive_name(self.run, number)})"


def process_names(events: Iterable[Event], jobs: Sequence[JobLine]) -> dict[int, str]:
    """Return the last name of each process. A process that did a job has the job's name instead."""
    names = {}
    for e in events:
        if e.name == "named":
            words = (word.to_bytes(WORD_BYTES, "little") for word in (e.block, e.argument))
            names[e.pid] = b"".join(words).split(b"\0")[0].decode(errors="replace")
    for job in jobs:
        if "pid" in job:
            names[job["pid"]] = f"{job['program']} {job['job']}"
    return names


def measured_period_ns(events: list[Event], start_ms: int, end_ms: int) -> tuple[int, int]:
    """Return the start and end of the measured part: the first readings of /dev/stat after these
    times."""
    read = [e.time_ns for e in events if e.name == "counted"]
    end = bisect_left(read, end_ms * 10**6)
    start = bisect_left(read, start_ms * 10**6)
    return (read[start] if start < end else events[0].time_ns), read[end]


def build_recording(
    run: Run, lost: int, events: list[Event], times_ms: tuple[int, int], jobs: Sequence[JobLine]
) -> Recording:
    """Return the recording of a run, from all events of its trace.

    times_ms: the times just before the two readings of /dev/stat; jobs: what the jobs printed.
    """
    start_ns, end_ns = measured_period_ns(events, *times_ms)
    pairing = pair_requests(events)
    ended = [r for r in pairing.done if start_ns <= r.completed_ns <= end_ns]
    later = [r for r in pairing.done if r.completed_ns > end_ns] + pairing.incomplete_requests()
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


def expect_equal(result: Mapping[str, object], stored: Mapping[str, object] | None) -> None:
    """Raise RunFailed unless the repeated run has the stored result."""
    other = [name for name in result if stored and result[name] != stored.get(name)]
    if other:
        raise RunFailed(f"the run differs from the stored result in: {', '.join(other)}")


def repeat_and_record(run: Run, folder: Path) -> Recording:
    """Make the run again and return its recording.

    folder: where results are. Raises RunFailed if it fails or if its result differs from the stored
    result.
    """
    stored = runner.stored_result(folder / run.experiment, run, runs.result_key(run))
    with scratch_folder(runs.UNDER_WAY) as files:
        console, memory = files / "console", files / "memory"
        result, _ = runs.make_run(run, console, memory)
        expect_equal(result, stored)
        said = console.read_text(encoding="utf-8").replace("\r", "")
        return recording_from_console(run, said, result["jobs"], partial(trace.read_trace, memory))


def recording_from_console(run: Run, said: str, jobs: Sequence[JobLine], read: Read) -> Recording:
    """Return the recording of a run, from its console, its jobs and its trace. read: returns the
    trace at an address."""
    shown = runs.split_readings(said.partition(SERVER_MARK)[0])
    start, end = (devtext.parse_stat(shown[name]) for name in ("stat0", "stat1"))
    lost, events = read(end["trace.phys"][0])
    lost_since = max(0, lost - start["trace.written"][0])
    times_ms = (runs.uptime_ms(shown["start"]), runs.uptime_ms(shown["end"]))
    return build_recording(run, lost_since, list(events), times_ms, jobs)
