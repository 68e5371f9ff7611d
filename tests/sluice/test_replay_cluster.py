"""Replays by the workers of a Dask cluster (sluice/blocks/cluster.py).

The client's decoded trace is sent to each host once. The results of replays come back and are kept
on the client.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import Client, LocalCluster
from test_block_replay import four_settings, random_requests, write_packed

from sluice.blocks import batch, cluster
from sluice.blocks.replayer import ReplayFailed
from sluice.host.limits import HANG_S

pytestmark = pytest.mark.check


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Return a client of two workers on one host, whose traces are in a folder of their own."""
    monkeypatch.setattr(cluster, "FOLDER", tmp_path / "there")
    monkeypatch.setattr(cluster, "PIECE", 10_000)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as made,
        Client(made) as client,
    ):
        yield client


@pytest.fixture
def trace(tmp_path: Path) -> batch.Trace:
    """Return a decoded trace of several pieces."""
    return batch.prepare(
        write_packed(tmp_path / "t.requests", random_requests(3000)), tmp_path / "here"
    )


def drop_host_figures(found: list) -> list:
    """Return figures without those of the host."""
    return [replace(one, cpu_s=0, memory_kb=0) for one in found]


def test_workers_get_the_trace_once_and_their_results_are_kept_here(
    client: Client, trace: batch.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures and slices are those of replays made here. A second sending only finds the copy that
    is there."""
    runs = batch.plan(trace, [replace(one, slice=10**9) for one in four_settings()])
    here = batch.make_runs(runs, tmp_path / "other")
    steps: list[batch.Step] = []
    there = batch.make_runs(
        runs,
        tmp_path / "here",
        lambda missing, folder, report: cluster.make_by(client, missing, folder, report),
        steps.append,
    )
    assert drop_host_figures(there) == drop_host_figures(here)
    assert [step.kept for step in steps if step.figures] == [False] * 4
    for run in runs:
        paths = [batch.slices_path(tmp_path / folder, run) for folder in ("here", "other")]
        assert paths[0].read_bytes() == paths[1].read_bytes()
    assert [path.read_bytes() for path in (tmp_path / "there/traces").iterdir()] == [
        trace.path.read_bytes()
    ]
    called, run = [], client.run
    monkeypatch.setattr(
        client, "run", lambda f, *rest, **more: called.append(f) or run(f, *rest, **more)
    )
    cluster.send_trace(client, trace)
    assert called == [cluster.find_copy]
    again = batch.make_runs(runs, tmp_path / "here", cluster.make_there("tcp://nobody:1"))
    assert again == there


def test_a_worker_with_another_replayer_makes_nothing(
    client: Client, trace: batch.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker compares the hash of its replayer."""
    runs = batch.plan(trace, four_settings())
    monkeypatch.setattr(cluster, "expect_replayer", make_expectation("another"))
    with pytest.raises(
        ReplayFailed, match="has another replayer, or none: update it to the commit"
    ):
        cluster.make_by(client, runs, tmp_path / "here", lambda step: None)
    assert not (tmp_path / "here/results").exists()


def make_expectation(wanted: str):
    """Return expect_replayer for a worker of which the client has another replayer."""
    expect = cluster.expect_replayer
    return lambda _: expect(wanted)


def test_a_replay_that_nobody_waits_for_is_ended(
    client: Client, trace: batch.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is stopped while a worker makes a replay that would never end by itself."""
    begun, ended = threading.Event(), threading.Event()

    def run(planned, folder, progress, running):
        """Stand for a replay: report progress until it is ended."""
        begun.set()
        while not running.ended:
            progress(1)
        ended.set()
        raise ReplayFailed("ended")

    monkeypatch.setattr(cluster, "measure", run)

    def interrupt(step: batch.Step) -> None:
        """Wait until the replay has begun."""
        assert begun.wait(HANG_S)

    def collect(futures):
        """Stop the command as ^C does, after the replay has begun."""
        assert begun.wait(HANG_S)
        raise KeyboardInterrupt

    monkeypatch.setattr(cluster, "iterate_completed", collect)
    runs = batch.plan(trace, four_settings()[:1])
    with pytest.raises(KeyboardInterrupt):
        cluster.make_by(client, runs, tmp_path / "here", interrupt)
    assert ended.wait(HANG_S)
