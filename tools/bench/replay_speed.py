"""The speed of the replayer, as ratios of processor time in one run.

The replayer is compared to libCacheSim, which counts hits alone, and to the twin, which replays
through a file system.

- One trace for all, of SEED: REQUESTS requests of a block each, of which BLOCKS log-uniformly
  popular blocks of 4 KiB get their share, 30 % writes. libCacheSim reads it in its own binary
  format, oracleGeneral, and the replayer in its own. Both have a cache of 10 % of the blocks used.
- Each round measures all of them, one after another, and gives a ratio; a row is the median of
  ROUNDS rounds, with the least and the largest. So a host that is busy for a while does not decide.
- libCacheSim is what tests/support/judge.txt pins, in an environment of its own.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sluice.blocks.replayer import Settings, run_replay
from sluice.host.paths import BUILD, ROOT
from sluice.trace.common import REQUEST
from sluice.trace.formats.oraclegeneral import RECORD
from sluice.trace.packed import pack_requests

SEED, REQUESTS, BLOCKS, ROUNDS = 50, 1_000_000, 1_000_000, 5
TWIN_REQUESTS, TWIN_MB = 20_000, 1024
BLOCK = 4096
SHARE = 0.1  # of the blocks, in the cache
GAP_NS = 20e6  # between requests, on average
USUAL = {"write": "delayed", "update": "aipu"}
DRIVE = "cheetah4lp"
JUDGED = {"lru": "LRU", "s3fifo": "S3FIFO", "arc": "ARC", "lirs": "LIRS"}
# Processor seconds of process_trace, and the hit ratio, of one policy.
JUDGE = """\
import json, sys, time
import libcachesim as judge
path, name, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
reader = judge.TraceReader(path, judge.TraceType.ORACLE_GENERAL_TRACE)
cache = getattr(judge, name)(size)
began = time.process_time()
missed, _ = cache.process_trace(reader)
print(json.dumps([time.process_time() - began, missed]))
"""
# Processor seconds of a trial of the twin, in which it replays the requests of a file.
TWIN = """\
import json, sys
from sluice import api
from sluice.experiment import trial
path, size_mb, drive, policies = sys.argv[1], int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
table = api.read(path)
machine = api.machine_table(table, drive, size_mb, 4096)
run = api.build_run(table, machine, {"name": api.ARM, "policies": policies}, "refuse")
run.config["commands"] %= ("open", 64)
print(trial.measure_run(run).cpu_s)
"""


@dataclass(frozen=True)
class Made:
    """The trace in both forms, and how many buffers the caches have."""

    packed: Path
    oracle: Path
    buffers: int
    volume_bytes: int


def make_table(count: int = REQUESTS, blocks: int = BLOCKS) -> NDArray[np.void]:
    """Return the requests, shape (count,), dtype REQUEST."""
    draw = np.random.default_rng(SEED)
    table = np.zeros(count, REQUEST)
    table["time_ns"] = np.cumsum(draw.exponential(GAP_NS, count))
    popular = (blocks ** draw.random(count)).astype("<u8")
    table["offset"] = popular * np.uint64(7919) % np.uint64(blocks) * np.uint64(BLOCK)
    table["bytes"] = BLOCK
    table["write"] = draw.random(count) < 0.3
    return table


def write_trace(folder: Path) -> Made:
    """Write the trace in both forms to a folder."""
    table = make_table()
    made = Made(
        folder / "requests",
        folder / "trace.oracleGeneral",
        round(len(np.unique(table["offset"])) * SHARE),
        BLOCKS * BLOCK,
    )
    made.packed.write_bytes(pack_requests(table))
    records = np.zeros(len(table), RECORD)
    records["time_s"] = table["time_ns"] // np.uint64(10**9)
    records["object"] = table["offset"] // np.uint64(BLOCK) + np.uint64(1)
    records["bytes"], records["next"] = BLOCK, -1
    records.tofile(made.oracle)
    return made


def judge_python() -> Path:
    """Return the Python that has libCacheSim, in an environment that is made once.

    Raises CalledProcessError where it cannot be installed.
    """
    folder, pins = BUILD / "judge", ROOT / "tests" / "support" / "judge.txt"
    mark, python = folder / "judge.txt", folder / "bin" / "python"
    if not mark.exists() or mark.read_text(encoding="utf-8") != pins.read_text(encoding="utf-8"):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", pins], check=True)
        mark.write_text(pins.read_text(encoding="utf-8"), encoding="utf-8")
    return python


def judge_s(python: Path, made: Made, name: str) -> float:
    """Return the processor time, in s, in which libCacheSim counts the hits of a policy."""
    words = [python, "-c", JUDGE, made.oracle, JUDGED[name], str(made.buffers * BLOCK)]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=True)
    found: float = json.loads(done.stdout)[0]
    return found


def replay_s(made: Made, name: str, drive: str) -> float:
    """Return the processor time, in s, in which the replayer replays the trace."""
    settings = Settings(USUAL | {"replace": name}, drive=drive, buffers=made.buffers)
    return run_replay(made.packed, made.volume_bytes, settings).cpu_s


def twin_ratio(folder: Path) -> float:
    """Return the twin's time divided by the replayer's, on a part of the trace."""
    table = make_table(TWIN_REQUESTS, (TWIN_MB << 20) // BLOCK // 2)
    path = folder / "part.requests"
    path.write_bytes(pack_requests(table))
    words = [sys.executable, "-c", TWIN, path, str(TWIN_MB), DRIVE, json.dumps(USUAL)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    twin_s = float(done.stdout)
    settings = Settings(USUAL, drive=DRIVE, buffers=4096)
    return twin_s / run_replay(path, TWIN_MB << 20, settings).cpu_s


def measure_ratios(rounds: int = ROUNDS) -> Iterator[tuple[str, list[float]]]:
    """Yield the name of each ratio, and its values in all rounds.

    A ratio says how many times as fast as another program the replayer is: as libCacheSim, for
    each policy and drive, and as the twin.
    """
    python = judge_python()
    with tempfile.TemporaryDirectory(dir=BUILD) as name:
        folder = Path(name)
        made = write_trace(folder)
        for policy in JUDGED:
            drives = ("none", DRIVE)
            ratios: dict[str, list[float]] = {drive: [] for drive in drives}
            for _ in range(rounds):
                theirs = judge_s(python, made, policy)
                for drive in drives:
                    ratios[drive].append(theirs / replay_s(made, policy, drive))
            for drive in drives:
                yield f"{policy}, drive {drive}", ratios[drive]
        yield "twin", [twin_ratio(folder) for _ in range(rounds)]
