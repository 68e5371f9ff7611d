"""Gives inputs to a reader: python -m tools.fuzz.reader_process NAME, a path in each line.

For each input comes what is wrong with the reader, if anything is, and a line DONE. The reader may
raise the error that it documents for bad input, with a text that is not empty. An input that takes
more than CPU_S processor seconds ends the process.
"""

import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

DONE = "-- done --"
CPU_S = 20
MOST_REQUESTS = 100_000


def read_trace(path: Path) -> None:
    """Read a trace, in the format that it looks like."""
    from sluice.trace.reader import read_requests

    read_requests(path, count=MOST_REQUESTS)


def read_archive(path: Path) -> None:
    """Take the files of a lab from what was handed in."""
    from grade.trust.submission import take_present_files

    taken = take_present_files(path, FILES)
    if set(taken) - {*FILES}:
        raise AssertionError(f"files were taken that are not the lab's: {sorted(taken)}")


FILES = ("kernel/disk/queue.c", "policies/sched/mine.c")


def read_experiment(path: Path) -> None:
    """Load an experiment."""
    from sluice.experiment.load import load

    load(path)


def allowed_error(name: str) -> type[Exception]:
    """Return the error with which a reader refuses bad input."""
    if name == "traces":
        from sluice.trace.errors import BadTraceFile

        return BadTraceFile
    if name == "archives":
        from grade.trust.archive import Refused

        return Refused
    from sluice.experiment.schema import BadExperiment

    return BadExperiment


READERS: dict[str, Callable[[Path], None]] = {
    "traces": read_trace,
    "archives": read_archive,
    "toml": read_experiment,
}


def try_input(name: str, path: Path) -> str:
    """Return what is wrong with the reader, or ""."""
    allowed = allowed_error(name)
    try:
        READERS[name](path)
    except allowed as error:
        return "" if str(error).strip() else "it was refused without a word\n"
    except Exception:
        return traceback.format_exc()
    return ""


def main() -> None:
    """Give each path of the standard input to the reader."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends it
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, CPU_S)
        said = try_input(sys.argv[1], Path(line.rstrip("\n")))
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(f"{said}{DONE}", flush=True)


if __name__ == "__main__":
    main()
