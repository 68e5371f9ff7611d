"""A campaign: workloads, all of their cuts, and what the judges say of each.

`Laboratory` has the machine, the judge and the disk that all workloads begin with. `try_workload`
records one and judges its cuts.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sluice.crash.cuts import Base, Cut, Image, iterate_cuts
from sluice.crash.disk_events import Event
from sluice.crash.ext2 import Reader, read_tree
from sluice.crash.judge import Judge, Verdict
from sluice.crash.machine import CrashMachine, Setup, apply_writes
from sluice.crash.oracle import FoundTree, History, Promise
from sluice.crash.order_rules import check_rules
from sluice.crash.together import States, check_worker, follow_workers, histories_of_workers
from sluice.crash.workloads import SETUP, Workload, moves_directory
from sluice.crash.written_disk import Checked
from sluice.host.closing import Closing
from sluice.twin.engine import TWIN

ORDER = re.compile(r"(?:^|\s)order=(\S+)")  # the order policy among boot arguments
Sample = Callable[[Sequence[Event]], Callable[[Cut], bool]]  # of a recording: which cuts are judged
Plant = Callable[[list[Event]], list[Event]]  # a planted fault: what it makes of a recording


@dataclass(frozen=True)
class Failure:
    """A cut that lost something: the workload, the cut, and what the judges said."""

    workload: Workload
    cut: Cut
    wrong: tuple[str, ...]


@dataclass
class Outcome:
    """The result of a workload."""

    workload: Workload
    cuts: int = 0  # judged
    images: int = 0  # different images among the cuts
    stale_cuts: int = 0  # cuts that show bytes of other files
    refused: int = 0  # operations that failed, as they must
    checks: int = 0  # of order rules
    mounts_ns: list[int] = field(default_factory=list)  # how long our mount of each image took
    failures: list[Failure] = field(default_factory=list)
    tried: list[Cut] = field(default_factory=list)  # all cuts, if they were to be kept


class Laboratory(Closing):
    """A context manager: everything that judging workloads on one kind of machine needs. prunes:
    writes that an order rule guards are not permuted."""

    has_rules = True  # what its workloads write obeys order_rules.py

    def __init__(
        self,
        setup: Setup,
        promise: Promise | None = None,
        volatile: bool = True,
        tear_older: bool = False,
        prunes: bool = False,
    ) -> None:
        self.setup, self.promise, self.volatile = setup, promise or Promise(), volatile
        self.tear_older, self.prunes = tear_older, prunes

    def __enter__(self) -> "Laboratory":
        disk, self.start = self.make_start()
        self.base, self.block_bytes = Base(disk), Reader(disk).block_bytes
        self.machine = CrashMachine(self.setup, self.base.disk).__enter__()
        self.judge = Judge(self.machine)
        return self

    def make_start(self) -> tuple[bytes, History]:
        """Make what all workloads begin with, by this tree's own twin. Returns the disk, and how it
        came to be."""
        with CrashMachine(replace(self.setup, twin=TWIN)) as maker:
            made = maker.record(SETUP)
            return apply_writes(maker.start_disk(), made), History(SETUP)

    def close(self) -> None:
        """End the machine."""
        self.machine.close()

    def record(self, workload: Workload) -> list[Event]:
        """Do a workload. Returns the events."""
        return self.machine.record(workload.all_operations())

    def iterate_cuts(self, events: Sequence[Event], seed: int = 0) -> Iterator[tuple[Cut, Image]]:
        """Yield the cuts of a recording on this laboratory's drive, each with what it leaves."""
        guarded = self.check_rules(events).guarded if self.prunes else ()
        return iterate_cuts(
            self.base, events, seed, self.volatile, tear_older=self.tear_older, guarded=guarded
        )

    def check_rules(self, events: Sequence[Event]) -> Checked:
        """Check the order rules of each write of a recording."""
        policy = ORDER.search(self.setup.args)
        order = policy[1] if policy else "sync"
        if not self.has_rules or order not in ("sync", "journal"):
            return Checked()
        return check_rules(self.base.disk, events, self.volatile, order == "journal")

    def start_tree(self) -> FoundTree:
        """Return what is on the disk at first."""
        return read_tree(self.base.disk)

    def try_workload(
        self,
        workload: Workload,
        plant: Plant | None = None,
        most: int | None = None,
        seed: int = 0,
        keep_cuts: bool = False,
        sample: Sample | None = None,
    ) -> Outcome:
        """Judge all cuts of a workload. plant: a fault to plant into the recorded writes; most:
        stop after this number of failures; sample: which cuts are judged, if not all."""
        events = self.record(workload)
        history = History(workload.all_operations(), self.start)
        outcome = Outcome(workload, refused=history.results.count(False))
        if wrong := compare_results(events, history):
            outcome.failures.append(Failure(workload, Cut(len(events), ()), (wrong,)))
            return outcome
        checked = self.check_rules(events)
        outcome.checks = sum(checked.checks.values())
        events = plant(events) if plant else events
        judging = make_judging(self, workload, history, events)
        is_judged = sample(events) if sample else None
        for cut, image in self.iterate_cuts(events, seed):
            outcome.tried += [cut] * keep_cuts
            if is_judged and not is_judged(cut):
                continue
            outcome.cuts += 1
            wrong_here, stale = judging.judge(cut, image)
            outcome.stale_cuts += stale > 0
            if wrong_here:
                outcome.failures.append(Failure(workload, cut, tuple(wrong_here)))
                if most and len(outcome.failures) >= most:
                    break
        outcome.images = len(judging.images)
        outcome.mounts_ns = list(judging.mounts_ns.values())
        if checked.broken and not outcome.failures:
            outcome.failures.append(Failure(workload, Cut(len(events), ()), tuple(checked.broken)))
        return outcome


class Judging:
    """The judging of one workload's cuts."""

    def __init__(
        self,
        laboratory: Laboratory,
        workload: Workload,
        history: History,
        events: Sequence[Event] = (),
    ) -> None:
        self.laboratory, self.history, self.events = laboratory, history, events
        ordered = laboratory.promise.order == "sync"  # a journal moves a directory as a whole
        self.may_ask = ordered and moves_directory(workload.operations)
        self.images: set[int] = set()
        self.mounts_ns: dict[int, int] = {}
        self.known: dict[tuple[int, Hashable], tuple[list[str], int]] = {}
        # By a tree, who has left it, and a state: the judge gives equal disks the same tree.
        self.compared: dict[tuple[int, str, Hashable], tuple[list[str], int]] = {}

    def judge(self, cut: Cut, image: Image) -> tuple[list[str], int]:
        """Return what is wrong with what a cut leaves, and how many stale bytes show."""
        self.images.add(image.hash)
        key = (image.hash, self.state_of(cut))
        if key not in self.known:
            verdict = self.laboratory.judge.verdict(image)
            self.mounts_ns[image.hash] = verdict.mount_ns
            self.known[key] = self._compare(verdict, cut)
        return self.known[key]

    def state_of(self, cut: Cut) -> Hashable:
        """Return what decides, with the image, what may be there."""
        return cut.returned, cut.under_way

    def _compare(self, verdict: Verdict, cut: Cut) -> tuple[list[str], int]:
        """Compare a verdict's trees with the model."""
        wrong = list(verdict.wrong)
        if verdict.asks and not self.may_ask:
            wrong.append(verdict.asks)
        stale = 0
        promise = self.laboratory.promise
        for who, tree, promised in (
            ("mount", verdict.mounted, promise),
            ("e2fsck, then mount", verdict.repaired, self.weaken_promise(promise)),
        ):
            if tree is not None:
                key = (id(tree), who, self.state_of(cut))
                if key not in self.compared:
                    self.compared[key] = self.check(tree, cut, promised)
                said, n = self.compared[key]
                wrong += [f"{who}: {text}" for text in said]
                stale = max(stale, n)
        return wrong, stale

    def weaken_promise(self, promise: Promise) -> Promise:
        """Return what is promised of a tree where e2fsck was at work before our mount."""
        has_journal = promise.order == "prefix"
        return replace(promise, repaired=0 if has_journal else self.laboratory.block_bytes)

    def check(self, tree: FoundTree, cut: Cut, promise: Promise) -> tuple[list[str], int]:
        """Compare a tree with what the model allows."""
        return self.history.check(tree, cut.returned, cut.under_way, promise)


class TogetherJudging(Judging):
    """The judging of a workload in which several processes are at work at once. Each is judged by
    a history of its own (together.py)."""

    def state_of(self, cut: Cut) -> Hashable:
        """Return how far each process is."""
        return self._states[cut.after]

    @cached_property
    def _states(self) -> list[States]:
        """Return how far each process is, after each event."""
        return list(follow_workers(self.history.operations, self.events))

    @cached_property
    def _histories(self) -> dict[int, History]:
        """Return each process's history."""
        return histories_of_workers(self.history.operations, self.laboratory.start)

    def check(self, tree: FoundTree, cut: Cut, promise: Promise) -> tuple[list[str], int]:
        """Compare what each process has left with what its own history allows."""
        wrong: list[str] = []
        stale = 0
        for state in self._states[cut.after]:
            said, n = check_worker(self._histories[state.worker], tree, state, promise)
            wrong += [f"process {state.worker}: {text}" for text in said]
            stale += n
        return wrong, stale


def compare_results(events: Sequence[Event], history: History) -> str:
    """Return how the kernel's results differ from the model's, or ""."""
    for event in events:
        if event.kind == "returned" and (event.error == 0) != history.results[event.mark]:
            said = f"error {event.error}" if event.error else "success"
            return f"{history.operations[event.mark]}: {said}, where the model has another result"
    return ""


def make_judging(
    laboratory: Laboratory, workload: Workload, history: History, events: Sequence[Event]
) -> Judging:
    """Return the judging of a workload that one process does, or several at once."""
    together = any(operation.worker for operation in workload.operations)
    return (TogetherJudging if together else Judging)(laboratory, workload, history, events)
