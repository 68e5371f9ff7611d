"""Makes the run of a setting and says what is wrong with it.

A run is right if
- every program found what its model said, and no policy or other part of the kernel complained,
- e2fsck has nothing to say of any disk afterwards; of one with a virtual log, of the blocks on it,
- files have the same sums when the disks are booted again.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from grade.exercise.drawn import END, OVER, SUMS, DrawnDisk, Setting
from grade.host.paths import DEBUG_KERNEL
from grade.machine import image, virtual_log
from grade.machine.image import Content
from grade.machine.qemu import Config, ConsoleError, Disk, run_rc
from grade.twin import engine

LIMIT_S = 600  # of the host's time: a run takes some seconds
MEMORY = "64M"
# What a sound machine prints. A policy that cannot work on this machine, or with the tunables as
# they are, is refused with the reason.
EXPECTED = re.compile(
    r"(scribble|churn): \d+ operations .*, no difference|policy: [\w/.]+( = \d+)?: .*|"
    r"policy: \S+: \d+ is not in .*|\d+ \d+ .*|@ .*|Sluice.*|"
)


@dataclass(frozen=True)
class Wrong:
    """What is wrong with a run, in a line, and the console."""

    what: str
    console: str


def make_disk(path: Path, of: DrawnDisk, setting: Setting, root: bool) -> Path:
    """Make a disk of the setting."""
    content = Content(
        files=setting.files if root else {},
        programs=root,
        size=f"{of.size_mb}M",
        block=setting.block,
        log_places=of.places,
        log_summaries=of.summaries,
        log_seed=of.scattered,
    )
    return image.make(path, content)


def boot_twin(machine: Config) -> tuple[int, str]:
    """Boot the twin. Returns its status and its console, with what it said of itself."""
    with machine.guest() as guest:
        done = subprocess.run(
            engine.command(machine, guest),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=engine.die_with_parent,
            timeout=LIMIT_S,
            check=False,
        )
        guest.save()
    return done.returncode, done.stdout.decode(errors="replace")


def boot_machine(machine: Config) -> tuple[int, str]:
    """Boot QEMU with two harts and its own disks, under the debug kernel."""
    result = run_rc(machine, LIMIT_S)
    return result.status, result.console


def complaint(status: int, console: str) -> str:
    """What is wrong with a boot, or nothing."""
    lines = console.splitlines()
    if OVER in lines:
        in_use = re.findall(r"^(\w+):.*\[([\w-]+)\]", console, re.M)
        names = ", ".join("=".join(of) for of in in_use)
        return f"it was not done when its limit of virtual time was over, under {names}"
    unexpected = [line for line in lines if not EXPECTED.fullmatch(line)]
    if unexpected:
        return unexpected[0]
    if status:
        return f"it ended with status {status}"
    return "" if END in lines else f"it did not say '{END}'"


def sums(console: str) -> str:
    """The sums that a boot printed."""
    return console[console.index(SUMS) : console.index(END)]


def e2fsck(path: Path, of: DrawnDisk) -> str:
    """What is wrong with a disk, or nothing."""
    plain = path
    if of.places:
        plain = path.with_suffix(".blocks")
        plain.write_bytes(virtual_log.blocks(path.read_bytes()))
    done = image.command("e2fsck", "-fn", plain, check=False)
    return f"e2fsck of {path.name}: {done.stdout.decode()}" if done.returncode else ""


def judge(setting: Setting, machine: Config, live: bool) -> Wrong | None:
    """Boot twice, and check the disks in between."""
    boot = boot_machine if live else boot_twin
    consoles = []
    for nth in ("first", "second"):
        try:
            status, console = boot(machine)
        except subprocess.TimeoutExpired as error:
            said = (error.stdout or b"").decode(errors="replace")
            return Wrong(f"{nth} boot: it did not end within {LIMIT_S} s", said)
        except ConsoleError as error:
            return Wrong(f"{nth} boot: {str(error).splitlines()[0]}", str(error))
        consoles.append(console)
        if what := complaint(status, console):
            return Wrong(f"{nth} boot: {what}", console)
        for disk, of in zip(machine.disks, setting.disks, strict=True):
            try:
                what = e2fsck(disk.image, of)
            except virtual_log.DamagedLogError as error:
                what = f"{disk.image.name}: {error}"
            if what:
                return Wrong(f"after the {nth} boot, {what}", console)
    if sums(consoles[0]) != sums(consoles[1]):
        return Wrong("files have other sums after the second boot", "\n".join(consoles))
    return None


def make(setting: Setting, folder: Path, live: bool = False) -> Wrong | None:
    """Make the run, with its disks in the folder. live: in real time, in QEMU. Returns None if
    nothing is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    disks = [
        Disk(make_disk(folder / f"disk{n}.img", of, setting, n == 0))
        for n, of in enumerate(setting.disks)
    ]
    if live:
        machine = Config(tuple(disks), 2, MEMORY, setting.args, DEBUG_KERNEL)
    else:
        machine = Config(tuple(disks), memory=MEMORY, args=setting.args, lab=True)
    return judge(setting, machine, live)
