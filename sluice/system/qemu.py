"""A Sluice machine: QEMU as a child process, driven over its console.

- Waits are for events, each with a limit; nothing sleeps to synchronise.
- QEMU has its own process group and ends with this process, however that ends.
- A wait that fails raises `ConsoleError`, with what was expected and what the console showed.
"""

import codecs
import ctypes
import os
import re
import select
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from sluice.host.limits import HANG_S
from sluice.host.paths import KERNEL
from sluice.host.quoting import for_qemu
from sluice.system import processors
from sluice.system.guest import MOST_DISKS, MOVES_KEPT, Guest

PROMPT = r"^sluice:\S*\$ "
PR_SET_PDEATHSIG = 1
LAB_SHIFT = 5  # 2^5 ns an instruction: about a workstation of 1990
LIBC = ctypes.CDLL(None)
UTF_8 = codecs.getincrementaldecoder("utf-8")


@dataclass(frozen=True)
class Disk:
    """A disk of a machine: an image, or any value of QEMU's -drive for it."""

    image: Path | None = None
    drive: str = ""  # if set, replaces the file= part, e.g. driver=blkdebug,...
    cache: str = "unsafe"  # QEMU's cache mode
    device: str = ""  # further properties of the virtio device

    def special(self) -> bool:
        """Whether it is more than an image: QEMU's device makes a difference."""
        return not self.image or bool(self.drive or self.device)

    def options(self, unit: int) -> list[str]:
        """QEMU's options for this disk in the given slot."""
        drive = self.drive or f"file={for_qemu(self.image)},format=raw"
        device = f",{self.device}" if self.device else ""
        return [
            "-drive",
            # A full host disk is the kernel's error; QEMU's default stops the machine silently.
            f"{drive},if=none,id=x{unit},cache={self.cache},werror=report",
            "-device",
            f"virtio-blk-device,drive=x{unit},bus=virtio-mmio-bus.{unit}{device}",
        ]


@dataclass(frozen=True)
class Config:
    """The machine to start: memory as QEMU writes it, boot arguments as one text."""

    disks: tuple[Disk, ...]
    harts: int = 1
    memory: str = "128M"
    args: str = ""
    kernel: Path = KERNEL
    options: tuple[str, ...] = ()  # further ones of QEMU
    lab: bool = False  # virtual time: instructions and drive models make the clock
    cpu_shift: int = LAB_SHIFT  # there, an instruction takes 2^this ns
    rr: tuple[str, Path] | None = None  # there, QEMU's "record" or "replay", and its file

    def ram_disks(self) -> tuple[Path, ...]:
        """The images of the disks, if they can be RAM disks, as all are in virtual time whose data
        no device of QEMU has to treat in a special way."""
        if not self.lab or any(disk.special() for disk in self.disks):
            return ()
        images = tuple(disk.image for disk in self.disks)
        size = sum(image.stat().st_size for image in images)
        return images if size <= MOST_DISKS else ()

    def guest(self, log: int = MOVES_KEPT, kept: Path | None = None) -> Guest:
        """Memory for one run of this machine (guest.py has the arguments)."""
        return Guest(self.memory, self.ram_disks(), log, kept)

    def record_replay(self) -> str:
        """The end of the option -icount that records or replays the run."""
        if not self.rr:
            return ""
        mode, file = self.rr
        return f",rr={mode},rrfile={for_qemu(file)}"

    def command(self, guest: Guest | None = None) -> list[str]:
        """The command line that starts it; guest is its memory, if that is a file."""
        line = [os.environ.get("QEMU", "qemu-system-riscv64"), "-machine", "virt"]
        line += ["-cpu", "rv64,sstc=true", "-bios", "none", "-kernel", str(self.kernel)]
        line += ["-smp", str(self.harts)]
        line += guest.options() if guest else ["-m", self.memory]
        line += ["-display", "none", "-monitor", "none", "-serial", "stdio"]
        line += ["-global", "virtio-mmio.force-legacy=false"]
        told = guest.argument() if guest else ""
        for unit, disk in enumerate(() if told else self.disks):
            line += disk.options(unit)
        if self.args or told:
            line += ["-append", f"{self.args} {told}".strip()]
        if self.lab:
            line += ["-icount", f"shift={self.cpu_shift},sleep=off{self.record_replay()}"]
            line += ["-rtc", "base=2026-01-01,clock=vm"]
        return line + list(self.options)


@dataclass(frozen=True)
class Result:
    """A machine that has ended: QEMU's exit status and all that the console showed."""

    status: int
    console: str


@dataclass(frozen=True)
class Output:
    """A shell command that has ended: its exit status and its output."""

    status: int
    text: str


class ConsoleError(AssertionError):
    """The console did not show what was expected in time."""


def die_with_parent() -> None:
    """In the child, before exec: have it killed when the parent thread ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(
    config: Config,
    guest: Guest | None = None,
    in_child: Callable = die_with_parent,
    **how: object,
) -> subprocess.Popen:
    """Start QEMU as a child; `how` goes to Popen. In virtual time it has its own processor."""
    if not config.lab:
        return subprocess.Popen(config.command(guest), preexec_fn=in_child, **how)
    own, lock = processors.take()

    def go() -> None:
        in_child()
        processors.go_by_turns(own)

    try:
        keeps = [lock.fileno()] if lock else []
        return subprocess.Popen(config.command(guest), preexec_fn=go, pass_fds=keeps, **how)
    finally:
        if lock:
            lock.close()


@dataclass
class Machine:
    """A running machine; a context manager that ends it.

    In virtual time its memory is a file, `guest`. When it has ended, however that was, its disks'
    images are as it left the disks.
    """

    config: Config
    limit_s: float = HANG_S  # of one wait, unless the call says otherwise
    log: int = MOVES_KEPT  # how many moves of RAM disks are kept
    console: str = field(default="", init=False)  # everything, without \r
    seen: int = field(default=0, init=False)  # how much of it expect has passed
    commands: int = field(default=0, init=False)
    status: int | None = field(default=None, init=False)
    # A read of the console may end within a letter.
    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: UTF_8("replace"), init=False)

    def __enter__(self) -> "Machine":
        with ExitStack() as opened:
            self.errors = opened.enter_context(tempfile.TemporaryFile())  # what QEMU itself says
            self.guest = self.config.guest(self.log) if self.config.lab else None
            if self.guest:
                opened.enter_context(self.guest)
            self.process = start(
                self.config,
                self.guest,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                start_new_session=True,
            )
            opened.pop_all()  # they are open as long as the machine
        os.set_blocking(self.process.stdout.fileno(), False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        if self.guest:
            self.guest.close()

    def kill(self) -> None:
        """End the machine at once. Safe to call twice."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self._ended()
        self._read(0)

    def _ended(self) -> int:
        """Wait for QEMU's end, and have the images as the machine left its disks. Its status."""
        status = self.process.wait()
        if self.guest:
            self.guest.save()
        return status

    def _read(self, wait_s: float) -> bool:
        """Take what the console has, waiting up to wait_s for it. False at its end."""
        stream = self.process.stdout
        if not select.select([stream], [], [], max(wait_s, 0))[0]:
            return True
        data = stream.read(1 << 20)
        self.console += self.decoder.decode(data or b"", data == b"").replace("\r", "")
        return data != b""

    def complaints(self) -> str:
        """QEMU's standard error, which is no part of a run."""
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace").strip()

    def fail(self, expected: str) -> ConsoleError:
        """The error that says what was expected and what the console showed."""
        tail = "\n    ".join(self.console.splitlines()[-40:])
        return ConsoleError(
            f"expected: {expected}\nthe console ended in:\n    {tail}\n"
            f"QEMU said: {self.complaints()}\n"
            f"machine: {shlex.join(self.config.command(self.guest))}"
        )

    def expect(self, pattern: str, limit_s: float | None = None) -> re.Match[str]:
        """Wait until the console shows the pattern, after what was seen before.

        A pattern is a regular expression. Its match is seen with all before it. The console comes
        in pieces, so a pattern that ends in a number must have what follows it, too.
        """
        limit_s = self.limit_s if limit_s is None else limit_s
        deadline = time.monotonic() + limit_s
        compiled = re.compile(pattern, re.MULTILINE)
        more = True
        while True:
            match = compiled.search(self.console, self.seen)
            if match:
                self.seen = match.end()
                return match
            if not more:
                self.status = self._ended()
                raise self.fail(f"{pattern!r}, but the machine ended with status {self.status}")
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise self.fail(f"{pattern!r} within {limit_s:g} s")
            more = self._read(left_s)

    def send(self, text: str) -> None:
        """Type text at the console."""
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def wait_prompt(self) -> None:
        """Wait until the shell is ready for a command."""
        self.expect(PROMPT)

    def run(self, command: str, limit_s: float | None = None) -> Output:
        """Run a command at the prompt, wait for its end and the next prompt."""
        self.commands += 1
        mark = f"@{self.commands}"
        start = self.seen
        self.send(f"{command}; echo {mark} $?\n")
        match = self.expect(rf"^(.*){mark} (\d+)\n", limit_s)
        echoed = self.console.rfind(f"{mark} $?", start, match.start())
        first = self.console.find("\n", echoed) + 1
        self.wait_prompt()
        return Output(int(match[2]), self.console[first : match.start()] + match[1])

    def check(self, command: str, limit_s: float | None = None) -> str:
        """Run a command that must succeed. Returns its output."""
        output = self.run(command, limit_s)
        if output.status != 0:
            raise self.fail(f"{command!r} to succeed; its status was {output.status}")
        return output.text

    def wait(self, limit_s: float | None = None) -> Result:
        """Wait until the machine has switched itself off. Raises DiskChanged if that was well and
        anything but the machine wrote to its disks."""
        limit_s = self.limit_s if limit_s is None else limit_s
        deadline = time.monotonic() + limit_s
        while self._read(deadline - time.monotonic()):
            if time.monotonic() >= deadline:
                raise self.fail(f"power-off within {limit_s:g} s")
        if self.process.wait() == 0 and self.guest:
            self.guest.verify()
        self.status = self._ended()
        return Result(self.status, self.console)

    def power_off(self) -> Result:
        """Switch it off as a user does."""
        self.send("poweroff\n")
        return self.wait()


def run_rc(config: Config, limit_s: float = HANG_S) -> Result:
    """Boot an image that has an /rc, and wait for the power-off that ends it."""
    with Machine(config, limit_s) as machine:
        return machine.wait()
