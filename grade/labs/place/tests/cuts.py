"""Blocks written before a power cut are found after it, and also after the next cut."""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

from ..disks import READ
from ..recovery import expect_kept, expect_places, expect_walk, reader

PART = 60  # blocks of the file that are written
MS = (900, 1500)  # until the cut


def _cut(bench: Workbench, name: str, before: Run | None) -> Scenario:
    """Return a scenario that writes until its power is cut, on the disk of the run before."""
    rng = bench.random(name)
    first = reader(bench, "cuts")
    part = f"size={4 * PART}k nr=1000"
    words = f"rw=randwrite filename=/data/g bs=4k {part} seed={rng.randrange(1, 10**9)}"
    script = f"iogen {words} > /dev/null &\nsleep {rng.randrange(*MS) / 1000}\nbeacon 1"
    scenario = replace(first, name=name, script=script, cut=True)
    return _reuse_disk(before, scenario) if before else scenario


@dataclass(frozen=True)
class Left:
    """The disk that a run has left behind. Its hash makes two of these equal if their bytes are,
    wherever the files are."""

    disk: Path = field(compare=False)
    sha256: str

    def __call__(self, image: bytes) -> bytes:
        return self.disk.read_bytes()


def _reuse_disk(run: Run, scenario: Scenario) -> Scenario:
    """Return the scenario on the disk that a run has left."""
    disk = run.folder / "data.after.img"
    return replace(scenario, on_log=Left(disk, sha256(disk.read_bytes()).hexdigest()))


def nothing_is_lost_by_two_power_cuts(bench: Workbench) -> None:
    """A program writes random blocks at a file's beginning until the power is cut; the same again;
    then all is read."""
    first = bench.run(_cut(bench, "cut-1", None), despite_faults=True)
    expect_kept(first)
    second = bench.run(_cut(bench, "cut-2", first), despite_faults=True)
    expect_kept(second)
    last = replace(reader(bench, "cuts"), name="cut-3", script="\n".join(READ))
    run = bench.run(_reuse_disk(second, last), despite_faults=True)
    expect_places(run)
    expect_walk(run)
