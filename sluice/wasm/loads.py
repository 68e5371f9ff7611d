"""Prepare the loads that a reader can choose: each is a run of an experiment, in its small size.

The page has their disks as pages of 4 KiB. Equal pages are stored once.
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
from sluice.experiment.selection import experiment_file, twin_variant
from sluice.host.paths import NATIVE
from sluice.report.columns import pack_column
from sluice.system import image
from sluice.system.guest import data_ranges
from sluice.system.qemu import Config
from sluice.theatre.scene import platter_figures

PAGE = 4096
ROOM = re.compile(r"^(\w+):[^\n]*\n +sectors=(\d+)", re.M)


@dataclass(frozen=True)
class Load:
    """An arm of an experiment whose first run is the load, and its description in words."""

    experiment: str
    arm: str
    words: str

    def run(self) -> Run:
        """Return the run that is the load."""
        whole = twin_variant(load(experiment_file(self.experiment), "quick"))
        return next(run for run in whole.runs if run.arm == self.arm)


LOADS = (
    Load("mogul-4.1-fast", "delayed+PU", "random reads beside a steady writer (Mogul 1994)"),
    Load("sched-load", "C-LOOK", "four readers at random places of a disk"),
    Load("contest-burst", "IPU", "random reads beside a writer, on a small disk"),
    Load("prefetch-streams", "ondemand", "four sequential streams from one file"),
)


@dataclass
class Store:
    """The different pages of disks, each once."""

    pages: dict[bytes, int] = field(default_factory=dict)

    def add(self, path: Path) -> dict[str, object]:
        """Add a disk. Returns its size, the numbers of its pages that are not all zero, and the
        number of each in the store."""
        places, numbers = [], []
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for at, page in nonzero_pages(file.fileno(), size):
                places.append(at)
                numbers.append(self.pages.setdefault(page, len(self.pages)))
        return {"size": size, "places": pack_column(places), "pages": pack_column(numbers)}

    def bytes(self) -> bytes:
        """Return all pages, one after another."""
        return b"".join(self.pages)


def nonzero_pages(file: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the pages of a disk that are not all zero, with their numbers."""
    for start, length in data_ranges(file, 0, size):
        end = -(-(start + length) // PAGE)  # rounded up
        for number in range(start // PAGE, end):
            page = os.pread(file, PAGE, number * PAGE).ljust(PAGE, b"\0")
            if any(page):
                yield number, page


def drive_capacities() -> dict[str, int]:
    """Return the number of sectors of each drive that has a size."""
    listed = image.run_command(NATIVE / "drive_replay_tool", "-l").stdout.decode()
    return {name: int(sectors) for name, sectors in ROOM.findall(listed)}


def fitting_drives(run: Run, config: Config, known: list[str]) -> list[dict[str, object]]:
    """Return the drives on which the measured disk of the load fits."""
    sectors, room = config.ram_disks()[-1].stat().st_size // SECTOR, drive_capacities()
    _, *words = service.drive_tool_arguments(run, len(config.disks) - 1)
    return [
        {"name": name, "words": [name, *words], **platter_figures(name)}
        for name in known
        if name != "none" and room.get(name, sectors) >= sectors
    ]


def load_facts(one: Load, store: Store, known: list[str]) -> dict[str, object]:
    """Return the page's data about a load."""
    run = one.run()
    with TemporaryDirectory() as folder:
        config = runs.build_machine(run, Path(folder))
        disks = [store.add(path) for path in config.ram_disks()]
        own = fitting_drives(run, config, known)
    return {
        "name": one.experiment,
        "words": one.words,
        "args": config.charged_arguments().split(),
        "disks": disks,
        "policies": run.config["policies"],
        "tunables": run.config["tunables"],
        "drive": service.drive_name(run, len(disks) - 1),
        "drives": own,
        "root": {"name": service.drive_name(run, 0), "words": service.drive_tool_arguments(run, 0)},
        "sectors": int(run.config["block"].rstrip("K")) * 1024 // SECTOR,
        "way_ns": service.command_latency_ns(run),
    }
