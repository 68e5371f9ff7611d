"""`sluice dev costs`: count in the machine what work takes, for the table of charged time.

The same small loads run on the machine and on the twin. The machine tells how many instructions
each load took: the virtual time that passed, minus the idle time of the hart. The twin tells what
each load did: how many system calls, copies, switches, and events of each kind. The costs are those
that explain the instructions best: least squares of the relative errors, with no cost below zero.

Sums alone do not say when a cost is paid: of a read, all that it does comes once. So the times from
one event to the next are explained, too, where the kernel does nothing else between the two. A cost
at the wrong event would let a request go out too late, and so miss its sector.
No result of an experiment is used.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluice.experiment.aligned import format_table
from sluice.host.clone import find_tool
from sluice.host.limits import HANG_S
from sluice.host.matching import search_text
from sluice.host.paths import ROOT
from sluice.host.version import version_line
from sluice.system import image, trace
from sluice.system.image import Content
from sluice.system.qemu import LAB_SHIFT, Config, Disk, start
from sluice.twin import engine

TABLE = ROOT / "kernel" / "measure" / "costs.h"
ARGS = "drive=cheetah4lp nbuf=1024 trace_k=512 update=pu"
FILES = ("--file", "/f=8M", "--file", "/g=1M")
MARK = "dd if=/dev/stat of=/{0} bs=256k count=1 2> /dev/null"  # one reading, one event
SHOW = "grep cpu.idle /before; grep cpu.idle /after"
IOGEN = "iogen output=text name=x"
DIRTY = f"policy use update none; policy use sched clook; {IOGEN} rw=write filename=/f bs=4k nr=800"
# Before each of them the load is set up by the commands of the same tuple but the last.
LOADS = (
    ("true",),
    ("bench null 5000",),
    ("cat /g > /dev/null", f"{IOGEN} rw=randread filename=/g bs=4k nr=2000"),
    (f"{IOGEN} rw=randread filename=/g bs=512 nr=2000",),
    (f"{IOGEN} rw=read filename=/g bs=64k nr=200",),
    (f"{IOGEN} rw=randread filename=/f bs=4k nr=1500",),
    (f"{IOGEN} rw=read filename=/f bs=4k nr=1500",),
    (f"{IOGEN} rw=read filename=/f bs=64k nr=128",),
    ("policy use write delayed", f"{IOGEN} rw=randwrite filename=/g bs=4k nr=2000"),
    ("sync", f"{IOGEN} rw=randwrite filename=/g bs=512 nr=2000"),
    ("sync", f"{IOGEN} rw=write filename=/f bs=4k nr=900"),
    ("sync",),
    ("policy use update aipu", f"{IOGEN} rw=randwrite filename=/f bs=4k nr=1500"),
    ("policy use write async; sync", f"{IOGEN} rw=randwrite filename=/f bs=4k nr=1000"),
    (f"{IOGEN} rw=randread filename=/f bs=4k nr=400 numjobs=4",),
    (f"{IOGEN} rw=randread filename=/g bs=4k nr=400 rate_iops=100",),
    (f"{IOGEN} rw=randrw filename=/f bs=4k nr=400 fsync=4",),
    ("policy use write delayed", f"{IOGEN} rw=randwrite filename=/g bs=4k nr=400 rate_iops=100"),
    (f"{IOGEN} rw=write filename=/g bs=16k nr=200 rate_iops=100",),
    (f"{IOGEN} rw=randread filename=/g bs=16k nr=400 thinktime_us=2000",),
    ("policy use write async", "sh -c 'cat /g /g /g | cat > /dev/null'"),
    ("policy use sched sstf", f"{IOGEN} rw=randread filename=/f bs=4k nr=300 numjobs=4"),
    ("policy use sched sluice", f"{IOGEN} rw=randread filename=/f bs=4k nr=300 numjobs=4"),
    ("policy use write delayed", f"{IOGEN} rw=randrw filename=/f bs=4k nr=600"),
    ("policy use sched freeblock", f"{IOGEN} rw=randrw filename=/f bs=4k nr=600"),
    ("policy use sched opportunistic", f"{IOGEN} rw=randrw filename=/f bs=4k nr=600"),
    (DIRTY, "policy use sched freeblock", f"{IOGEN} rw=randread filename=/f bs=4k nr=400"),
    (DIRTY, "policy use sched sluice", f"{IOGEN} rw=randread filename=/f bs=4k nr=400"),
    (DIRTY, "policy use sched purp", f"{IOGEN} rw=randread filename=/f bs=4k nr=400"),
    ("policy use sched clook; policy use update pu; policy use write async", "bench create 100"),
    ("bench exec 40",),
    ("cp /f /h",),
)
NS_PER_S = 10**9
# Where the rounds begin: what the kernel does takes some time, or no search would end.
FIRST = {"call": 300, "hit": 1000, "queued": 2000, "issued": 2000}
FIRST |= {"look": 200, "approach": 2000, "approach_after": 4000}
ROUNDS = 6
PROGRAM_ROWS = ("program", "work")  # the other rows are the kernel's
# Events that stand for many others, which have rows, or that come too seldom to be measured.
NO_ROWS = (
    *("flush", "cancelled", "named", "sought", "placed", "fault", "failed"),
    *("pinned", "committed"),
)
# Two events between which the hart does not wait, and no program runs.
PASSAGES = tuple(
    tuple(two.split())
    for two in (
        "miss queued",
        "queued issued",
        "evicted miss",
        "evicted ahead",
        "ahead queued",
        "queued ahead",
        "writing queued",
    )
)
FEW = 30  # a passage of a load that came less often says nothing
Array = NDArray[np.float64]
USER = re.compile(r"^user +([0-9.]+) s\r?$", re.M)
PHYS = re.compile(r"^trace\.phys (\d+) ", re.M)
IDLE = re.compile(r"^cpu\.idle (\d+) ns$", re.M)


def loads_script() -> str:
    """Return the script of all loads, each between two readings of /dev/stat."""
    lines = []
    for *before, load in LOADS:
        lines += [*before, MARK.format("before"), f"time {load}", MARK.format("after"), SHOW]
    return "\n".join(["set -e", *lines, "grep trace.phys /after", ""])


def config(folder: Path) -> Config:
    """Return the machine on which the loads run."""
    root = image.make_image(
        folder / "root.img", Content(rc=loads_script(), size="40M", options=FILES)
    )
    return Config((Disk(root),), memory="64M", args=ARGS, lab=True)


def run(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return what a machine has shown: its console, and its messages."""
    console, messages = process.communicate(timeout=HANG_S)
    if process.returncode:
        raise SystemExit(f"the loads ended with status {process.returncode}:\n{console[-2000:]}")
    return console, messages


PIPES: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
}


def passages(events: Sequence[trace.Event]) -> Array:
    """Return the instructions of each passage on average in each load, shape (loads, PASSAGES); nan
    where a passage came too seldom."""
    marks = [i for i, event in enumerate(events) if event.name == "counted"]
    took = np.full((len(LOADS), len(PASSAGES)), np.nan)
    for row, begin, end in zip(took, marks[::2], marks[1::2], strict=True):
        for column, names in enumerate(PASSAGES):
            times = [
                two.time_ns - one.time_ns
                for one, two in pairwise(events[begin:end])
                if (one.name, two.name) == names
            ]
            if len(times) >= FEW:
                row[column] = np.mean(times) / (1 << LAB_SHIFT)
    return took


def instructions() -> tuple[Array, Array, Array]:
    """Return the instructions of each load in the machine: in all, shape (loads,); of its programs
    alone, shape (loads,); and of its passages (see passages())."""
    with tempfile.TemporaryDirectory() as name:
        machine = config(Path(name))
        with machine.guest() as guest:
            console, _ = run(start(machine, guest, text=True, **PIPES))
            phys = int(search_text(PHYS, console)[1])
            lost, events = trace.read_trace(guest.path, phys)
            times = [event.time_ns for event in events if event.name == "counted"]
    if lost:
        raise SystemExit(f"the trace lost {lost} events: raise trace_k in {__file__}")
    idle = [int(ns) for ns in IDLE.findall(console.replace("\r", ""))]
    # Every second difference lies between the readings before and after a load.
    busy_ns = np.diff(times)[::2] - np.diff(idle)[::2]
    programs_ns = np.array([float(s) for s in USER.findall(console)]) * NS_PER_S
    instruction_ns = 1 << LAB_SHIFT
    return busy_ns / instruction_ns, programs_ns / instruction_ns, passages(events)


HEAD = """/*
 * What computing costs in charged time, in instructions. `sluice dev costs`
 * counts it in the machine, and writes this file. What has no row is free.
 *
 * Counted in the kernel of {compiler}.
 */
"""


def compiler_version() -> str:
    """Return the name and version of the compiler that builds the kernel."""
    prefix = os.environ.get("TOOLPREFIX") or find_tool("prefix")
    return version_line(f"{prefix}gcc")


def write_header(rows: list[str], costs: Array) -> None:
    """Write the kernel's table: the rows that cost something."""
    lines = [f"COST({row}, {int(cost)})\n" for row, cost in zip(rows, costs, strict=True) if cost]
    text = HEAD.format(compiler=compiler_version()) + "".join(lines)
    TABLE.write_text(text, encoding="utf-8")


def write_table(table: Path, rows: list[str], costs: Array) -> None:
    """Write the rows that cost something."""
    lines = [f"{row} {int(cost)}\n" for row, cost in zip(rows, costs, strict=True) if cost]
    table.write_text("".join(lines), encoding="utf-8")


def counts(table: Path) -> tuple[list[str], Array, Array]:
    """Return the rows of the table, and how often each load did what a row stands for: in all,
    shape (loads, rows); and on average in each passage, shape (loads, PASSAGES, rows), nan where a
    passage came too seldom. In these runs computing takes time by the table, too."""
    with tempfile.TemporaryDirectory() as name:
        machine = config(Path(name))
        with machine.guest() as guest:
            line = engine.twin_command(machine, guest, table)
            line.insert(1, "-n")
            process: subprocess.Popen[str] = subprocess.Popen(line, text=True, **PIPES)
            _, messages = run(process)
    shown: list[list[float]] = []
    passed: list[Array] = []
    for word, *rest in (line.split() for line in messages.splitlines() if line):
        if word == "counts":  # ROW NUMBER ROW NUMBER ...
            rows = rest[::2]
            shown.append([float(n) for n in rest[1::2]])
            passed.append(np.full((len(PASSAGES), len(rows)), np.nan))
        elif word == "between":  # EVENT EVENT TIMES ROW NUMBER ROW NUMBER ...
            passage, times, numbers = (rest[0], rest[1]), int(rest[2]), rest[4::2]
            if passage in PASSAGES and times >= FEW:
                passed[-1][PASSAGES.index(passage)] = [float(n) / times for n in numbers]
    # Counts are shown before and after each load, each time since the last one.
    return rows, np.array(shown[1::2]), np.array(passed[1::2])


def least_squares(a: Array, b: Array) -> Array:
    """Return x >= 0 with the least |a x - b|, by coordinate descent.

    a: (n, m), b: (n,); returns (m,). For a convex problem like this one it finds the minimum.
    """
    x = np.zeros(a.shape[1])
    square = (a * a).sum(axis=0)
    rest = b.copy()
    for _ in range(20000):
        for j in np.flatnonzero(square):
            step = max(-x[j], a[:, j] @ rest / square[j])
            x[j] += step
            rest -= step * a[:, j]
    return x


def fit_costs(did: Array, took: Array) -> Array:
    """Return the costs that explain best what the loads took. did: (loads, rows), took:
    (loads,)."""
    costs: Array = np.rint(least_squares(did / took[:, None], np.ones(len(took))))
    return costs


def solve_costs(took: Array, programs: Array, passed: Array) -> tuple[list[str], Array, Array]:
    """Return the rows, what each load did of each, and the costs. How far a policy searches depends
    on how long it has searched, so the counts depend on the costs: it goes in rounds."""
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "costs"
        table.write_text(
            "".join(f"{row} {cost}\n" for row, cost in FIRST.items()), encoding="utf-8"
        )
        for _ in range(ROUNDS):
            rows, did, between = counts(table)
            did[:, [rows.index(name) for name in NO_ROWS]] = 0
            own = np.array([name in PROGRAM_ROWS for name in rows])
            both = ~np.isnan(passed) & ~np.isnan(between[:, :, 0])
            kernel = np.concatenate([did, between[both]]) * ~own
            costs = fit_costs(did * own, programs)
            costs += fit_costs(kernel, np.concatenate([took - programs, passed[both]]))
            write_table(table, rows, costs)
    return rows, did, costs


def table(loads: list[str], took: Array, shares: list[float]) -> list[str]:
    """Return the lines of a table: each load, its instructions, and the part of them that the costs
    explain."""
    rows = [["load", "instructions", "explained"]]
    for load, n, share in zip(loads, took, shares, strict=True):
        rows.append([load, f"{n:,.0f}", f"{share:.1%}"])
    return format_table(rows)


def measure() -> int:
    """Count, print and write the costs. Returns the exit status."""
    took, programs, passed = instructions()
    rows, did, costs = solve_costs(took, programs, passed)
    shares = [float(row @ costs / n) for n, row in zip(took, did, strict=True)]
    print("\n".join(table([load[-1] for load in LOADS], took, shares)))
    write_header(rows, costs)
    print(
        f"\n{TABLE.relative_to(ROOT)}, in instructions:\n{TABLE.read_text(encoding='utf-8')}",
        end="",
    )
    return 0
