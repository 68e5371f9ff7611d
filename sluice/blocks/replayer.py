"""Runs the replayer (replayer.c): one replay of a decoded trace, with its figures.

    figures = run_replay(path, volume_bytes, Settings({"replace": "arc"}, buffers=4096))
    figures.all.p99_ns

A replay has no limit of time, virtual or real. The replayer itself ends with an error if nothing
makes progress any more (Settings.hang).
"""

import json
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sluice.host.paths import BUILT
from sluice.system.qemu import die_with_parent

REPLAYER = BUILT / "blocks" / "replayer"
PROGRESS = "replayed "
MOST_INFLIGHT = 1 << 16  # each has a stack of 64 KiB, of which it touches a few pages
HANG = 10**8

Progress = Callable[[int], None]


class ReplayFailed(Exception):
    """A replay that could not be made; the text is what the replayer said."""


@dataclass(frozen=True)
class Settings:
    """The settings of a replay.

    policies: by kind, as {"replace": "arc"}; tunables: by name, as {"aipu.age_ms": 5000}; drive: a
    row of drives/, scaled to the volume if it is smaller, or "none"; buffers: of 4 KiB, in the
    cache; closed: whether requests come when one before is done, in place of at their times;
    inflight: how many are under way at once, at most; warmup: how many requests fill the cache and
    do not count; slice: the length of the trace's slices (slices.h), in ns or, in a closed loop, in
    requests, or 0 for none; hang: how often nothing could run without a request's end, until the
    replay counts as hanging.
    """

    policies: Mapping[str, str] = field(default_factory=dict)
    tunables: Mapping[str, int | str] = field(default_factory=dict)
    drive: str = "cheetah4lp"
    buffers: int = 4096
    closed: bool = False
    inflight: int = 64
    hang: int = HANG
    warmup: int = 0
    slice: int = 0

    def boot_words(self) -> list[str]:
        """Return the boot arguments of the replayer's kernel."""
        words = [f"drive={self.drive}", f"nbuf={self.buffers}"]
        words += [f"{kind}={name}" for kind, name in self.policies.items()]
        return words + [f"{name}={value}" for name, value in self.tunables.items()]


@dataclass(frozen=True)
class Times:
    """Requests of one kind: their number, bytes and hits, and their response times in ns.

    hits: requests all of whose blocks were cached, or were being read, when they came; hit_bytes:
    bytes in such blocks. Quantiles are at most 1/128 above the true ones.
    """

    count: int
    bytes: int
    hits: int
    hit_bytes: int
    min_ns: int
    mean_ns: int
    std_ns: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p99_9_ns: int
    p99_99_ns: int
    max_ns: int


@dataclass(frozen=True)
class Figures:
    """The figures of a replay.

    errors: failed requests; late_ns, mean_late_ns: how late requests began, at most and on average:
    0 unless they waited for one of those under way to end; elapsed_ns: virtual time up to the last
    request's end; all, reads, writes: see Times; cpu_s: processor time of the host; memory_kb: the
    most memory that the replayer had; counters: those of /dev/stat at the end; warm_counters: when
    the warm-up ended, {} without one.
    """

    requests: int
    errors: int
    late_ns: int
    mean_late_ns: int
    elapsed_ns: int
    all: Times
    reads: Times
    writes: Times
    cpu_s: float
    memory_kb: int
    counters: dict[str, int]
    warm_counters: dict[str, int] = field(default_factory=dict)

    def growth(self, counter: str) -> int:
        """Return what a counter grew by after the warm-up."""
        return self.counters.get(counter, 0) - self.warm_counters.get(counter, 0)


class Running:
    """The replayers that are at work, so that all of them can be ended at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.children: set[subprocess.Popen[str]] = set()
        self.ended = False

    def add(self, child: subprocess.Popen[str]) -> None:
        """Add a replayer, or end it if all were ended."""
        with self.lock:
            self.children.add(child)
            if self.ended:
                child.kill()

    def remove(self, child: subprocess.Popen[str]) -> None:
        """Remove a replayer that has ended."""
        with self.lock:
            self.children.discard(child)

    def end_all(self) -> None:
        """End all replayers, and all that are added from now on."""
        with self.lock:
            self.ended = True
            for child in self.children:
                child.kill()


TIMES = {"min": "min_ns", "mean": "mean_ns", "std": "std_ns", "max": "max_ns"} | {
    f"p{share}": f"p{share.replace('.', '_')}_ns" for share in ("50", "90", "99", "99.9", "99.99")
}


def parse_figures(said: str) -> Figures:
    """Return the figures of the line that the replayer prints."""
    found: dict[str, Any] = json.loads(said)
    for kind in ("all", "reads", "writes"):
        found[kind] = Times(**{TIMES.get(name, name): n for name, n in found[kind].items()})
    return Figures(**found)


def load_figures(found: dict[str, Any]) -> Figures:
    """Return figures that `dump_figures` made a dict."""
    times = {kind: Times(**found[kind]) for kind in ("all", "reads", "writes")}
    return Figures(**found | times)


def dump_figures(figures: Figures) -> dict[str, Any]:
    """Return figures as a dict that JSON can hold."""
    return asdict(figures)


def command_line(
    path: Path,
    volume_bytes: int,
    settings: Settings,
    log: Path | None,
    events: Path | None,
    slices: Path | None,
) -> list[str | Path]:
    """Return the replayer's command line."""
    line: list[str | Path] = [REPLAYER, "-p", "-v", str(volume_bytes), "-h", str(settings.hang)]
    line += ["-f", str(settings.inflight), *(["-c"] if settings.closed else [])]
    line += ["-l", log] if log else []
    line += ["-t", events] if events else []
    line += ["-w", str(settings.warmup)] if settings.warmup else []
    line += ["-s", slices, "-e", str(settings.slice)] if slices and settings.slice else []
    return [*line, path, "--", *settings.boot_words()]


def run_replay(
    path: Path,
    volume_bytes: int,
    settings: Settings,
    progress: Progress = lambda done: None,
    running: Running | None = None,
    log: Path | None = None,
    events: Path | None = None,
    slices: Path | None = None,
) -> Figures:
    """Replay the requests of a file. Returns the figures.

    path: in the form of sluice/trace/packed.py; volume_bytes: the disk's size; progress: called
    about once a second with the number of requests begun; running: gets the replayer while it is
    at work; log, events, slices: files that get each request's times, the kernel's events, and what
    was measured in each slice (replayer.c). Raises ReplayFailed.
    """
    line = command_line(path, volume_bytes, settings, log, events, slices)
    running = running or Running()
    said: list[str] = []
    with subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=die_with_parent,
    ) as child:
        assert child.stdout and child.stderr
        running.add(child)
        for row in child.stderr:
            if row.startswith(PROGRESS):
                progress(int(row.removeprefix(PROGRESS)))
            else:
                said.append(row.rstrip())
        out = child.stdout.read()
    running.remove(child)
    if child.returncode:
        raise ReplayFailed("\n".join(said) or f"the replayer ended with status {child.returncode}")
    return parse_figures(out)


@cache
def replayer_hash() -> str:
    """Return the hash of the replayer, which tells results of different versions apart."""
    from hashlib import sha256

    return sha256(REPLAYER.read_bytes()).hexdigest()
