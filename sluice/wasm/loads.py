"""The loads that a person can choose: each is a run of an experiment, in its small size.

The page has their disks as pages of 4 KiB, each different one once.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from sluice.debug.chain import SECTOR
from sluice.experiment import run as runs
from sluice.experiment import service
from sluice.experiment.load import load
from sluice.experiment.schema import Run
from sluice.experiment.selection import EXPERIMENTS, on_twin
from sluice.host.paths import NATIVE
from sluice.system import image
from sluice.system.guest import data
from sluice.system.qemu import Config
from sluice.theatre.columns import packed
from sluice.theatre.scene import platter

PAGE = 4096
ROOM = re.compile(r"^(\w+):[^\n]*\n +sectors=(\d+)", re.M)


@dataclass(frozen=True)
class Load:
    """An experiment's arm whose first run is the load, and what it is in words."""

    experiment: str
    arm: str
    words: str

    def run(self) -> Run:
        whole = on_twin(load(EXPERIMENTS / f"{self.experiment}.toml", "quick"))
        return next(run for run in whole.runs if run.arm == self.arm)


LOADS = (
    Load("mogul-4.1-fast", "delayed+PU", "random reads beside a steady writer (Mogul 1994)"),
    Load("sched-load", "C-LOOK", "four readers at random places of a disk"),
    Load("contest-burst", "IPU", "random reads beside a writer, on a small disk"),
    Load("prefetch-streams", "ondemand", "four sequential streams from one file"),
)


@dataclass
class Store:
    """The different pages of disks."""

    pages: dict[bytes, int] = field(default_factory=dict)

    def add(self, path: Path) -> dict[str, object]:
        """Take in a disk: its size, the numbers of its pages that are not all zero, and of each the
        number in the store."""
        places, numbers = [], []
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for at, page in pages_of(file.fileno(), size):
                places.append(at)
                numbers.append(self.pages.setdefault(page, len(self.pages)))
        return {"size": size, "places": packed(places), "pages": packed(numbers)}

    def bytes(self) -> bytes:
        return b"".join(self.pages)


def pages_of(file: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The pages of a disk that are not all zero, with their numbers."""
    for start, length in data(file, 0, size):
        for number in range(start // PAGE, -(-(start + length) // PAGE)):
            page = os.pread(file, PAGE, number * PAGE).ljust(PAGE, b"\0")
            if any(page):
                yield number, page


def rooms() -> dict[str, int]:
    """The sectors of each drive that has a size."""
    listed = image.command(NATIVE / "drive_replay_tool", "-l").stdout.decode()
    return {name: int(sectors) for name, sectors in ROOM.findall(listed)}


def drives(run: Run, config: Config, known: list[str]) -> list[dict[str, object]]:
    """The drives on which the measured disk of the load fits."""
    sectors, room = config.ram_disks()[-1].stat().st_size // SECTOR, rooms()
    _, *words = service.arguments(run, len(config.disks) - 1)
    return [
        {"name": name, "words": [name, *words], **platter(name)}
        for name in known
        if name != "none" and room.get(name, sectors) >= sectors
    ]


def facts(one: Load, store: Store, known: list[str]) -> dict[str, object]:
    """What the page knows of a load."""
    run = one.run()
    with TemporaryDirectory() as folder:
        config = runs.machine(run, Path(folder))
        disks = [store.add(path) for path in config.ram_disks()]
        own = drives(run, config, known)
    return {
        "name": one.experiment,
        "words": one.words,
        "args": config.args.split(),
        "shift": config.cpu_shift,
        "disks": disks,
        "policies": run.config["policies"],
        "tunables": run.config["tunables"],
        "drive": service.model(run, len(disks) - 1),
        "drives": own,
        "root": {"name": service.model(run, 0), "words": service.arguments(run, 0)},
        "sectors": int(run.config["block"].rstrip("K")) * 1024 // SECTOR,
        "way_ns": service.on_its_way_ns(run),
    }
