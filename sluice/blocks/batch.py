"""Replays one trace under many settings, in several processes, and keeps each result.

    trace = prepare(Path("usr_0.csv.gz"), folder)
    results = make_runs(plan(trace, settings), folder, jobs=2)

- The trace is decoded once. The decoded trace is kept under the hash of the file's bytes, of how it
  is decoded, and of the code that decodes.
- A result is kept under the hash of the decoded trace, the settings and the replayer, as soon as it
  is there. So ^C loses only the replays under way, and the same call goes on from there.
- Processes are as many as asked for, and fewer while they would take more memory than is allowed.
  Each replay is one process, and a thread waits for it. The largest begin first, so that small ones
  fill what memory they leave.
- Another `Make` makes replays elsewhere (cluster.py); results are kept here all the same.
"""

import gzip
import json
import math
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b, sha256
from pathlib import Path

from sluice.blocks.decoded import Decoded, Seen, decode_trace, facts_path, load_decoded
from sluice.blocks.replayer import (
    Figures,
    Progress,
    Running,
    Settings,
    dump_figures,
    load_figures,
    replayer_hash,
    run_replay,
)
from sluice.blocks.slices import Slices, parse_slices
from sluice.host.paths import KEPT, PACKAGE
from sluice.host.scratch import BASE, scratch_folder

FOLDER = KEPT / "replays"
KEPT_TRACES = 4  # decoded traces that stay; results of all stay
PIECE = 1 << 20  # bytes
GZIP_LEVEL = 1
BUFFER_BYTES = 400  # what a clean buffer takes: itself, its bucket, and what policies remember
BASE_BYTES = 16 << 20  # what a replayer takes besides


@dataclass(frozen=True)
class Trace:
    """A decoded trace: the file of its requests, and what is known of them."""

    path: Path
    known: Decoded


@dataclass(frozen=True)
class Planned:
    """A replay to be made: its trace, its settings, and the name by which it is kept."""

    trace: Trace
    settings: Settings
    key: str


@dataclass(frozen=True)
class Step:
    """An event of a batch: `done` of a replay's requests have begun; figures: it has ended;
    kept: it was made before."""

    planned: Planned
    done: int
    figures: Figures | None = None
    kept: bool = False


Report = Callable[[Step], None]
Make = Callable[[list[Planned], Path, Report], None]  # makes replays, and keeps their figures


@cache
def decoder_hash() -> str:
    """Return the hash of the code that decodes traces."""
    paths = [Path(__file__).with_name("decoded.py"), *sorted((PACKAGE / "trace").rglob("*.py"))]
    return sha256(b"".join(sha256(path.read_bytes()).digest() for path in paths)).hexdigest()


def hash_bytes(path: Path) -> str:
    """Return the hash of a file's bytes."""
    found = blake2b(digest_size=32)
    with path.open("rb") as stream:
        while data := stream.read(PIECE):
            found.update(data)
    return found.hexdigest()


def hash_words(*words: object) -> str:
    """Return the hash of values that JSON can hold."""
    return sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()[:32]


def prepare(
    path: Path,
    folder: Path = FOLDER,
    format: str = "",
    count: int | None = None,
    scale: float = 1.0,
    seen: Seen = lambda n: None,
) -> Trace:
    """Return a trace, decoded unless it was decoded before.

    folder: where decoded traces and results are kept; the rest is as in decode_trace. Raises
    BadTraceFile.
    """
    from sluice.trace.reader import complete_word

    word = complete_word(path, format)
    key = hash_words(hash_bytes(path), word, count, scale, decoder_hash())
    target = folder / "traces" / f"{key}.requests"
    known = load_decoded(target)
    if not known or not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        known = decode_trace(path, target, word, count, scale, seen)
    os.utime(target)
    remove_old_traces(target.parent)
    return Trace(target, known)


def remove_old_traces(folder: Path) -> None:
    """Remove decoded traces, the one that was used longest ago first, down to KEPT_TRACES."""
    there = sorted(folder.glob("*.requests"), key=lambda path: path.stat().st_mtime)
    for path in there[:-KEPT_TRACES]:
        path.unlink(missing_ok=True)
        facts_path(path).unlink(missing_ok=True)


def plan(trace: Trace, settings: Iterable[Settings]) -> list[Planned]:
    """Return a replay of a trace for each of some settings."""
    return [
        Planned(trace, one, hash_words(trace.path.stem, asdict(one), replayer_hash()))
        for one in settings
    ]


def kept_path(folder: Path, planned: Planned) -> Path:
    """Return where the figures of a replay are kept."""
    return folder / "results" / planned.trace.path.stem / f"{planned.key}.json"


def load_kept(folder: Path, planned: Planned) -> Figures | None:
    """Return the figures of a replay that was made before, or None."""
    path = kept_path(folder, planned)
    return load_figures(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def load_kept_slices(folder: Path, planned: Planned) -> Slices | None:
    """Return the slices of a replay that was made, or None if it was made without them."""
    path = slices_path(folder, planned)
    return parse_slices(gzip.decompress(path.read_bytes())) if path.exists() else None


def slices_path(folder: Path, planned: Planned) -> Path:
    """Return where the slices of a replay are kept."""
    return kept_path(folder, planned).with_suffix(".slices.gz")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    part.write_bytes(data)
    part.replace(path)


def pack_slices(data: bytes) -> bytes:
    """Return the packed form of slices, in which keep() writes them."""
    return gzip.compress(data, GZIP_LEVEL, mtime=0)


def keep(folder: Path, planned: Planned, figures: Figures, slices: bytes) -> None:
    """Write figures and packed slices (b"": none) where load_kept and load_kept_slices find them;
    the figures last."""
    path = kept_path(folder, planned)
    path.parent.mkdir(parents=True, exist_ok=True)
    if slices:
        write_whole(slices_path(folder, planned), slices)
    write_whole(path, json.dumps(dump_figures(figures)).encode())


def measure(
    planned: Planned, folder: Path, progress: Progress, running: Running
) -> tuple[Figures, bytes]:
    """Make one replay. Returns its figures and its packed slices, b"" without. Raises
    ReplayFailed."""
    trace = planned.trace
    with scratch_folder(folder / BASE) as scratch:
        slices = scratch / "slices"
        figures = run_replay(
            trace.path,
            trace.known.volume_bytes,
            planned.settings,
            progress,
            running,
            None,
            None,
            slices,
        )
        return figures, pack_slices(slices.read_bytes()) if slices.exists() else b""


def make_run(planned: Planned, folder: Path, report: Report, running: Running) -> Figures:
    """Make one replay, and keep its figures. Returns them. Raises ReplayFailed."""
    figures, slices = measure(planned, folder, lambda n: report(Step(planned, n)), running)
    keep(folder, planned, figures, slices)
    report(Step(planned, figures.requests, figures))
    return figures


def memory_bytes(settings: Settings) -> int:
    """Return the most memory that a replay takes, with the usual tunables and no flash drive."""
    return BASE_BYTES + settings.buffers * BUFFER_BYTES


def pop_fitting(waiting: list[Planned], free: float) -> Planned | None:
    """Remove the first replay that takes no more than this memory. Returns it, or None."""
    for run in waiting:
        if memory_bytes(run.settings) <= free:
            waiting.remove(run)
            return run
    return None


def make_here(jobs: int = 1, memory: float = math.inf) -> Make:
    """Return what makes replays in processes of this machine.

    jobs: how many at a time; memory: the bytes that they may take together. A replay that needs
    more is made alone.
    """

    def make(runs: list[Planned], folder: Path, report: Report) -> None:
        """Make the runs, several at a time, as many as fit into the memory."""
        waiting = sorted(runs, key=lambda run: -run.settings.buffers)
        running, used = Running(), dict[Future[Figures], int]()
        with ThreadPoolExecutor(jobs) as pool:
            try:
                while waiting or used:
                    free = memory - sum(used.values()) if used else math.inf
                    run = pop_fitting(waiting, free) if len(used) < jobs else None
                    if run:
                        future = pool.submit(make_run, run, folder, report, running)
                        used[future] = memory_bytes(run.settings)
                        continue
                    for future in wait(used, return_when=FIRST_COMPLETED).done:
                        del used[future]
                        future.result()
            except BaseException:
                running.end_all()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    return make


def make_runs(
    runs: list[Planned],
    folder: Path = FOLDER,
    make: Make | None = None,
    report: Report = lambda step: None,
) -> list[Figures]:
    """Make replays, except those that were made before. Returns the figures of each.

    make: how, if not one after another here; report: called from several threads with each step. An
    exception, as by ^C, ends the replays under way; those that have ended are kept. Raises
    ReplayFailed.
    """
    found = {run.key: load_kept(folder, run) for run in runs}
    for run in runs:
        if figures := found[run.key]:
            report(Step(run, figures.requests, figures, kept=True))
    missing = {run.key: run for run in runs if not found[run.key]}
    (make or make_here())(list(missing.values()), folder, report)
    made = {run.key: load_kept(folder, run) for run in missing.values()}
    every = {key: figures for key, figures in (found | made).items() if figures}
    return [every[run.key] for run in runs]
