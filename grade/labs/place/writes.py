"""A program that writes small blocks, and waits for each."""

from bisect import bisect
from random import Random

from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

from .choices import Patience
from .disks import DRIVE, Fresh, files, machine

WRITES = 750  # with each value of PATIENCE_US
USED = 650  # blocks of files, of 855 places
PATIENCE_US = (500, 2500, 6500, 20000)  # in any order
VARIES = 0.05  # each patience is made larger or smaller by up to this share
PARTS = range(1, len(PATIENCE_US) + 1)  # beacons: a part of the work begins
DONE = len(PATIENCE_US) + 1


def write_command(rng: Random, writes: int) -> str:
    """Return the command that writes this many random blocks of a file, and waits for each."""
    words = f"rw=randwrite filename=/data/g bs=4k seed={rng.randrange(1, 10**9)}"
    return f"iogen {words} nr={writes} > /dev/null"


def writer(
    bench: Workbench,
    name: str,
    drive: str = DRIVE,
    used: int = USED,
    free: int | None = None,
    writes: int = WRITES,
) -> Scenario:
    """Return a machine that writes random blocks while the arm has several patiences in turn.

    used: how many blocks the files have. free: how many places of the disk are free (None: all
    others). writes: how many there are for each patience.
    """
    rng = bench.random(name)
    lines = []
    for part, patience_us in zip(PARTS, patiences_us(bench, name), strict=True):
        lines.append(f"policy set eager.patience_us {patience_us}\nbeacon {part}")
        lines.append(write_command(rng, writes))
    lay = Fresh(drive, rng.random(), free)
    return machine(name, drive, lay, [*lines, f"beacon {DONE}"], **files(rng, used))


def patiences_us(bench: Workbench, name: str) -> list[int]:
    """Return the arm's patiences in this run, in order."""
    rng = bench.random(f"{name}/patience")
    found = [round(us * rng.uniform(1 - VARIES, 1 + VARIES)) for us in PATIENCE_US]
    rng.shuffle(found)
    return found


def patience(bench: Workbench, run: Run) -> Patience:
    """Return a function that gives the arm's patience at any time after the work had begun."""
    begin_ns = [run.beacon(part) for part in PARTS]
    found = patiences_us(bench, run.scenario.name)
    return lambda at_ns: found[bisect(begin_ns, at_ns) - 1] * 1000
