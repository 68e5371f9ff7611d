"""`sluice bench --linux-policies`: policies with Linux's name, held beside a Linux guest.

- A read-ahead case is an example of tests/policies/prefetch/prefetch_test.c in its notation, which
  that test holds `ondemand` to: `4+2 6-9` reads blocks 4 and 5, and 6 to 9 are read ahead.
- A writing case is a figure of tests/policies/update/adaptive_test.c, which that test holds
  `linux` to: when dirty blocks were written, in seconds from the first change.
- The same cases are run in the guest (guest/pages.c). A case that differs is printed with both
  answers, and the exit status is 1. So a newer kernel can be asked again.

Throttling, the scheduler's batches and sync are not asked: they need a device of a known speed in
the guest.
"""

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sluice.host.paths import BUILD
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Disk, Machine
from tools.bench import debian, linux
from tools.bench.debian import Missing

FOLDER = BUILD / "linux"
NEEDED = ("bench", "pages", "true")
FILE_MB = 4
WRITES_FIRST = "bench write /first 8m"  # so that the disk has its part of the background limit
IDLE_S = 60.0  # until a disk's part of the limit is 0
NEAR_S = 1.0  # Linux looks every 5.12 s, and its timers are some ms late


@dataclass(frozen=True)
class Reads:
    """A read-ahead case: steps of prefetch_test.c."""

    name: str
    steps: str
    hint: str = "none"

    def calls(self) -> list[str]:
        """Return the reads alone, without what is read ahead for them."""
        return [step.split()[0] for step in self.steps.split(";")]


@dataclass(frozen=True)
class Ages:
    """A writing case.

    blocks: how many are changed, one every gap_ms. before: a command that is run first. idle_s: how
    long nothing is written first. wrote: blocks and seconds.
    """

    name: str
    blocks: int
    gap_ms: int
    before: str
    idle_s: float
    wrote: tuple[tuple[int, float], ...]


READS = (
    Reads("calls of 128 KiB", "0+32 32-63; 32+32 64-95; 64+32 96-127; 96+32 128-159"),
    Reads("calls of 256 KiB", "0+64 64-127; 64+64 128-191; 128+64 192-255"),
    Reads("calls of 1 MiB", "0+256 256-511; 256+256 512-767"),
    Reads("every second block", "0 1-3; 2; 4 5-7; 6; 8 9-11; 10; 12 13-15"),
    Reads("blocks skipped", "0 1-3; 1 4-11; 3; 4 12-27; 5; 7; 8; 10; 12 28-59"),
    Reads("blocks skipped to the mark", "0 1-3; 1 4-11; 4 12-27; 12 28-59"),
    Reads("at random, sequential", "32; 64; 96; 128; 160; 500", "sequential"),
    Reads(
        "in order, sequential", "0+16 16-31; 16+16 32-95; 32+64 96-159; 96+64 160-223", "sequential"
    ),
)
AGES = (
    Ages("one block, after an idle time", 1, 0, "", IDLE_S, ((1, 5),)),
    Ages("one block, the disk busy before", 1, 0, WRITES_FIRST, 0, ((1, 30),)),
    Ages("a file, a block every 2 s", 10, 2000, WRITES_FIRST, 0, ((10, 30),)),
)


def parse_reads(output: str) -> str:
    """Return the steps that the guest printed, in the notation of a case."""
    found = re.findall(r"^step (\S+)((?: [\d-]+)*)$", output.replace("\r", ""), re.M)
    return "; ".join(call + besides for call, besides in found)


def parse_ages(output: str) -> tuple[tuple[int, float], ...]:
    """Return blocks and seconds of each time at which the guest wrote."""
    found = re.findall(r"^wrote (\d+) (\d+)\r?$", output, re.M)
    return tuple((int(blocks), int(ms) / 1000) for blocks, ms in found)


def are_near(theirs: tuple[tuple[int, float], ...], ours: tuple[tuple[int, float], ...]) -> bool:
    """Return whether both wrote as many blocks, at times within NEAR_S."""
    if [blocks for blocks, _ in theirs] != [blocks for blocks, _ in ours]:
        return False
    pairs = zip(theirs, ours, strict=True)
    return all(abs(their_s - our_s) <= NEAR_S for (_, their_s), (_, our_s) in pairs)


def describe_ages(wrote: tuple[tuple[int, float], ...]) -> str:
    """Return the times as text."""
    return ", ".join(f"{blocks} at {seconds:.2f} s" for blocks, seconds in wrote) or "none"


def describe_case(name: str, same: bool, theirs: str, ours: str) -> str:
    """Return the line of a case, with both answers if they differ."""
    if same:
        return f"   as Linux  {name}: {ours}"
    return f"    differs  {name}\n             Linux:  {theirs}\n             Sluice: {ours}"


def file_of(case: Reads) -> str:
    """Return the path of the case's own file, which is not cached."""
    return f"/read{READS.index(case)}"


def make_machine(kernel: debian.Kernel, folder: Path) -> linux.LinuxMachine:
    """Return the guest, not yet started, with a new disk."""
    folder.mkdir(exist_ok=True)
    own = {f"/bin/{name}": (linux.PROGRAMS / name).read_bytes() for name in NEEDED}
    files = [*(file_of(case) for case in READS), "/ages"]
    options = tuple(word for name in files for word in ("--file", f"{name}={FILE_MB}M"))
    content = Content(files=own, programs=False, size="96M", options=options)
    disk = image.make_image(folder / "policies.img", content)
    initrd = linux.make_initrd(folder / "policies.initrd", kernel)
    config = linux.LinuxConfig(
        (Disk(disk, cache="writeback"),),
        memory="512M",
        kernel=kernel.image,
        initrd=initrd,
    )
    return linux.LinuxMachine(config)


def ask_reads(machine: Machine, case: Reads) -> tuple[bool, str]:
    """Run a case in the guest. Returns whether Linux does as the policy, and a line about it."""
    steps = " ".join(case.calls())
    theirs = parse_reads(machine.check(f"pages read {file_of(case)} {case.hint} {steps}"))
    same = theirs == case.steps
    return same, describe_case(f"read ahead, {case.name}", same, theirs, case.steps)


def ask_ages(machine: Machine, case: Ages) -> tuple[bool, str]:
    """Run a case in the guest. Returns whether Linux does as the policy, and a line about it."""
    if case.before:
        machine.check(case.before)
    time.sleep(case.idle_s)
    command = f"pages age /ages {case.blocks} {case.gap_ms}"
    theirs = parse_ages(machine.check(command, limit_s=300))
    same = are_near(theirs, case.wrote)
    name = f"write, {case.name}"
    return same, describe_case(name, same, describe_ages(theirs), describe_ages(case.wrote))


def ask_all(machine: Machine) -> Iterator[tuple[bool, str]]:
    """Yield for each case whether Linux does as the policy does, and the case's line."""
    for reads in READS:
        yield ask_reads(machine, reads)
    for ages in AGES:
        yield ask_ages(machine, ages)


def compare_policies() -> int:
    """Ask the guest, print each case, and return the exit status.

    It is 1 if a case differs or no Linux is available.
    """
    try:
        kernel = debian.get_kernel()
    except Missing as why:
        print(f"no Linux guest: {why}; nothing was asked", file=sys.stderr)
        return 1
    print(f"Linux {kernel.release} beside prefetch=ondemand and update=linux", flush=True)
    differ = 0
    with make_machine(kernel, FOLDER) as machine:
        machine.wait_prompt()
        for same, line in ask_all(machine):
            differ += not same
            print(line, flush=True)
        machine.power_off()
    print("all cases are as Linux" if not differ else f"{differ} cases differ")
    return int(differ > 0)
