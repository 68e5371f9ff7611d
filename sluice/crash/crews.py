"""Several processes that try workloads, each with a laboratory of its own.

A worker ends with its pipe, and so with the process that started it. It ignores ^C, which is for
that process.
"""

import ctypes
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from sluice.crash.faults import plant
from sluice.crash.laboratory import Laboratory, Outcome
from sluice.crash.log_faults import EVERY_FAULT
from sluice.crash.machine import limit_trials
from sluice.crash.points import sample_points
from sluice.crash.workloads import find_workload

MOST_FAILURES = 3  # of a workload: then the next one is tried
END_S = 10  # for a worker to finish a trial and end, when its pipe has ended
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of mallopt(3)
KEPT_BYTES = 1 << 25  # the most that glibc takes for M_MMAP_THRESHOLD
CONTEXT = multiprocessing.get_context("spawn")


class WorkerFailed(Exception):
    """The error for a worker that could not try a workload; the text says why."""


@dataclass(frozen=True)
class Task:
    """A workload to try, by its name. fault: the name of a planted fault, or "" for none."""

    workload: str
    fault: str = ""


def try_task(laboratory: Laboratory, task: Task, points: bool = False) -> Outcome:
    """Try a task's workload, perhaps cut at persistence points only. Returns the outcome."""
    workload = find_workload(task.workload)
    sample = sample_points(workload, laboratory.volatile) if points else None
    with limit_trials(laboratory.machine):
        if not task.fault:
            return laboratory.try_workload(workload, most=MOST_FAILURES, sample=sample)
        fault = next(fault for fault in EVERY_FAULT if fault.name == task.fault)
        planted = plant(fault, laboratory.base.disk)
        return laboratory.try_workload(workload, planted, most=1, sample=sample)


def keep_memory() -> None:
    """Have the C library keep the memory that this process frees. Images come and go, and to clear
    their pages anew costs more than to fill them."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt"):  # another C library than glibc
        return
    for parameter in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD):
        libc.mallopt(parameter, KEPT_BYTES)


Attempt = Callable[[Any, Any], Any]  # from what a worker has and a task to the task's outcome


def serve_tasks(
    pipe: Connection, make: Callable[[], AbstractContextManager[Any]], attempt: Attempt
) -> None:
    """Try each task that comes, until the pipe ends."""
    keep_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with make() as equipment:
            while True:
                task = pipe.recv()
                try:
                    pipe.send((task, attempt(equipment, task)))
                except EOFError:
                    raise
                except Exception as error:
                    pipe.send((task, WorkerFailed(f"{task}: {error!r}")))
    except (EOFError, ConnectionError):
        return


@contextmanager
def open_pipes(
    jobs: int, make: Callable[[], AbstractContextManager[Any]], attempt: Attempt
) -> Iterator[list[Connection]]:
    """Start `jobs` workers, and yield a pipe to each. When the context ends, they are ended."""
    with ExitStack() as stack:
        pipes = []
        for _ in range(jobs):
            ours, theirs = CONTEXT.Pipe()
            worker: Any = CONTEXT.Process(
                target=serve_tasks, args=(theirs, make, attempt), daemon=True
            )
            worker.start()
            theirs.close()
            stack.callback(worker.terminate)
            stack.callback(worker.join, END_S)  # it removes its folder in memory
            stack.callback(ours.close)
            pipes.append(ours)
        yield pipes


def try_tasks(
    tasks: Iterable[Any],
    jobs: int,
    make: Callable[[], AbstractContextManager[Any]],
    attempt: Attempt = try_task,
) -> Iterator[tuple[Any, Any]]:
    """Try tasks on `jobs` workers. Yields each task with its outcome, as outcomes come. make:
    returns what each worker has, such as a laboratory. Raises WorkerFailed."""
    left = iter(tasks)
    with open_pipes(jobs, make, attempt) as pipes:
        busy = [pipe for pipe in pipes if send_next(pipe, left)]
        while busy:
            for pipe in wait(busy):
                assert isinstance(pipe, Connection)
                try:
                    task, outcome = pipe.recv()
                except EOFError:
                    raise WorkerFailed("a worker has ended") from None
                if isinstance(outcome, Exception):
                    raise outcome
                yield task, outcome
                if not send_next(pipe, left):
                    busy.remove(pipe)


def send_next(pipe: Connection, tasks: Iterator[Any]) -> bool:
    """Give a worker the next task. Returns whether there was one."""
    task = next(tasks, None)
    if task:
        pipe.send(task)
    return task is not None
