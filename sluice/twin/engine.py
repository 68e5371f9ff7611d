"""Starts the twin in the place of QEMU.

It takes the same memory file, with the RAM disks in it, and the same boot arguments as a machine,
and its console and its trace are read the same way.
"""

import platform
import subprocess
from collections.abc import Callable
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path

from sluice.host.paths import BUILT, TREE
from sluice.system.guest import Guest
from sluice.system.qemu import Config, die_with_parent

TWIN = BUILT / "twin" / "twin"
PROGRAMS = BUILT / "twin" / "bin"
COSTS = TREE / "sluice" / "twin" / "costs.txt"
HOSTS = tuple(sorted(p.stem[7:] for p in Path(__file__).parent.glob("switch_*.S")))  # processors
MISSING = ("usertests",)  # programs that have RISC-V instructions in them


def host_refusal() -> str | None:
    """Why there is no twin on this host, or None."""
    if platform.machine() not in HOSTS:
        return f"it runs on {' and '.join(HOSTS)} only, and this host is {platform.machine()}"
    return None


def refusal(machine: Config, commands: str) -> str | None:
    """Why the twin cannot be this machine and run these commands, or None."""
    if host_refusal():
        return host_refusal()
    if not machine.lab or machine.harts != 1:
        return "it has virtual time and one hart only"
    if not machine.ram_disks():
        return "its disks are RAM disks, and these are too large or special"
    missing = [name for name in MISSING if name in commands.split()]
    if missing:
        return f"it has no program {missing[0]}, which is made of RISC-V instructions"
    return None


def command(
    machine: Config,
    guest: Guest,
    costs: Path | None = COSTS,
    twin: Path = TWIN,
    log: tuple[int, Path] | None = None,
) -> list[str]:
    """The command line that starts the twin with this memory, and a table of costs or none. log: a
    disk whose writes are kept, and the file that they are kept in."""
    line = [str(twin), "-p", str(PROGRAMS), "-m", str(guest.path), "-s", str(machine.cpu_shift)]
    line += ["-c", str(costs)] if costs else []
    if log:
        place, size = guest.places[log[0]]
        line += ["-w", f"{place}:{place + size}:{log[1]}"]
    return [*line, "--", *machine.args.split(), guest.argument()]


def start(
    machine: Config,
    guest: Guest,
    in_child: Callable = die_with_parent,
    twin: Path = TWIN,
    log: tuple[int, Path] | None = None,
    **how: object,
) -> subprocess.Popen:
    """Start the twin, or another with other sources in it, as a child; `how` goes to Popen."""
    line = command(machine, guest, twin=twin, log=log)
    return subprocess.Popen(line, preexec_fn=in_child, **how)


def ring_phys(memory: Path) -> int:
    """The address of the trace in a twin's memory, where the gauge trace.phys says it is."""
    with memory.open("rb") as file:
        return int.from_bytes(file.read(8), "little")


@cache
def twin_hash() -> str:
    """The hash of all that the twin is: itself, its programs, and its table of costs."""
    digest = sha256()
    for path in (TWIN, COSTS, *sorted(PROGRAMS.iterdir())):
        with path.open("rb") as file:
            digest.update(path.name.encode() + file_digest(file, "sha256").digest())
    return digest.hexdigest()
