"""`sluice bench`, first part: the system's speeds, as a table and as build/bench.json.

One hart, live mode, no drive model, 4 KiB blocks. Every repeat boots a fresh image, so that cold
files are cold. Times are from the guest's clock. The boot's time is from the host's clock, from
exec of QEMU to the prompt.
"""

import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sluice.experiment.aligned import format_table
from sluice.experiment.progress import show_activity, show_count
from sluice.host import printing
from sluice.host.paths import BUILD, ROOT
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine

MEMORY = "512M"
BOOT_MEMORY = "128M"
FILES = ["/read=64M", "/random=64M", "/cached=4M", "/ahead=64M"]
CONTENT = Content(
    size="384M",
    options=(*(word for file in FILES for word in ("--file", file)), "--pattern", "1"),
)
PREFETCH = "none"  # the policy that Sluice boots with
DATA = "128m"  # of the raw device: where the files' data lies


@dataclass(frozen=True)
class Line:
    """A line of the table.

    command: of user/load/bench.c; scale: the value of one counted thing in the unit; xv6, linux:
    figures for orientation, of a busy 2-core machine with the same QEMU, or None; args: the
    machine's boot arguments; prefetch: Sluice's prefetch policy meanwhile.
    """

    name: str
    command: str
    unit: str
    scale: float
    xv6: float | None = None
    linux: float | None = None
    args: str = ""
    prefetch: str = PREFETCH


MB = 1e-6
LINES = [
    Line("cold sequential read", "read /read", "MB/s", MB, 1.4, 120),
    Line("cold sequential read, ondemand", "read /ahead", "MB/s", MB, prefetch="ondemand"),
    Line("cold random 4 KiB reads", "random /random 4k", "reads/s", 1, None, 3700),
    Line("cached 4 KiB reads", "cached /cached", "MB/s", MB, 1.8, 87),
    Line("sequential write and fsync", "write /write 32m", "MB/s", MB, 0.15, 28),
    Line("create and unlink", "create 1000", "files/s", 1, 24),
    Line("null system calls", "null 500000", "calls/s", 1, 34000),
    Line("fork, exec and wait", "exec 500", "programs/s", 1, 290),
    Line("device, random 4 KiB, 1 process", f"device disk0 {DATA} 4k 8000 1", "reads/s", 1),
    Line("device, random 4 KiB, 32 processes", f"device disk0 {DATA} 4k 32000 32", "reads/s", 1),
    Line("device, 64 KiB requests", f"device disk0 {DATA} 64k 4000 1", "MB/s", 65536 * MB),
    # With no joining of neighbours a read of 64 KiB is 16 requests in flight.
    Line(
        "device, 4 KiB, 16 in flight",
        f"device disk0 {DATA} 64k 4000 1",
        "reads/s",
        16,
        args="cluster_kb=0",
    ),
]


@dataclass(frozen=True)
class Gain:
    """A way to read a file for the first time: boot arguments, and the prefetch policy."""

    name: str
    args: str
    policy: str


# The gain of joining neighbours and of prefetching: slices of one file are read by turns, so that
# a host that is busy at times hardly changes the ratios to the first way, slice by slice.
JOINED = "bsd44.cluster_kb=128 cluster.cluster_kb=128 ondemand.max_kb=512"
GAINS = [
    Gain("cold slices, nothing joined", "cluster_kb=0", "none"),
    Gain("cold slices, neighbours joined", JOINED, "none"),
    Gain("cold slices, bsd44, 128 KB", JOINED, "bsd44"),
    Gain("cold slices, cluster, 128 KB", JOINED, "cluster"),
    Gain("cold slices, ondemand, 512 KB", JOINED, "ondemand"),
]
SLICE_MB = 4
ROUNDS = 16
SLICES = Content(
    size="384M",
    options=("--file", f"/slices={len(GAINS) * ROUNDS * SLICE_MB}M", "--pattern", "1"),
)


@dataclass(frozen=True)
class Row:
    """A measured line.

    values: every repeat's value, in the unit. ratios: to another line's values.
    """

    name: str
    unit: str
    values: list[float]
    xv6: float | None = None
    linux: float | None = None
    ratios: list[float] = field(default_factory=list)

    def format_cells(self) -> list[str]:
        """Return the row as the table shows it."""
        middle = statistics.median(self.values)
        known = [f"{v:g}" if v is not None else "" for v in (self.xv6, self.linux)]
        times = f"{middle / self.xv6:.0f}x" if self.xv6 else ""
        figures = [format_number(v) for v in (min(self.values), middle, max(self.values))]
        return [self.name, *figures, self.unit, *known, times, self.format_ratio()]

    def format_ratio(self) -> str:
        """Return the ratios' median and quartiles, as text."""
        if not self.ratios:
            return ""
        low, middle, high = statistics.quantiles(self.ratios, n=4)
        return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def format_number(value: float) -> str:
    """Return a number with three digits, or with all digits before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def measure(machine: Machine, line: Line) -> float:
    """Run one line's command in the machine. Returns its value in the line's unit."""
    text = machine.check(f"bench {line.command}")
    match = re.search(r"^\S+ (\d+) \w+ (\d+) ns$", text, re.M)
    if match is None:
        raise machine.build_error("a line of bench")
    return int(match[1]) * line.scale / (int(match[2]) / 1e9)


@contextmanager
def prefetch_policy(machine: Machine, policy: str) -> Iterator[None]:
    """Enter a context in which Sluice uses this prefetch policy."""
    machine.check(f"policy use prefetch {policy}")
    yield
    machine.check(f"policy use prefetch {PREFETCH}")


def measure_boot_s(disk: Path) -> float:
    """Return the seconds of the host from exec of QEMU to the prompt."""
    start = time.monotonic()
    with Machine(Config((Disk(disk),), memory=BOOT_MEMORY)) as machine:
        machine.wait_prompt()
        took = time.monotonic() - start
        machine.power_off()
    return took


def measure_lines(fresh: Path, disk: Path) -> dict[str, float]:
    """Measure each line once, and return the values by name."""
    shutil.copyfile(fresh, disk)
    values = {"boot to prompt": measure_boot_s(disk)}
    for args in sorted({line.args for line in LINES}):
        config = Config((Disk(disk, cache="writeback"),), memory=MEMORY, args=args)
        with Machine(config) as machine:
            machine.wait_prompt()
            for line in LINES:
                if line.args == args:
                    with prefetch_policy(machine, line.prefetch):
                        values[line.name] = measure(machine, line)
            machine.power_off()
    return values


def read_slice(machine: Machine, gain: Gain, number: int) -> float:
    """Read a slice of /slices. Returns MB/s."""
    machine.check(f"policy use prefetch {gain.policy}")
    where = f"offset={number * SLICE_MB}m size={SLICE_MB}m"
    text = machine.check(f"iogen rw=read bs=64k filename=/slices {where}")
    job = json.loads(re.search(r"^iogen (\{.*\})$", text, re.M)[1])
    return job["bytes"] * MB / (job["elapsed_ns"] / 1e9)


def measure_gains(folder: Path) -> list[Row]:
    """Measure GAINS and return their rows.

    There is a machine for each set of arguments, and they work one at a time.
    """
    fresh = image.make_image(folder / "slices.img", SLICES)
    values: list[list[float]] = [[] for _ in GAINS]
    with ExitStack() as stack:
        machines = {}
        for i, args in enumerate(dict.fromkeys(gain.args for gain in GAINS)):
            disk = Disk(shutil.copyfile(fresh, folder / f"slices-{i}.img"), cache="writeback")
            config = Config((disk,), memory=MEMORY, args=args)
            machines[args] = stack.enter_context(Machine(config))
            machines[args].wait_prompt()
        for number in range(len(GAINS) * ROUNDS):
            gain = GAINS[number % len(GAINS)]
            values[number % len(GAINS)].append(read_slice(machines[gain.args], gain, number))
    return [
        Row(gain.name, "MB/s", mine, ratios=[a / b for a, b in zip(mine, values[0], strict=True)])
        for gain, mine in zip(GAINS, values, strict=True)
    ]


def describe_host() -> dict[str, str]:
    """Return a description of this machine."""
    cpus = re.search(
        r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M
    )
    qemu = os.environ.get("QEMU", "qemu-system-riscv64")
    version = subprocess.run(
        [qemu, "--version"], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    return {
        "cpu": f"{os.cpu_count()} x {cpus[1] if cpus else platform.machine()}",
        "system": platform.platform(),
        "qemu": version.stdout.splitlines()[0],
        "commit": commit.stdout.strip(),
    }


def format_rows(rows: list[Row], machine: dict[str, str]) -> str:
    """Return the rows as text."""
    head = ["", "min", "median", "max", "unit", "xv6", "Linux", "vs xv6", "vs first"]
    cells = [head] + [row.format_cells() for row in rows]
    where = f"{machine['cpu']}, {machine['qemu']}"
    said = f"{len(rows[0].values)} repeats on {where}; vs first: median (quartiles)"
    return "\n".join([*format_table(cells, words=(4,)), "", *printing.fill_lines(said, 0)])


def run_benchmark(repeats: int) -> None:
    """Measure, print the table, and write the JSON."""
    folder = BUILD / "bench"
    folder.mkdir(exist_ok=True)
    fresh = image.make_image(folder / "fresh.img", CONTENT)
    runs = []
    with show_count("rounds of measurements", repeats) as count:
        for _ in range(repeats):
            runs.append(measure_lines(fresh, folder / "disk.img"))
            count()
    with show_activity("gains of prefetching"):
        compared = measure_gains(folder)
    image.check_image(folder / "disk.img")
    rows = [Row("boot to prompt", "s", [run["boot to prompt"] for run in runs])]
    rows += [
        Row(line.name, line.unit, [run[line.name] for run in runs], line.xv6, line.linux)
        for line in LINES
    ]
    rows += compared
    machine = describe_host()
    print(format_rows(rows, machine))
    out = BUILD / "bench.json"
    out.write_text(
        json.dumps({"machine": machine, "rows": [asdict(r) for r in rows]}, indent=2),
        encoding="utf-8",
    )
    print(f"also in {out.relative_to(ROOT)}")
