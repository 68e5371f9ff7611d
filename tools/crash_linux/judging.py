"""Judges the cuts of workloads by e2fsck and by reading the files, and counts what they show.

A cut's image goes to e2fsck as at the first boot after a power cut: the journal's replay, -p, and,
where that would have to ask, -y. Then a reader that shares no code with either kernel reads the
tree. A disk of ours is mounted before that, because our mount finishes a rename that was cut, as
the replay of a journal does.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import util
from pathlib import Path
from random import Random

from sluice.crash.checker import Checker
from sluice.crash.cut_findings import Findings
from sluice.crash.cuts import Base, Cut, Image, iterate_cuts
from sluice.crash.disk_events import Event
from sluice.crash.ext2 import Damaged, read_tree
from sluice.crash.judge import MOUNT
from sluice.crash.laboratory import compare_results
from sluice.crash.machine import CrashMachine, Setup, apply_writes, difference, memory_folder
from sluice.crash.oracle import FoundTree, History
from sluice.crash.workloads import SETUP, Workload
from sluice.host.closing import Closing

GRAIN = 8  # sectors of a block: larger writes are torn between blocks
Task = tuple[Workload, Sequence[Event]]


@dataclass(frozen=True)
class Verdict:
    """The verdict of e2fsck and of the reader on an image.

    kinds: the kinds of findings. tree: what was read, if the image could be read. said: e2fsck's
    words, if it found something wrong.
    """

    kinds: frozenset[str]
    tree: FoundTree | None
    said: str = ""


@dataclass
class Count:
    """The findings of a workload's cuts.

    images: how many different ones all cuts leave. wrong: how its results differ from the model's.
    kinds: how many cuts show each kind. first: of each kind the earliest cut, and e2fsck's words.
    """

    workload: Workload
    cuts: int = 0
    images: int = 0
    wrong: str = ""
    kinds: dict[str, int] = field(default_factory=dict)
    first: dict[str, tuple[Cut, str]] = field(default_factory=dict)


class Judging(Closing):
    """Judges the images of one base; equal ones once. A context manager.

    setup: our machine, if the images are of its disks.
    """

    def __init__(self, base: bytes, setup: Setup | None = None) -> None:
        self.base, self.start, self.setup = Base(base), History(SETUP), setup
        self.tree = read_tree(base)
        self.known: dict[int, Verdict] = {}
        self.machine: CrashMachine | None = None

    def __enter__(self) -> "Judging":
        self.stack = ExitStack()
        self.checker = Checker(Path(self.stack.enter_context(memory_folder())))
        if self.setup:
            machine = CrashMachine(self.setup, self.base.disk)
            self.machine = self.stack.enter_context(machine)
        return self

    def close(self) -> None:
        """End our machine, and remove the files."""
        self.stack.close()

    def verdict(self, image: Image) -> Verdict:
        """Return the verdict of an image."""
        if image.hash not in self.known:
            self.known[image.hash] = self.judge(image.bytes())
        return self.known[image.hash]

    def judge(self, disk: bytes) -> Verdict:
        """Have e2fsck repair a disk, and read it."""
        kinds, said = set(), self.checker.preen(disk, "e2fsck")
        if said:
            kinds.add("asks")
            self.checker.run("-fy")
        elif self.checker.run("-fn"):
            kinds.add("unclean")
            said = self.checker.message()
        try:
            tree = read_tree(self.mount(self.checker.path.read_bytes()))
        except Damaged as error:
            return Verdict(frozenset(kinds | {"unclean"}), None, f"{said} {error}")
        return Verdict(frozenset(kinds), tree, said)

    def mount(self, disk: bytes) -> bytes:
        """Have our machine mount and unmount a disk, if it is one of ours. Returns it then."""
        if not self.machine:
            return disk
        done = self.machine.run_operations(MOUNT, difference(self.base.disk, disk))
        return apply_writes(disk, done.events)

    def count(self, workload: Workload, events: Sequence[Event], most: int) -> Count:
        """Judge a workload's cuts. most: if there are more cuts, this number is drawn at random."""
        history = History(workload.all_operations(), self.start)
        findings, count = Findings(history, self.tree), Count(workload)
        count.wrong = compare_results(events, history)
        if count.wrong:
            return count
        every = list(iterate_cuts(self.base, events, grain=GRAIN))
        for cut, image in draw_cuts(every, most, workload.name):
            verdict = self.verdict(image)
            kinds = verdict.kinds | (findings.kinds(verdict.tree, cut) if verdict.tree else set())
            for kind in kinds:
                count.kinds[kind] = count.kinds.get(kind, 0) + 1
                count.first.setdefault(kind, (cut, verdict.said))
            count.cuts += 1
        count.images = len({image.hash for _, image in every})
        return count


def draw_cuts(every: Sequence[tuple[Cut, Image]], most: int, seed: str) -> list[tuple[Cut, Image]]:
    """Return `most` of these cuts, drawn at random, in their order; all if `most` is 0."""
    if not most or len(every) <= most:
        return list(every)
    chosen = sorted(Random(seed).sample(range(len(every)), most))
    return [every[i] for i in chosen]


# ---- several processes ----

WORKER: list[Judging] = []  # of this process


def start_worker(base: bytes, setup: Setup | None) -> None:
    """Prepare a process that judges; its memory is freed when it ends."""
    judging = Judging(base, setup).__enter__()
    WORKER.append(judging)
    util.Finalize(None, judging.stack.close, exitpriority=1)


def count_task(most: int, task: Task) -> Count:
    """Judge a workload in a process that start_worker() has prepared."""
    return WORKER[0].count(*task, most)


def count_all(
    base: bytes, setup: Setup | None, tasks: Sequence[Task], most: int, jobs: int
) -> Iterator[Count]:
    """Judge workloads in `jobs` processes. Yields what each workload shows, in their order."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, start_worker, (base, setup)) as pool:
        yield from pool.map(partial(count_task, most), tasks)
