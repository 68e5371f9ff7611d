"""`make bench LINUX=1`: Sluice and a Linux guest, measured by turns on one host.

- In each round both machines boot, each with a fresh copy of its disk. Then they run each line of
  real_time.py, one machine at a time; the other waits at its prompt. Which is first changes with
  every round.
- A ratio is that of the two speeds of one round, so that it bears a host that is busy at times.
- Every round that is done is in build/linux.json at once.
"""

import json
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console

from sluice.experiment.aligned import aligned
from sluice.experiment.progress import bar, counted
from sluice.host.paths import BUILD, ROOT
from sluice.system import image
from sluice.system.qemu import Config, Disk, Machine
from tools.bench import debian, linux, real_time

LINES = [line for line in real_time.LINES if not line.args]
SYSTEMS = ("Sluice", "Linux")
FOLDER = BUILD / "linux"
OUT = BUILD / "linux.json"
NEEDED = ("bench", "true")  # programs that the Linux guest has of its own

Round = dict[str, dict[str, float]]  # speeds, by line and system
Report = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """A line of the table: speeds in the unit, round by round."""

    name: str
    unit: str
    sluice: list[float]
    linux: list[float]

    def ratios(self) -> list[float]:
        """How many times as fast Sluice is, round by round."""
        return [ours / theirs for ours, theirs in zip(self.sluice, self.linux, strict=True)]

    def verdict(self) -> str:
        """Which system is faster, if it was so in every round."""
        ratios = self.ratios()
        if min(ratios) > 1:
            return "ahead"
        return "behind" if max(ratios) < 1 else "not told apart"

    def cells(self) -> list[str]:
        """The row as the table shows it."""
        speeds = [real_time.number(statistics.median(each)) for each in (self.sluice, self.linux)]
        ratios = self.ratios()
        figures = (statistics.median(ratios), min(ratios), max(ratios))
        return [self.name, *speeds, self.unit, *(f"{r:.2f}" for r in figures), self.verdict()]


def table(rows: list[Row]) -> str:
    """The rows as text."""
    head = ["", *SYSTEMS, "unit", "Sluice / Linux", "least", "most", "Sluice is"]
    cells = [head] + [row.cells() for row in rows]
    return "\n".join(aligned(cells, words=(3, 7)))


def rows(rounds: list[Round]) -> list[Row]:
    """A row for each line."""
    return [
        Row(line.name, line.unit, *([one[line.name][s] for one in rounds] for s in SYSTEMS))
        for line in LINES
    ]


@dataclass(frozen=True)
class Guests:
    """What both machines boot: their images, unused, and Linux's kernel and archive."""

    folder: Path
    images: dict[str, Path]
    kernel: debian.Kernel
    initrd: Path

    def disk(self, system: str) -> Path:
        """The system's disk of the round."""
        return self.folder / f"{system}.img"

    def machine(self, system: str) -> Machine:
        """The system's machine, not yet started, with a new disk. Both have the same hardware."""
        disk = shutil.copyfile(self.images[system], self.disk(system))
        config = Config((Disk(disk, cache="writeback"),), memory=real_time.MEMORY)
        if system == "Sluice":
            return Machine(config)
        given = {"kernel": self.kernel.image, "initrd": self.initrd}
        return linux.LinuxMachine(linux.LinuxConfig(config.disks, memory=real_time.MEMORY, **given))


def prepare(kernel: debian.Kernel, folder: Path) -> Guests:
    """Make the images and the archive."""
    folder.mkdir(exist_ok=True)
    own = {f"/bin/{name}": (linux.PROGRAMS / name).read_bytes() for name in NEEDED}
    contents = {"Sluice": real_time.CONTENT, "Linux": replace(real_time.CONTENT, files=own)}
    images = {
        system: image.make(folder / f"{system}.fresh.img", content)
        for system, content in contents.items()
    }
    return Guests(folder, images, kernel, linux.make_initrd(folder / "initrd", kernel))


def settings(machine: Machine, line: real_time.Line) -> AbstractContextManager[None]:
    """What the line asks for meanwhile. Linux stays as it has booted."""
    if isinstance(machine, linux.LinuxMachine):
        return nullcontext()
    return real_time.prefetching(machine, line.prefetch)


def one_round(guests: Guests, order: tuple[str, ...], report: Report) -> Round:
    """Boot both and measure each line. report is told what is going on."""
    speeds: Round = {line.name: {} for line in LINES}
    with ExitStack() as stack:
        machines = {}
        for system in order:
            report(f"{system} boots")
            machines[system] = stack.enter_context(guests.machine(system))
            machines[system].wait_prompt()
        for line in LINES:
            for system in order:
                report(f"{system}: {line.name}")
                with settings(machines[system], line):
                    speeds[line.name][system] = real_time.measure(machines[system], line)
        for machine in machines.values():
            machine.power_off()
    for system in order:
        image.check(guests.disk(system))
    return speeds


def store(out: Path, host: dict[str, str], rounds: list[Round]) -> None:
    """Write the JSON: the host, and each line's speeds and ratios, round by round."""
    measured = [{**asdict(row), "ratios": row.ratios()} for row in rows(rounds)]
    out.write_text(json.dumps({"machine": host, "rows": measured}, indent=2), encoding="utf-8")


@contextmanager
def reporting(count: int) -> Iterator[Report]:
    """Show on a terminal how far the rounds are, and what goes on."""
    console = Console()
    if not console.is_terminal:
        yield lambda what: None
        return
    with bar(console) as progress:
        task = progress.add_task("", total=count * len(SYSTEMS) * (1 + len(LINES)))
        yield lambda what: progress.update(task, advance=1, description=what)


def kept(done: int, count: int) -> str:
    """What there is after ^C."""
    if not done:
        return "no round was done; of Linux, what has been fetched is kept"
    return f"{done} of {count} rounds are done and kept in {OUT.relative_to(ROOT)}"


def show(count: int) -> None:
    """Measure, print the table, write the JSON. Raises debian.Missing."""
    kernel = debian.kernel()
    guests = prepare(kernel, FOLDER)
    host = {**real_time.host(), "linux": kernel.release}
    rounds: list[Round] = []
    where = OUT.relative_to(ROOT)
    try:
        with reporting(count) as report:
            for number in range(count):
                began_s = time.monotonic()
                order = SYSTEMS[:: -1 if number % 2 else 1]
                rounds.append(one_round(guests, order, report))
                store(OUT, host, rounds)
                took_s = time.monotonic() - began_s
                print(f"round {number + 1} of {count}: {took_s:.0f} s", flush=True)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(kept(len(rounds), count)) from None
    print(table(rows(rounds)))
    print(f"\n{counted(count, 'round')}, Linux {kernel.release}, {host['cpu']}, {host['qemu']}")
    print("speeds: medians; Sluice / Linux: median, least and most of the rounds")
    print("ahead, behind: it was so in every round")
    print(f"also in {where}")
