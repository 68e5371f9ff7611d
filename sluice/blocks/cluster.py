"""Makes replays by the workers of a Dask cluster, which share no disk (sluice/host/workers.py).

    batch.make_runs(runs, folder, make_there("tcp://host:8786"), report)

- Each host gets a decoded trace once, in pieces, and keeps it as one that it decoded itself. A host
  whose workers all come later is not used.
- A worker whose replayer is another one makes nothing: results of two versions do not mix.
- A worker sends figures and slices back, and they are kept here.
- A replay that nobody waits for any more, as after ^C, ends within about a second.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sluice.blocks.batch import (
    FOLDER,
    PIECE,
    Make,
    Planned,
    Report,
    Step,
    Trace,
    keep,
    measure,
    remove_old_traces,
)
from sluice.blocks.replayer import REPLAYER, Figures, ReplayFailed, Running, replayer_hash
from sluice.host.paths import ROOT
from sluice.host.workers import iterate_completed, open_workers

if TYPE_CHECKING:
    from distributed import Client, Worker

TOPIC = "sluice-replay"  # of the workers' progress


# ---- in a worker ----


def trace_path(name: str) -> Path:
    """Return where this host keeps the decoded trace of this file name."""
    return FOLDER / "traces" / name


def expect_replayer(wanted: str) -> None:
    """Raise ReplayFailed unless the replayer that is built here has this hash."""
    if not REPLAYER.exists() or replayer_hash() != wanted:
        raise ReplayFailed(
            f"the worker in {ROOT} on {socket.gethostname()} has another replayer, or none: update "
            "it to the commit that you have here, run make in it, and start its workers anew"
        )


def find_copy(name: str) -> tuple[str, bool]:
    """Return this host's name with the path of a trace, and whether the trace is there."""
    path = trace_path(name)
    return f"{socket.gethostname()}:{path}", path.exists()


def receive_piece(name: str, sender: str, at: int, piece: bytes, whole: int) -> None:
    """Write a piece of a trace. The last one, which ends at `whole` bytes, completes it."""
    path = trace_path(name)
    part = path.with_name(f"{name}.{sender}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    with part.open("r+b") if at else part.open("wb") as stream:
        stream.seek(at)
        stream.write(piece)
    if at + len(piece) == whole:
        part.replace(path)
        remove_old_traces(path.parent)


def replay_there(planned: Planned, wanted: str) -> tuple[Figures, bytes]:
    """Make one replay in this worker. Returns its figures and its packed slices. Raises
    ReplayFailed."""
    from distributed import get_worker

    expect_replayer(wanted)
    worker: Worker = get_worker()
    task, running = worker.get_current_task(), Running()
    path = trace_path(planned.trace.path.name)
    if not path.exists():
        raise ReplayFailed(f"{socket.gethostname()}: {path} was removed: give the command again")
    os.utime(path)

    def progress(done: int) -> None:
        """Report how far the replay is, and end it if nobody waits for its result any more."""
        known = worker.state.tasks.get(task)
        if known is None or known.state == "cancelled":
            running.end_all()
        worker.log_event(TOPIC, {"key": planned.key, "done": done})

    here = Planned(Trace(path, planned.trace.known), planned.settings, planned.key)
    return measure(here, FOLDER, progress, running)


# ---- here ----


def send_trace(client: Client, trace: Trace) -> None:
    """Send a decoded trace to each host that does not have it."""
    name, sender, whole = trace.path.name, uuid4().hex, trace.path.stat().st_size
    lacking: dict[str, str] = {}  # by the host and path that lack the trace: a worker of that host
    for address, (where, there) in client.run(find_copy, name).items():
        if not there:
            lacking[where] = address
    with trace.path.open("rb") as stream:
        while lacking and (piece := stream.read(PIECE)):
            at = stream.tell() - len(piece)
            chosen = list(lacking.values())
            client.run(receive_piece, name, sender, at, piece, whole, workers=chosen)


def show_progress(client: Client, runs: list[Planned], report: Report) -> None:
    """Report the progress of replays from now on."""
    known = {run.key: run for run in runs}

    def heed(event: tuple[Any, dict[str, Any]]) -> None:
        """Report a worker's progress, if it is of one of these replays."""
        told = event[1]
        if told["key"] in known:
            report(Step(known[told["key"]], told["done"]))

    client.subscribe_topic(TOPIC, heed)


def make_there(scheduler: str) -> Make:
    """Return what makes replays by the workers of the cluster whose scheduler is at the address."""

    def make(runs: list[Planned], folder: Path, report: Report) -> None:
        """Make the missing runs by the workers of the scheduler."""
        if runs:
            with open_workers(0, scheduler) as client:
                make_by(client, runs, folder, report)

    return make


def make_by(client: Client, runs: list[Planned], folder: Path, report: Report) -> None:
    """Make replays by the workers of a client, the largest first, and keep their figures."""
    from distributed.comm.addressing import get_address_host

    for trace in {run.trace.path: run.trace for run in runs}.values():
        send_trace(client, trace)
    hosts = sorted(
        {get_address_host(one) for one in client.scheduler_info(n_workers=-1)["workers"]}
    )
    show_progress(client, runs, report)
    ordered = sorted(runs, key=lambda run: -run.settings.buffers)
    submit: Callable[..., Any] = client.submit
    futures = {
        submit(replay_there, run, replayer_hash(), pure=False, workers=hosts): run
        for run in ordered
    }
    try:
        for future in iterate_completed(futures):
            figures, slices = future.result()
            keep(folder, futures[future], figures, slices)
            report(Step(futures[future], figures.requests, figures))
    finally:
        client.unsubscribe_topic(TOPIC)
        client.cancel(list(futures))
