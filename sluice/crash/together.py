"""Workloads in which several processes are at work at once, and ask for the same commits.

Each process has a directory of its own, /p1 and so on, so what it may find there after a cut
depends on its own operations alone: the model follows each by itself. One thing joins them. An
fsync that has returned has put on the disk all names that were made before it was called, also
those of the others: under order=journal it commits the whole transaction. So a cut may not lose
them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from sluice.crash.disk_events import Event
from sluice.crash.operations import Operation
from sluice.crash.oracle import FoundTree, History, Promise
from sluice.crash.workloads import Workload, find_workload

MOST_WORKERS = 4
STEPS = 3  # of each process
DURABLE = ("fsync", "sync", "umount")


@dataclass(frozen=True)
class State:
    """How far a process is at a cut, by its own operations."""

    worker: int
    returned: int  # operations that have returned
    under_way: bool  # one more has begun
    settled: int  # operations that had returned when a finished fsync of any process was called


States = tuple[State, ...]


def choose_step(worker: int, i: int, rng: Random) -> str:
    """Return operations of a process in its directory that end with an fsync, an
    fdatasync or a sync."""
    home, tag = f"/p{worker}", 10 * worker + i
    size = rng.choice((300, 5000, 9000))
    new = f"creat {home}/n{i}; append {home}/n{i} {size} {tag}; fsync {home}/n{i}"
    return rng.choice(
        (
            new,
            f"append {home}/a {size} {tag}; fsync {home}/a",
            f"rename {home}/a {home}/b{i}; fsync {home}/b{i}; rename {home}/b{i} {home}/a",
            f"unlink {home}/a; creat {home}/a; sync",
            f"mkdir {home}/m{i}; {new}; rmdir {home}/m{i}",
            f"truncate {home}/a 0; fsync {home}/a",
            f"store {home}/a 0 {size} {tag}",
        )
    )


def workload_together(seed: int) -> Workload:
    """Return the workload of a seed: two to four processes that fsync at once."""
    rng = Random(seed)
    workers = range(1, rng.randint(2, MOST_WORKERS) + 1)
    lines = [f"mkdir /p{worker}; creat /p{worker}/a" for worker in workers]
    for worker in workers:
        steps = "; ".join(choose_step(worker, i, rng) for i in range(STEPS))
        lines += [f"{worker}: {operation}" for operation in steps.split("; ")]
    return find_workload("; ".join(lines))


def operations_of(operations: Sequence[Operation], worker: int) -> list[int]:
    """Return the numbers of a process's operations and of those done while no other process works.
    Operations on names in another process's directory are left out."""
    return [
        i
        for i, one in enumerate(operations)
        if one.worker in (0, worker) and not any(is_of_other(word, worker) for word in one.words)
    ]


def list_workers(operations: Sequence[Operation]) -> list[int]:
    """Return the numbers of the processes that are at work at once."""
    return sorted({one.worker for one in operations} - {0})


def histories_of_workers(operations: Sequence[Operation], start: History) -> dict[int, History]:
    """Return each process's history, on a disk that another history has made."""
    return {
        worker: History([operations[i] for i in operations_of(operations, worker)], start)
        for worker in list_workers(operations)
    }


def follow_workers(operations: Sequence[Operation], events: Sequence[Event]) -> Iterator[States]:
    """Yield after each event how far each process is."""
    workers = list_workers(operations)
    own = {worker: set(operations_of(operations, worker)) for worker in workers}
    returned, under_way = dict.fromkeys(workers, 0), dict.fromkeys(workers, False)
    settled = dict.fromkeys(workers, 0)
    called: dict[int, dict[int, int]] = {}  # at each operation's call: what had returned
    for event in events:
        if event.kind in ("began", "returned"):
            began = event.kind == "began"
            for worker in workers:
                if event.mark in own[worker]:
                    under_way[worker] = began
                    returned[worker] += not began
            if began:
                called[event.mark] = dict(returned)
            elif operations[event.mark].name in DURABLE and not event.error:
                settled = {w: max(settled[w], called[event.mark][w]) for w in workers}
        yield tuple(State(w, returned[w], under_way[w], settled[w]) for w in workers)


def check_worker(
    history: History, tree: FoundTree, state: State, promise: Promise
) -> tuple[list[str], int]:
    """Compare what a process has left in a tree with what its history allows. Returns what is
    wrong, and how many stale bytes the promise allows."""
    mine = {path: found for path, found in tree.items() if not is_of_other(path, state.worker)}
    return history.check(mine, state.returned, state.under_way, promise, state.settled)


def is_of_other(path: str, worker: int) -> bool:
    """Return whether a path is another process's directory, or in one."""
    _, _, home = path.partition("/")
    home = home.partition("/")[0]
    return home[:1] == "p" and home[1:].isdigit() and home != f"p{worker}"
