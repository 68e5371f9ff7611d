"""`sluice bench --linux`, second table: Sluice under order=journal beside Linux's ext3 and ext4.

- All three boot the same image, which `mkfs --journal` has made. Machines and rounds are those of
  beside.py: they work by turns, and a ratio is that of one round.
- *Files a commit*: how many files share a commit while several processes fsync. Sluice counts its
  commits in /dev/stat, Linux in /proc/fs/jbd2.
- What was asked beforehand of the ratios to ext3: at least 1.1 for create and unlink, and at least
  2 for files a commit.
"""

import json
import re
import shutil
import statistics
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.experiment.aligned import format_table
from sluice.host.paths import BUILD
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine
from tools.bench import debian, linux, real_time

SYSTEMS = ("Sluice", "ext3", "ext4")
PROCESSES, FILES = 8, 800
NEEDED = ("bench", "true", "cat")  # programs that the Linux guest has of its own
CONTENT = Content(size="128M", options=("--journal", "16M"))
FOLDER, OUT = BUILD / "linux", BUILD / "linux-journal.json"
LINES = (
    real_time.Line("create and unlink", "create 1000", "files/s", 1),
    real_time.Line("4 KiB files with fsync, 1 process", "files 100 1", "files/s", 1),
    real_time.Line(f"the same, {PROCESSES} processes", f"files {FILES} {PROCESSES}", "files/s", 1),
)
SHARED = f"files a commit, {PROCESSES} processes"
COMMITS = {
    "Sluice": ("cat /dev/stat", r"^journal\.commits (\d+) "),
    "Linux": ("cat /proc/fs/jbd2/vda-8/info", r"^(\d+) transactions"),
}
BARS = {LINES[0].name: 1.1, SHARED: 2.0}  # of the ratio to ext3, set before it was measured

Round = dict[str, dict[str, float]]  # speeds, by line and system


@dataclass(frozen=True)
class Guests:
    """The files that the machines boot: their unused images, and Linux's kernel and archives."""

    folder: Path
    images: dict[str, Path]
    kernel: debian.Kernel
    initrds: dict[str, Path]

    def machine(self, system: str) -> Machine:
        """Return the system's machine, not yet started, with a new disk."""
        path = shutil.copyfile(self.images[system], self.folder / f"{system}.img")
        config = Config((Disk(path, cache="writeback"),), memory=real_time.MEMORY)
        if system == "Sluice":
            return Machine(replace(config, args="order=journal"))
        given = {"kernel": self.kernel.image, "initrd": self.initrds[system]}
        return linux.LinuxMachine(linux.LinuxConfig(config.disks, memory=real_time.MEMORY, **given))


def prepare(kernel: debian.Kernel, folder: Path) -> Guests:
    """Make the images and the archives, and return them."""
    folder.mkdir(parents=True, exist_ok=True)
    own = {f"/bin/{name}": (linux.PROGRAMS / name).read_bytes() for name in NEEDED}
    theirs = replace(CONTENT, files=own, programs=False)
    contents = {"Sluice": CONTENT, "ext3": theirs, "ext4": theirs}
    images = {
        system: image.make_image(folder / f"{system}.journal.img", content)
        for system, content in contents.items()
    }
    initrds = {
        system: linux.make_initrd(folder / f"{system}.initrd", kernel, file_system=system)
        for system in SYSTEMS[1:]
    }
    return Guests(folder, images, kernel, initrds)


def count_commits(machine: Machine) -> int:
    """Return how many transactions a machine has committed."""
    kind = "Linux" if isinstance(machine, linux.LinuxMachine) else "Sluice"
    command, pattern = COMMITS[kind]
    found = re.search(pattern, machine.check(command), re.M)
    if found is None:
        raise machine.build_error("a number of commits")
    return int(found[1])


def measure_line(machine: Machine, line: real_time.Line) -> dict[str, float]:
    """Measure a line on a machine. Returns its speed; for the last line also the files a commit."""
    before = count_commits(machine)
    found = {line.name: real_time.measure(machine, line)}
    if line is LINES[-1]:
        found[SHARED] = FILES / max(count_commits(machine) - before, 1)
    return found


def measure_round(guests: Guests, order: tuple[str, ...]) -> Round:
    """Boot all systems, and have them run each line by turns. Returns the speeds."""
    found: Round = {}
    with ExitStack() as stack:
        machines = {system: stack.enter_context(guests.machine(system)) for system in order}
        for machine in machines.values():
            machine.wait_prompt()
        for line in LINES:
            for system, machine in machines.items():
                for name, figure in measure_line(machine, line).items():
                    found.setdefault(name, {})[system] = figure
        for machine in machines.values():
            machine.power_off()
    for system in order:
        image.check_image(guests.folder / f"{system}.img")
    return found


def make_cells(name: str, unit: str, rounds: list[Round]) -> list[str]:
    """Return a row of the table: median speeds, and the median and range of ratios to Linux's."""
    cells = [name]
    for system in SYSTEMS:
        cells.append(real_time.format_number(statistics.median(r[name][system] for r in rounds)))
    cells.append(unit)
    for system in SYSTEMS[1:]:
        ratios = [one[name]["Sluice"] / one[name][system] for one in rounds]
        cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    return [*cells, judge_bar(name, rounds)]


def judge_bar(name: str, rounds: list[Round]) -> str:
    """Return what was asked of a row's median ratio to ext3, and whether it is so; or ""."""
    if name not in BARS:
        return ""
    ratio = statistics.median(one[name]["Sluice"] / one[name]["ext3"] for one in rounds)
    return f"{BARS[name]:g}: {'met' if ratio >= BARS[name] else 'MISSED'}"


def format_rounds(rounds: list[Round]) -> str:
    """Return the table as text."""
    head = ["with a journal", *SYSTEMS, "unit", "to ext3", "to ext4", "asked"]
    rows = [(line.name, line.unit) for line in LINES] + [(SHARED, "files")]
    return "\n".join(
        format_table([head, *(make_cells(*row, rounds) for row in rows)], words=(4, 7))
    )


def run_comparison(count: int) -> None:
    """Measure `count` rounds, print the table, and write the JSON. Raises debian.Missing."""
    guests = prepare(debian.get_kernel(), FOLDER)
    rounds: list[Round] = []
    for number in range(count):
        order = SYSTEMS[number % len(SYSTEMS) :] + SYSTEMS[: number % len(SYSTEMS)]
        rounds.append(measure_round(guests, order))
        OUT.write_text(json.dumps({"rounds": rounds}, indent=2), encoding="utf-8")
    print("\n" + format_rounds(rounds))
