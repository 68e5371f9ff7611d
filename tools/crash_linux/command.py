"""`sluice crash linux`: workloads cut on Linux's file systems and on ours, with the same judges.

Each mode has expectations (modes.py): findings that it must never show, and findings that it is
known to show. The command fails if a mode breaks one of them, because then the file system or the
judges are not what we think.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sluice.crash.cut_findings import KINDS
from sluice.crash.disk_events import BadRecording, Event
from sluice.crash.ext2 import read_tree
from sluice.crash.machine import CrashMachine, Setup, memory_folder
from sluice.crash.story import Places, list_events
from sluice.crash.workloads import Workload, find_workload
from sluice.system.qemu import ConsoleError
from tools.bench import debian
from tools.bench.debian import Kernel, Missing
from tools.crash_linux import linux_table
from tools.crash_linux.base import SIZE, make_base
from tools.crash_linux.judging import Count, count_all
from tools.crash_linux.linux_guest import Mount, record_workloads
from tools.crash_linux.modes import MODES, Mode, find_mode, list_workloads

JOURNAL_INODE = 8
Recording = dict[Workload, list[Event]]


@dataclass(frozen=True)
class Request:
    """A comparison.

    mounts: those to try; none: all modes. cuts: how many of a workload are judged at most, 0: all.
    """

    mounts: tuple[Mount, ...]
    workloads: tuple[Workload, ...]
    cuts: int
    jobs: int
    page: bool = False


@dataclass
class Result:
    """The findings of a mode's cuts."""

    mode: Mode
    system: str
    counts: list[Count] = field(default_factory=list)

    def kinds(self) -> Counter[str]:
        """Return how many cuts show each kind."""
        return sum((Counter(count.kinds) for count in self.counts), Counter())

    def cells(self) -> list[str]:
        """Return the cells of the mode's row, without its mount."""
        kinds = self.kinds()
        numbers = (len(self.counts), sum(count.cuts for count in self.counts))
        return [self.system, *(f"{n:,}" for n in (*numbers, *(kinds[kind] for kind in KINDS)))]

    def surprises(self) -> Iterator[str]:
        """Yield what is not as expected."""
        kinds = self.kinds()
        for count in self.counts:
            if count.wrong:
                yield f"{count.workload}: {count.wrong}"
        for kind in self.mode.never:
            if kinds[kind]:
                first = next(count for count in self.counts if kind in count.first)
                yield f"{kind}, which must never be: {first.workload}"
        for kind in self.mode.must:
            if len(self.counts) > 1 and not kinds[kind]:  # one workload need not show all
                yield f"no {kind}, which is known of it: the judges are wrong, or it has changed"


def setup_of(mount: Mount) -> Setup:
    """Return our machine, as a mount of type sluice says."""
    return Setup(mount.options.replace(",", " "), size=SIZE)


def record_mode(
    kernel: Kernel | None, bases: dict[bool, bytes], mode: Mode, work: Sequence[Workload]
) -> Recording:
    """Have a system do the workloads. Returns the events of each."""
    mount, base = mode.mount, bases[mode.mount.has_journal]
    if mount.type == "sluice":
        with CrashMachine(setup_of(mount), base) as machine:
            return {one: machine.record(one.all_operations()) for one in work}
    assert kernel
    with memory_folder() as folder:
        return record_workloads(kernel, mount, base, work, Path(folder))


def compare_modes(request: Request) -> bool:
    """Try all modes that are asked for. Returns whether all is as expected."""
    modes = [find_mode(mount) for mount in request.mounts] or list(MODES)
    linux = any(mode.mount.type != "sluice" for mode in modes)
    kernel = debian.get_kernel() if linux else None
    bases = {has_journal: make_base(has_journal) for has_journal in (False, True)}
    record = partial(record_mode, kernel, bases, work=request.workloads)
    results = []
    print("  ".join(linux_table.COLUMNS), flush=True)
    with ThreadPoolExecutor(request.jobs) as pool:
        for mode, recording in zip(modes, pool.map(record, modes), strict=True):
            release = kernel.release.partition("+")[0] if kernel else ""
            system = "Sluice" if mode.mount.type == "sluice" else f"Linux {release}"
            base = bases[mode.mount.has_journal]
            ours = setup_of(mode.mount) if mode.mount.type == "sluice" else None
            tasks = list(recording.items())
            counted = count_all(base, ours, tasks, request.cuts, request.jobs)
            result = Result(mode, system, list(counted))
            results.append(result)
            show_result(result)
            if request.page:
                linux_table.put_rows({mode.mount: result.cells()})
            if len(request.workloads) == 1:
                print(tell_firsts(result, base, recording))
    return not any(surprise for result in results for surprise in result.surprises())


def show_result(result: Result) -> None:
    """Print a mode's row, and what is not as expected."""
    system, *numbers = result.cells()
    print("  ".join((system, str(result.mode.mount), *numbers)))
    for surprise in result.surprises():
        print(f"  NOT AS EXPECTED: {surprise}")
    sys.stdout.flush()


def tell_firsts(result: Result, base: bytes, recording: Recording) -> str:
    """Return the story of the earliest cut of each kind of one workload."""
    (count,) = result.counts
    events, operations = recording[count.workload], count.workload.all_operations()
    places, lines = Places(base, read_tree(base)), []
    for kind, (cut, said) in count.first.items():
        lines += ["", f"{result.mode.mount} shows {kind}: {count.workload.name}"]
        lines += list_events(cut, events, operations, places, volatile=True)
        lines += [f"  {said}"] * bool(said)
    return "\n".join(lines) or "no cut shows anything"


def run_comparison(request: Request) -> int:
    """Compare, and return the exit status.

    It is 1 if something is not as expected, or no Linux is available.
    """
    try:
        return 0 if compare_modes(request) else 1
    except Missing as why:
        print(f"no Linux guest: {why}; nothing was tried", file=sys.stderr)
    except (BadRecording, ConsoleError) as error:
        print(error, file=sys.stderr)
    return 1


def choose_workloads(text: str, seeds: int) -> tuple[Workload, ...]:
    """Return the workload with this name, or all."""
    return (find_workload(text),) if text else tuple(list_workloads(seeds))
