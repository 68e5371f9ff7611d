"""Start or find Dask workers, which make runs and score submissions.

Without a scheduler's address they are on this machine: processes of Dask (open_workers), or, for
work that waits for other programs, threads of this process (open_threads), which need no Dask. With
an address they are the workers of its cluster. Start them and the scheduler in built trees like
this one; they need no shared disk:

    .venv/bin/dask scheduler                        # prints its address
    .venv/bin/dask worker tcp://HOST:8786 --nthreads 1 --nworkers 8

If the locale is not UTF-8, start both with PYTHONUTF8=1; otherwise a worker is refused.

Programs of .venv find the folder grade/ of their tree from any working folder, because
tools/setup.sh has arranged it. Programs of another Python do not; the error message names them.

Importing distributed takes as long as all other imports of a command. So distributed and asyncio
are imported only where Dask's workers are started, and other commands start in half the time.
"""

from __future__ import annotations

import concurrent.futures as threads
import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sluice.host.interrupt import delay_interrupt

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

CONNECT_S = 30  # limit for connecting to a scheduler
WAIT_S = 60  # limit for waiting for its first worker


# An expression that any Python can evaluate, because this tree may be missing there.
HAS_GRADE = "__import__('importlib.util').util.find_spec('grade') is not None"
# Files are UTF-8 (printing.py). The Makefile sets this mode; a worker may be started without it.
READS_AS = "__import__('codecs').lookup(__import__('locale').getpreferredencoding(False)).name"


class NoWorkers(Exception):
    """There are no workers; the text says why."""


class WorkersDied(Exception):
    """All workers that tried some work died; the text says which work."""


class Pool(Protocol):
    """What Dask's client and threads have in common: work is submitted, and may be cancelled."""

    def submit(self, func: Callable[..., T], /, *arguments: Any, pure: bool) -> Future[T]:
        """Have a worker call the function. pure: whether an earlier result of the same call may be
        used, which threads never do."""

    def cancel(self, futures: Collection[Future[Any]]) -> None:
        """Give up the work that no worker has begun."""


class Threads:
    """Threads of this process as a Pool."""

    def __init__(self, pool: threads.ThreadPoolExecutor) -> None:
        self.pool = pool

    def submit(self, func: Callable[..., T], /, *arguments: Any, pure: bool) -> Any:
        """Have a thread call the function."""
        return self.pool.submit(func, *arguments)

    def cancel(self, futures: Collection[Any]) -> None:
        """Give up the work that no thread has begun."""
        for future in futures:
            future.cancel()


def expect_grade_package(who: str, has_grade: bool) -> None:
    """Raise NoWorkers for a program that does not find our packages."""
    if not has_grade:
        raise NoWorkers(
            f"{who} does not find grade/: start it by the .venv/bin/dask of a tree like this one, "
            "in which make has been run"
        )


def expect_utf8(who: str, reads_as: str) -> None:
    """Raise NoWorkers for a program that reads files in an encoding other than UTF-8."""
    if reads_as != "utf-8":
        raise NoWorkers(
            f"{who} reads files as {reads_as}, because of its locale: start it with PYTHONUTF8=1 "
            "before its command"
        )


def iterate_completed(futures: Collection[Future[T]]) -> Iterator[Future[T]]:
    """Return an iterator over futures, each as soon as it is done. Without futures, no workers are
    needed."""
    of_threads: Any = [future for future in futures if isinstance(future, threads.Future)]
    if len(of_threads) == len(futures):
        done: Any = threads.as_completed(of_threads)
        return iter(done)
    from distributed import as_completed

    return iter(as_completed(futures))


def take_result(future: Future[T]) -> T:
    """Return what the work of a future returned. Raises the error of the work, and WorkersDied."""
    if isinstance(future, threads.Future):
        there: T = future.result()
        return there
    from distributed import KilledWorker

    try:
        result: T = future.result()
        return result
    except KilledWorker as error:
        raise WorkersDied(str(error)) from None


async def connect_once(scheduler: str) -> None:
    """Connect to the scheduler with the settings that a client has by default, and disconnect."""
    from distributed import Security
    from distributed.comm.core import connect

    settings = Security().get_connection_args("client")
    comm = await connect(scheduler, timeout=CONNECT_S, **settings)
    await comm.close()


@contextmanager
def cluster_client(scheduler: str) -> Iterator[Client]:
    """Connect to the cluster whose scheduler is at the address. Yields the client. Raises
    NoWorkers."""
    import asyncio

    from distributed import Client

    # A wrong address must fail here, before there is a client. A client that could not connect is
    # not always closed at once: it closes itself when it is collected as garbage. If another client
    # starts at that moment, both wait for the same lock for ever.
    try:
        asyncio.run(connect_once(scheduler))
    except Exception as error:
        raise NoWorkers(f"no scheduler at {scheduler}: {error or repr(error)}") from None
    with Client(scheduler, timeout=CONNECT_S) as client:
        expect_grade_package(
            f"the scheduler at {scheduler}", client.run_on_scheduler(eval, HAS_GRADE)
        )
        try:
            client.wait_for_workers(1, timeout=WAIT_S)
        except TimeoutError:
            raise NoWorkers(f"the scheduler at {scheduler} has no workers") from None
        for address, has_grade in client.run(eval, HAS_GRADE).items():
            expect_grade_package(f"the worker at {address}", has_grade)
        for address, reads_as in client.run(eval, READS_AS).items():
            expect_utf8(f"the worker at {address}", reads_as)
        yield client


@contextmanager
def local_client(count: int) -> Iterator[Client]:
    """Start `count` processes as workers on this machine. Yields the client."""
    import dask
    from distributed import Client, LocalCluster

    # There is no dashboard, which nobody looks at. A worker logs an error if its cluster closes
    # while the worker reports itself alive. Errors in its work reach the caller in any case.
    quiet = {
        "silence_logs": logging.CRITICAL,
        "dashboard_address": "127.0.0.1:0",
        "scheduler_kwargs": {"dashboard": False},
    }
    # Only this process gets ^C, and it closes the workers. A worker that is closed during its work
    # leaves temporary files; this process removes them.
    with TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)  # the sandbox's compiler runs as another user and must enter it
        how = {"n_workers": count, "threads_per_worker": 1, "env": {"TMPDIR": folder}}
        # All processes may be stopped for hours (^Z) and continue, so no time limit finds a dead
        # worker. A worker that dies closes its socket.
        ever = dask.config.set({"distributed.scheduler.worker-ttl": None})
        with ever, delay_interrupt():
            cluster = LocalCluster(processes=True, memory_limit=0, **quiet, **how)
        with cluster, Client(cluster) as client:
            yield client


@contextmanager
def open_workers(count: int, scheduler: str = "") -> Iterator[Client]:
    """Connect to the cluster at the address, or else start `count` processes on this machine.
    Yields the client."""
    with cluster_client(scheduler) if scheduler else local_client(count) as client:
        yield client


@contextmanager
def open_threads(count: int, scheduler: str = "") -> Iterator[Pool]:
    """Connect to the cluster at the address, or else have `count` threads of this process. Yields
    what takes the work.

    At the end threads finish what they have begun. The programs that they wait for get ^C, too.
    """
    if scheduler:
        with cluster_client(scheduler) as client:
            yield client
        return
    with threads.ThreadPoolExecutor(count) as pool:
        try:
            yield Threads(pool)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
