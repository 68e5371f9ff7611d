"""Makes the run of a setting and says what is wrong with it.

A run is right if
- every program found what its model said, and no policy or other part of the kernel complained,
- e2fsck has nothing to say of any disk afterwards; of one with a virtual log, of the blocks on it,
- files have the same sums when the disks are booted again.

Where a disk has refused writes, each loss must have been reported to a program or to sync. Then the
sums of the files that this program changed may differ, or after a report to sync the sums of all
files on the disk. And e2fsck may have something to mend, if the kernel said that metadata was lost,
or at its end that not everything was written.
"""

import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.host.paths import DEBUG_KERNEL
from sluice.system import image, virtual_log
from sluice.system.image import Content
from sluice.system.qemu import Config, ConsoleError, Disk, run_rc
from sluice.twin import engine
from tools.exercise.drawn import DATA, END, OVER, SUMS, TOLD, DrawnDisk, Setting

LIMIT_S = 600  # of the host's time: a run takes some seconds
MEMORY = "64M"
# The messages that a sound machine may print. A policy that cannot work on this machine, or with
# the tunables as they are, is refused with the reason.
EXPECTED = re.compile(
    r"(scribble|churn): \d+ operations .*, no difference|policy: [\w/.]+( = \d+)?: .*|"
    r"policy: \S+: \d+ is not in .*|\d+ \d+ .*|@ .*|Sluice.*|"
)
# And one with a disk that refuses writes for a while. At the second boot all is well, but what the
# first one could not write at its end is missing.
WHILE_FAILING = re.compile(
    rf"{EXPECTED.pattern}|a loss in \S+ was told: .*|ext2: disk1: .*|"
    r"bio: disk1: block \d+ cannot be written (now: trying again|and is lost: .*)|"
    r"ext2: unmounted, but writing failed|poweroff: not everything was written: .*|"
    r"disk\d: the virtual log was found by a scan"
)
LOST_STRUCTURE = "ext2: disk1: now read-only: run e2fsck"
UNWRITTEN = "poweroff: not everything was written"
WRITE_FAILED = 1  # status of a machine


@dataclass(frozen=True)
class Wrong:
    """The failure of a run, in a line, and the console."""

    what: str
    console: str


def make_disk(path: Path, drawn: DrawnDisk, setting: Setting, root: bool) -> Path:
    """Make a disk of the setting and return its path."""
    content = Content(
        files=setting.files if root else {},
        programs=root,
        size=f"{drawn.size_mb}M",
        block=setting.block,
        options=("-i", str(drawn.inode_bytes)),
        log_places=drawn.places,
        log_summaries=drawn.summaries,
        log_seed=drawn.scattered,
    )
    return image.make_image(path, content)


def boot_twin(machine: Config) -> tuple[int, str]:
    """Boot the twin. Returns its status and its console, with its own messages."""
    with machine.guest() as guest:
        done = subprocess.run(
            engine.twin_command(machine, guest),
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
    """Boot QEMU with two harts and its own disks, under the debug kernel.

    Returns its status and its console.
    """
    result = run_rc(machine, LIMIT_S)
    return result.status, result.console


def reported_losses(console: str) -> list[str]:
    """Return the beginnings of all paths that may have lost data, as the machine reported."""
    told = re.findall(r"^a loss in (\S+) was told", console, re.M)
    return [*told, *([DATA] if TOLD in console else [])]


def is_torn(console: str) -> bool:
    """Return True if the machine reported that the second disk lacks some of its metadata."""
    return LOST_STRUCTURE in console or UNWRITTEN in console


def find_complaint(status: int, console: str, failing: bool, again: bool) -> str:
    """Return what is wrong with a boot; empty if nothing is.

    failing: a disk refused writes for a while. again: it is the second boot.
    """
    lines = console.splitlines()
    if OVER in lines:
        in_use = re.findall(r"^(\w+):.*\[([\w-]+)\]", console, re.M)
        names = ", ".join("=".join(of) for of in in_use)
        return f"it was not done when its limit of virtual time was over, under {names}"
    expected = WHILE_FAILING if failing else EXPECTED
    unexpected = [line for line in lines if not expected.fullmatch(line)]
    if unexpected:
        return unexpected[0]
    lost = LOST_STRUCTURE in lines or any("cannot be written and is lost" in line for line in lines)
    if lost and not reported_losses(console):
        return "something is lost, and no program was told"
    may_fail = failing and not again
    if status and not (may_fail and status == WRITE_FAILED and UNWRITTEN in console):
        return f"it ended with status {status}"
    return "" if END in lines else f"it did not say '{END}'"


def parse_sums(console: str, lost: list[str]) -> list[str]:
    """Return the sums that a boot printed, without paths of which something may be lost."""
    printed = console[console.index(SUMS) : console.index(END)]
    lines = re.findall(r"^\d+ \d+ /.*$", printed, re.M)  # the kernel may say something between
    return [line for line in lines if not any(f" {path}" in line for path in lost)]


def check_disk(path: Path, drawn: DrawnDisk, may_mend: bool = False) -> str:
    """Return what is wrong with a disk; empty if nothing is.

    may_mend: it need only be sound when e2fsck has mended it.
    """
    plain = path
    if drawn.places:
        plain = path.with_suffix(".blocks")
        plain.write_bytes(virtual_log.read_logical_disk(path.read_bytes()))
    done = image.run_command("e2fsck", "-fn", plain, check=False)
    if done.returncode and may_mend:
        image.run_command("e2fsck", "-fy", plain, check=False)
        done = image.run_command("e2fsck", "-fn", plain, check=False)
        if drawn.places:
            log = {"nsummaries": drawn.summaries, "seed": drawn.scattered}
            path.write_bytes(virtual_log.lay_out_log(plain.read_bytes(), drawn.places, **log))
    return f"e2fsck of {path.name}: {done.stdout.decode()}" if done.returncode else ""


def judge_run(setting: Setting, machine: Config, live: bool) -> Wrong | None:
    """Boot twice, check the disks in between, and return what is wrong, or None."""
    boot = boot_machine if live else boot_twin
    consoles: list[str] = []
    first = replace(machine, args=f"{machine.args} {setting.failing}".rstrip())
    for nth in ("first", "second"):
        failing, again = bool(setting.failing), nth == "second"
        try:
            status, console = boot(machine if again else first)
        except subprocess.TimeoutExpired as error:
            said = (error.stdout or b"").decode(errors="replace")
            return Wrong(f"{nth} boot: it did not end within {LIMIT_S} s", said)
        except ConsoleError as error:
            return Wrong(f"{nth} boot: {str(error).splitlines()[0]}", str(error))
        consoles.append(console)
        if what := find_complaint(status, console, failing, again):
            return Wrong(f"{nth} boot: {what}", console)
        for disk, of in zip(machine.disks, setting.disks, strict=True):
            try:
                may_mend = is_torn(console) and disk is machine.disks[-1]
                what = check_disk(disk.image, of, may_mend)
            except virtual_log.DamagedLogError as error:
                what = f"{disk.image.name}: {error}"
            if what:
                return Wrong(f"after the {nth} boot, {what}", console)
    lost = [*reported_losses(consoles[0]), *([DATA] if is_torn(consoles[0]) else [])]
    if parse_sums(consoles[0], lost) != parse_sums(consoles[1], lost):
        return Wrong("files have other sums after the second boot", "\n".join(consoles))
    return None


def make_run(setting: Setting, folder: Path, live: bool = False) -> Wrong | None:
    """Make the run, with its disks in the folder; return what is wrong, or None.

    live: in real time, in QEMU.
    """
    folder.mkdir(parents=True, exist_ok=True)
    disks = [
        Disk(make_disk(folder / f"disk{n}.img", of, setting, n == 0))
        for n, of in enumerate(setting.disks)
    ]
    if live:
        machine = Config(tuple(disks), 2, MEMORY, setting.args, DEBUG_KERNEL)
    else:
        machine = Config(tuple(disks), memory=MEMORY, args=setting.args, lab=True)
    return judge_run(setting, machine, live)
