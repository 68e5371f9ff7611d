"""Starts the twin in place of QEMU.

It takes the same memory file, with the RAM disks in it, and the same boot arguments as a machine,
and its console and its trace are read the same way.
"""

import platform
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from sluice.host.hashes import hash_file
from sluice.host.paths import BUILT
from sluice.network.wiring import Plug
from sluice.system.guest import MOST_DISKS, Guest, parse_size
from sluice.system.qemu import Config, die_with_parent

TWIN = BUILT / "twin" / "twin"
PROGRAMS = BUILT / "twin" / "bin"
HOSTS = tuple(sorted(p.stem[7:] for p in Path(__file__).parent.glob("switch_*.S")))  # processors
LARGE = "its disks are RAM disks, and these are too large or special"
MISSING = ("usertests",)  # programs that have RISC-V instructions in them


def host_refusal_reason() -> str | None:
    """Return why this host cannot run the twin, or None."""
    if platform.machine() not in HOSTS:
        return f"it runs on {' and '.join(HOSTS)} only, and this host is {platform.machine()}"
    return None


def refusal_reason(machine: Config, commands: str) -> str | None:
    """Return why the twin cannot be this machine and run these commands, or None."""
    if host_refusal_reason():
        return host_refusal_reason()
    if not machine.lab or machine.harts != 1:
        return "it has virtual time and one hart only"
    if not machine.ram_disks():
        return LARGE
    return run_refusal_reason(commands)


def run_refusal_reason(commands: str, sizes: Sequence[str] = ()) -> str | None:
    """Return why the twin cannot run these commands on disks of these sizes, or None."""
    if host_refusal_reason():
        return host_refusal_reason()
    if sum(map(parse_size, sizes)) > MOST_DISKS:
        return LARGE
    missing = [name for name in MISSING if name in commands.split()]
    if missing:
        return f"it has no program {missing[0]}, which is made of RISC-V instructions"
    return None


def twin_command(
    machine: Config,
    guest: Guest,
    costs: Path | None = None,
    twin: Path = TWIN,
    log: tuple[int, Path] | None = None,
    watch: tuple[int, Path] | None = None,
    plug: Plug | None = None,
) -> list[str]:
    """Return the command line that starts the twin with this memory. costs: a table of costs, if
    not the kernel's; log: a disk whose writes are kept, and the file for them; watch: a disk whose
    events are kept, and the file for them (disk_events.py); plug: its end of a network."""
    line = [str(twin), "-p", str(PROGRAMS), "-m", str(guest.path)]
    line += ["-c", str(costs)] if costs else []
    if log:
        place, size = guest.places[log[0]]
        line += ["-w", f"{place}:{place + size}:{log[1]}"]
    if watch:
        line += ["-e", f"{watch[0]}:{watch[1]}"]
    line += plug.twin if plug else ()
    return [*line, "--", *machine.charged_arguments().split(), guest.argument()]


def start_twin(
    machine: Config,
    guest: Guest,
    in_child: Callable = die_with_parent,
    twin: Path = TWIN,
    log: tuple[int, Path] | None = None,
    watch: tuple[int, Path] | None = None,
    plug: Plug | None = None,
    **how: object,
) -> subprocess.Popen:
    """Start the twin, or another twin with other sources in it, as a child. Returns the process.
    plug: its end of a network; how: goes to Popen."""
    line = twin_command(machine, guest, twin=twin, log=log, watch=watch, plug=plug)
    files = plug.files if plug else ()
    return subprocess.Popen(line, preexec_fn=in_child, pass_fds=files, **how)


def ring_address(memory: Path) -> int:
    """Return the address of the trace in a twin's memory, which the gauge trace.phys has too."""
    with memory.open("rb") as file:
        return int.from_bytes(file.read(8), "little")


@cache
def twin_hash() -> str:
    """Return the hash of all parts of the twin: the twin itself, and its programs."""
    digest = sha256()
    for path in (TWIN, *sorted(PROGRAMS.iterdir())):
        digest.update(path.name.encode() + bytes.fromhex(hash_file(path)))
    return digest.hexdigest()
