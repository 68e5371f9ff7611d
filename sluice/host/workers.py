"""Start or find Dask workers, which make runs and score submissions.

Without a scheduler's address they are on this machine: threads of this process, for work that waits
for other programs, or processes. With an address they are the workers of its cluster. Start them
and the scheduler in built trees like this one; they need no shared disk:

    .venv/bin/dask scheduler                        # prints its address
    .venv/bin/dask worker tcp://HOST:8786 --nthreads 1 --nworkers 8

If the locale is not UTF-8, start both with PYTHONUTF8=1; otherwise a worker is refused.

Programs of .venv find the folder grade/ of their tree from any working folder, because
tools/setup.sh has arranged it. Programs of another Python do not; the error message names them.

Importing distributed takes as long as all other imports of a command. So distributed and asyncio
are imported only where workers are started, and other commands start in half the time.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

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
    """Return an iterator over futures, each as soon as it is done. Without futures, no client is
    needed."""
    from distributed import as_completed

    return iter(as_completed(futures)) if futures else iter(())


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
def local_client(count: int, threads: bool) -> Iterator[Client]:
    """Start `count` workers on this machine. Yields the client."""
    import dask
    from distributed import Client, LocalCluster

    how = {"n_workers": 1 if threads else count, "threads_per_worker": count if threads else 1}
    # There is no dashboard, because threads that start at once do not all find its module imported.
    # A worker logs an error if its cluster closes while the worker reports itself alive. Errors in
    # its work reach the caller in any case.
    quiet = {
        "silence_logs": logging.CRITICAL,
        "dashboard_address": "127.0.0.1:0",
        "scheduler_kwargs": {"dashboard": False},
    }
    # Only this process gets ^C, and it closes the workers. Children of threads get ^C, too, and
    # end. A worker that is closed during its work leaves temporary files; this process removes
    # them.
    with TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)  # the sandbox's compiler runs as another user and must enter it
        where = {} if threads else {"env": {"TMPDIR": folder}}
        # All processes may be stopped for hours (^Z) and continue, so no time limit finds a dead
        # worker. A worker that dies closes its socket.
        ever = dask.config.set({"distributed.scheduler.worker-ttl": None})
        with ever, nullcontext() if threads else delay_interrupt():
            cluster = LocalCluster(processes=not threads, memory_limit=0, **where, **quiet, **how)
        with cluster, Client(cluster) as client:
            yield client


@contextmanager
def open_workers(count: int, scheduler: str = "", threads: bool = False) -> Iterator[Client]:
    """Connect to the cluster at the address, or else start `count` workers on this machine. Yields
    the client."""
    with cluster_client(scheduler) if scheduler else local_client(count, threads) as client:
        yield client
