"""`sluice bench --linux`: Sluice and a Linux guest, measured by turns on one host.

- In each round both machines boot, each with a fresh copy of its disk. Then they run each line of
  real_time.py, one machine at a time; the other waits at its prompt. Which is first changes with
  every round.
- A ratio is that of the two speeds of one round, so a host that is busy at times changes it little.
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

from sluice.experiment.aligned import format_table
from sluice.experiment.progress import format_count, progress_bar
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
        """Return how many times as fast as Linux Sluice is, round by round."""
        return [ours / theirs for ours, theirs in zip(self.sluice, self.linux, strict=True)]

    def verdict(self) -> str:
        """Return whether Sluice is ahead or behind, if it was so in every round."""
        ratios = self.ratios()
        if min(ratios) > 1:
            return "ahead"
        return "behind" if max(ratios) < 1 else "not told apart"

    def format_cells(self) -> list[str]:
        """Return the row as the table shows it."""
        speeds = [
            real_time.format_number(statistics.median(each)) for each in (self.sluice, self.linux)
        ]
        ratios = self.ratios()
        figures = (statistics.median(ratios), min(ratios), max(ratios))
        return [self.name, *speeds, self.unit, *(f"{r:.2f}" for r in figures), self.verdict()]


def format_rows(rows: list[Row]) -> str:
    """Return the rows as text."""
    head = ["", *SYSTEMS, "unit", "Sluice / Linux", "least", "most", "Sluice is"]
    cells = [head] + [row.format_cells() for row in rows]
    return "\n".join(format_table(cells, words=(3, 7)))


def make_rows(rounds: list[Round]) -> list[Row]:
    """Return a row for each line."""
    return [
        Row(line.name, line.unit, *([one[line.name][s] for one in rounds] for s in SYSTEMS))
        for line in LINES
    ]


@dataclass(frozen=True)
class Guests:
    """The files that both machines boot: their unused images, and Linux's kernel and archive."""

    folder: Path
    images: dict[str, Path]
    kernel: debian.Kernel
    initrd: Path

    def disk(self, system: str) -> Path:
        """Return the path of the system's disk of this round."""
        return self.folder / f"{system}.img"

    def machine(self, system: str) -> Machine:
        """Return the system's machine, not yet started, with a new disk.

        Both have the same hardware.
        """
        disk = shutil.copyfile(self.images[system], self.disk(system))
        config = Config((Disk(disk, cache="writeback"),), memory=real_time.MEMORY)
        if system == "Sluice":
            return Machine(config)
        given = {"kernel": self.kernel.image, "initrd": self.initrd}
        return linux.LinuxMachine(linux.LinuxConfig(config.disks, memory=real_time.MEMORY, **given))


def prepare(kernel: debian.Kernel, folder: Path) -> Guests:
    """Make the images and the archive, and return them."""
    folder.mkdir(exist_ok=True)
    own = {f"/bin/{name}": (linux.PROGRAMS / name).read_bytes() for name in NEEDED}
    contents = {"Sluice": real_time.CONTENT, "Linux": replace(real_time.CONTENT, files=own)}
    images = {
        system: image.make_image(folder / f"{system}.fresh.img", content)
        for system, content in contents.items()
    }
    return Guests(folder, images, kernel, linux.make_initrd(folder / "initrd", kernel))


def line_settings(machine: Machine, line: real_time.Line) -> AbstractContextManager[None]:
    """Enter a context in which the machine has the line's settings.

    Linux stays as it has booted.
    """
    if isinstance(machine, linux.LinuxMachine):
        return nullcontext()
    return real_time.prefetch_policy(machine, line.prefetch)


def measure_round(guests: Guests, order: tuple[str, ...], report: Report) -> Round:
    """Boot both systems, measure each line, and return the speeds.

    report: called with a description of each step.
    """
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
                with line_settings(machines[system], line):
                    speeds[line.name][system] = real_time.measure(machines[system], line)
        for machine in machines.values():
            machine.power_off()
    for system in order:
        image.check_image(guests.disk(system))
    return speeds


def write_json(out: Path, host: dict[str, str], rounds: list[Round]) -> None:
    """Write the JSON: the host, and each line's speeds and ratios, round by round."""
    measured = [{**asdict(row), "ratios": row.ratios()} for row in make_rows(rounds)]
    out.write_text(json.dumps({"machine": host, "rows": measured}, indent=2), encoding="utf-8")


@contextmanager
def progress_reporter(count: int) -> Iterator[Report]:
    """Enter a context with a function that shows on a terminal how far the rounds are."""
    console = Console()
    if not console.is_terminal:
        yield lambda what: None
        return
    with progress_bar(console) as progress:
        task = progress.add_task("", total=count * len(SYSTEMS) * (1 + len(LINES)))
        yield lambda what: progress.update(task, advance=1, description=what)


def describe_progress(done: int, count: int) -> str:
    """Return what is left after ^C, in words."""
    if not done:
        return "no round was done; of Linux, what has been fetched is kept"
    return f"{done} of {count} rounds are done and kept in {OUT.relative_to(ROOT)}"


def run_comparison(count: int) -> None:
    """Measure, print the table, and write the JSON. Raises debian.Missing."""
    kernel = debian.get_kernel()
    guests = prepare(kernel, FOLDER)
    host = {**real_time.describe_host(), "linux": kernel.release}
    rounds: list[Round] = []
    where = OUT.relative_to(ROOT)
    try:
        with progress_reporter(count) as report:
            for number in range(count):
                began_s = time.monotonic()
                order = SYSTEMS[:: -1 if number % 2 else 1]
                rounds.append(measure_round(guests, order, report))
                write_json(OUT, host, rounds)
                took_s = time.monotonic() - began_s
                print(f"round {number + 1} of {count}: {took_s:.0f} s", flush=True)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(describe_progress(len(rounds), count)) from None
    print(format_rows(make_rows(rounds)))
    print(
        f"\n{format_count(count, 'round')}, Linux {kernel.release}, {host['cpu']}, {host['qemu']}"
    )
    print("speeds: medians; Sluice / Linux: median, least and most of the rounds")
    print("ahead, behind: it was so in every round")
    print(f"also in {where}")
