"""Measure, in virtual time, costs that must not grow with the cache.

- A machine in lab mode runs a short script. Its cost is counted in instructions, so the same kernel
  gives the same numbers to the last digit on every host.
- Blocks have 1 KiB, so that a million of them fit into a machine.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sluice.host.paths import BUILD
from sluice.system import devtext, image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, run_rc
from sluice.twin import engine

KIB = 1024
BUFFER_BYTES = 1536  # a block of 1 KiB, its buffer and its share of the tables: at most
OTHER_MB = 64  # the rest of a machine


@dataclass(frozen=True)
class Readings:
    """A run's console, and the counters it printed, in order."""

    console: str
    counters: list[devtext.Counters]

    def change(self, name: str) -> int:
        """Return how much a counter grew from the first reading to the last."""
        return self.counters[-1][name][0] - self.counters[0][name][0]


@contextmanager
def configure_machine(
    script: str, nbuf: int, size_kib: int, files: dict[str, int], args: str
) -> Iterator[Config]:
    """Enter a context with a machine of nbuf buffers that runs a script.

    files: their sizes in KiB, by path.
    """
    options = [word for path, kib in files.items() for word in ("--file", f"{path}={kib}K")]
    memory_mb = OTHER_MB + nbuf * BUFFER_BYTES // KIB**2
    content = Content(rc=script, size=f"{size_kib}K", block="1K", options=tuple(options))
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        disk = image.make_image(Path(folder) / "disk.img", content)
        yield Config(
            (Disk(disk),),
            memory=f"{memory_mb}M",
            args=f"drive=fixed nbuf={nbuf} {args}",
            lab=True,
        )


def run_script(script: str, nbuf: int, size_kib: int, files: dict[str, int], args: str) -> Readings:
    """Run the machine of `configure_machine`, and return its readings."""
    with configure_machine(script, nbuf, size_kib, files, args) as config:
        result = run_rc(config)
    if result.status:
        raise AssertionError(result.console)
    texts = re.findall(r"^@stat\n(.*?)^@end$", result.console, re.M | re.S)
    return Readings(result.console, [devtext.parse_stat(text) for text in texts])


STAT = "echo @stat; cat /dev/stat; echo @end"
IDLE_TICKS = f"""
set -e
dd if=/dev/zero of=/big bs=64k count={{calls}} 2> /dev/null
{STAT}
sleep 10
{STAT}
rm /big
"""


@dataclass(frozen=True)
class Tick:
    """A scan of the update policy that finds nothing due.

    cpu_ns: its CPU time. scanned: the blocks that it examined.
    """

    cpu_ns: float
    scanned: float


def buffer_count(dirty: int) -> int:
    """Return a number of buffers with which `dirty` of them may be dirty."""
    return dirty * 9 // 8 + 2048


def dirty_setting(dirty: int) -> dict:
    """Return the arguments of `configure_machine` for a run with this many dirty blocks.

    dirty: a multiple of 64.
    """
    return {
        "script": IDLE_TICKS.format(calls=dirty // 64),
        "nbuf": buffer_count(dirty),
        "size_kib": dirty * 9 // 8 + 32 * KIB,
        "files": {},
        "args": "update=aipu aipu.scan_ms=10 aipu.age_ms=3600000 write=delayed",
    }


def measure_idle_scan(dirty: int) -> Tick:
    """Return the mean of 1,000 scans of aipu among this many dirty blocks (a multiple of 64)."""
    readings = run_script(**dirty_setting(dirty))
    assert readings.change("updated.written") == 0
    assert readings.counters[0]["bio.dirty"][0] >= dirty // 64 * 64
    looks = readings.change("aipu.scans")
    return Tick(readings.change("updated.cpu") / looks, readings.change("bio.scanned") / looks)


# A process begins with the most memory that its parent had. So a small one starts the twin.
PEAK = """
import os, sys
action = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[action])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def measure_twin_memory(dirty: int) -> float:
    """Return the twin's peak memory in the same run, relative to its blocks, buffers and tables."""
    with configure_machine(**dirty_setting(dirty)) as config, config.guest() as guest:
        line = [sys.executable, "-S", "-c", PEAK, *engine.twin_command(config, guest)]
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True, encoding="utf-8")
    return int(done.stdout) * KIB / (buffer_count(dirty) * BUFFER_BYTES)


def parse_duration(name: str, readings: Readings) -> tuple[int, int]:
    """Return the amount of work of a test of user/load/bench.c, and its time in ns."""
    match = re.search(rf"^{name} (\d+) \w+ (\d+) ns$", readings.console, re.M)
    return int(match[1]), int(match[2])


HIT_KIB = 256
MISS_KIB = 8 * KIB
READS = 2000
GETBLKS = f"""
set -e
cat /fill > /dev/null
bench cached /hit
{STAT}
bench random /miss {READS}
{STAT}
"""


@dataclass(frozen=True)
class Reads:
    """The CPU time of a read of 4 KiB: of 4 cached blocks, and of 4 that are not cached."""

    hit_ns: float
    miss_ns: float


def measure_reads(nbuf: int) -> Reads:
    """Measure reads in a cache of this many buffers, all in use."""
    readings = run_script(
        GETBLKS,
        nbuf=nbuf,
        size_kib=nbuf * 9 // 8 + 64 * KIB,
        files={"/fill": nbuf, "/hit": HIT_KIB, "/miss": MISS_KIB},
        args="update=none replace=lru prefetch=none",
    )
    assert readings.change("bio.evictions") >= 4 * READS
    hit_bytes, hit_ns = parse_duration("cached", readings)
    _, miss_ns = parse_duration("random", readings)
    return Reads(hit_ns * 4 * KIB / hit_bytes, (miss_ns - readings.change("cpu.idle")) / READS)
