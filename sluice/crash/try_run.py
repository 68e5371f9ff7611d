"""`sluice crash try`: a campaign for a change of the sources that was just made.

It ends at the first workload that loses something, reduces it and tells its simplest story. The
workloads that are likely to lose something come first: those that have found planted faults of the
sources (source_faults.toml), by how many they found; then all workloads of one operation; then
random ones, until the time is over.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from sluice.crash.crews import try_tasks
from sluice.crash.disk_events import BadRecording
from sluice.crash.disk_kinds import FILES, LOG, describe_options, open_laboratory
from sluice.crash.ext2 import Damaged
from sluice.crash.judge import Verdict
from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import limit_trials
from sluice.crash.source_faults import load_faults
from sluice.crash.story import format_story, reduce_workload, tell
from sluice.crash.workloads import all_workloads, find_workload, random_workload
from sluice.host.closing import Closing

BLOCKS = ("4K", "1K")


@dataclass(frozen=True)
class Attempt:
    """A workload to try, by name, on a kind of disk (disk_kinds.py), with blocks of this size."""

    on: str
    block: str
    workload: str


@dataclass(frozen=True)
class Tried:
    """The result of an attempt: its cuts, and the judges' first complaint, or ""."""

    cuts: int
    wrong: str


class Laboratories(Closing):
    """A context manager that makes a laboratory for each kind of disk when `find` first needs the
    laboratory, and closes all laboratories at the end."""

    def __enter__(self) -> "Laboratories":
        self.stack, self.made = ExitStack(), dict[tuple[str, str], Laboratory]()
        return self

    def find(self, attempt: Attempt) -> Laboratory:
        """Return the laboratory for an attempt. Raises BadRecording or Damaged if the disk with
        which workloads begin cannot be made or is not whole."""
        key = attempt.on, attempt.block
        if key not in self.made:
            laboratory = self.stack.enter_context(open_laboratory(*key))
            expect_whole(laboratory, attempt)
            self.made[key] = laboratory
        return self.made[key]

    def close(self) -> None:
        """Close all laboratories."""
        self.stack.close()


def expect_whole(laboratory: Laboratory, attempt: Attempt) -> None:
    """Raise Damaged if the disk with which workloads begin is not whole."""
    if attempt.on == LOG:
        return  # its log has to be replayed first
    verdict = Verdict()
    laboratory.judge.check(laboratory.base.disk, "files made without a power cut", verdict)
    if verdict.wrong:
        raise Damaged(verdict.wrong[0])


def make_attempt(laboratories: Laboratories, attempt: Attempt) -> Tried:
    """Try an attempt's workload, up to the first cut that loses something."""
    try:
        laboratory = laboratories.find(attempt)
        with limit_trials(laboratory.machine):
            outcome = laboratory.try_workload(find_workload(attempt.workload), most=1)
    except (BadRecording, Damaged) as error:
        return Tried(0, str(error))
    first = next(iter(outcome.failures), None)
    return Tried(outcome.cuts, first.wrong[0] if first else "")


def iterate_attempts(end_s: float) -> Iterator[Attempt]:
    """Yield the attempts, the soonest to find first, until a time of the monotonic clock."""
    found = Counter(
        Attempt(fault.on, fault.block, fault.workload)
        for fault in load_faults()
        if fault.on != "image"
    )
    first = [attempt for attempt, _ in found.most_common()]
    singles = [Attempt(FILES, BLOCKS[1], workload.name) for workload in all_workloads(1)]
    seeds = (Attempt(FILES, BLOCKS[s % 2], random_workload(s).name) for s in range(1 << 30))
    for further in (first, singles, seeds):
        for attempt in further:
            if time.monotonic() > end_s:
                return
            yield attempt


def find_failure(seconds: float, jobs: int) -> tuple[Attempt | None, str]:
    """Try workloads for this time. Returns the first attempt that failed and its story, or None and
    a sentence about what was tried."""
    began_s = time.monotonic()
    workloads = cuts = 0
    attempts = iterate_attempts(began_s + seconds)
    for attempt, tried in try_tasks(attempts, jobs, Laboratories, make_attempt):
        workloads, cuts = workloads + 1, cuts + tried.cuts
        if tried.wrong:
            return attempt, tried.wrong
    took_s = time.monotonic() - began_s
    return None, f"{workloads} workloads, {cuts:,} cuts in {took_s:.0f} s: nothing was lost"


def tell_attempt(attempt: Attempt, wrong: str) -> str:
    """Return the shortest story of an attempt that failed; or what was said, if no cut was needed
    for it."""
    disk = attempt.on, attempt.block
    with suppress(BadRecording, Damaged), open_laboratory(*disk) as laboratory:
        expect_whole(laboratory, attempt)
        workload = reduce_workload(laboratory, find_workload(attempt.workload), None)
        story = tell(laboratory, workload)
        if story and story.failure.cut.number < story.cuts:
            return format_story(story, laboratory, describe_options(*disk))
    return f"Wrong without a power cut: {find_workload(attempt.workload)}\n  {wrong}"


def run_attempts(seconds: float, jobs: int) -> bool:
    """Try workloads until one loses something, which is told, or the time is over. Returns whether
    nothing was lost."""
    began_s = time.monotonic()
    attempt, said = find_failure(seconds, jobs)
    if attempt is None:
        print(said)
        return True
    print(tell_attempt(attempt, said))
    print(f"Found and told in {time.monotonic() - began_s:.0f} s.")
    return False
