"""A program that writes small blocks, and waits for each."""

from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

from .disks import ARGS, DRIVE, files, fresh, machine

WRITES = 150
USED = 650  # blocks of files, of 855 places


def writer(bench: Workbench, name: str, drive: str = DRIVE, full: bool = False) -> Scenario:
    """Random blocks of a file are written, each write waited for. full: hardly a place is free."""
    rng = bench.random(name)
    words = f"rw=randwrite filename=/data/g bs=4k seed={rng.randrange(1, 10**9)}"
    lines = ["beacon 1", f"iogen {words} nr={WRITES} > /dev/null", "beacon 2"]
    args = f"{ARGS} eager.patience_us={patience_us(bench, name)}"
    lay = fresh(drive, rng, full)
    return machine(name, drive, lay, lines, args=args, **files(rng, USED))


def patience_us(bench: Workbench, name: str) -> int:
    """What the arm's patience is in this run."""
    return bench.random(f"{name}/patience").randrange(500, 4000)
