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
from typing import IO, Any

from sluice.host.closing import Closing
from sluice.host.limits import HANG_S
from sluice.host.paths import KERNEL
from sluice.host.quoting import quote_qemu
from sluice.system import processors
from sluice.system.guest import MOST_DISKS, MOVES_KEPT, Guest

PROMPT = r"^sluice:\S*\$ "
PR_SET_PDEATHSIG = 1
LAB_SHIFT = 5  # 2^5 ns an instruction: about a workstation of 1990
CPU = "rv64,sstc=true"
# QEMU looks at each jump whether a hypervisor's guest runs, unless there can be none. Counted time
# keeps the CPU with which its stored results were made.
CHARGED_CPU = f"{CPU},h=false"
LIBC = ctypes.CDLL(None)
UTF_8 = codecs.getincrementaldecoder("utf-8")


@dataclass(frozen=True)
class Disk:
    """A disk of a machine: an image, or any value of QEMU's -drive for it."""

    image: Path | None = None
    drive: str = ""  # if set, replaces the file= part, e.g. driver=blkdebug,...
    cache: str = "unsafe"  # QEMU's cache mode
    device: str = ""  # further properties of the virtio device

    def needs_device(self) -> bool:
        """Return whether the disk needs QEMU's device, because it is more than an image."""
        return not self.image or bool(self.drive or self.device)

    def options(self, unit: int) -> list[str]:
        """Return QEMU's options for this disk in the given slot."""
        drive = self.drive
        if not drive:
            assert self.image, "a disk has an image or a drive"
            drive = f"file={quote_qemu(self.image)},format=raw"
        device = f",{self.device}" if self.device else ""
        return [
            "-drive",
            # A full host disk is the kernel's error; QEMU's default stops the machine silently.
            f"{drive},if=none,id=x{unit},cache={self.cache},werror=report",
            "-device",
            f"virtio-blk-device,drive=x{unit},bus=virtio-mmio-bus.{unit}{device}",
        ]


def program() -> str:
    """Return the name or path of QEMU, which the environment may choose."""
    return os.environ.get("QEMU", "qemu-system-riscv64")


@dataclass(frozen=True)
class Config:
    """The machine to start. memory: as QEMU writes it; args: the boot arguments, as one text."""

    disks: tuple[Disk, ...]
    harts: int = 1
    memory: str = "128M"
    args: str = ""
    kernel: Path = KERNEL
    options: tuple[str, ...] = ()  # further ones of QEMU
    lab: bool = False  # virtual time: what is computed and drive models make the clock
    # The other options apply in virtual time only.
    charged: bool = False  # computing costs what a table says; if false, instructions are counted
    cpu_shift: int = LAB_SHIFT  # an instruction takes 2^this ns
    rr: tuple[str, Path] | None = None  # QEMU's "record" or "replay", and the file of the record

    def ram_disks(self) -> tuple[Path, ...]:
        """Return the images of the disks if they can be RAM disks, or else ().

        They can be in virtual time, if no disk needs QEMU's device and all fit into memory.
        """
        if not self.lab or any(disk.needs_device() for disk in self.disks):
            return ()
        images = tuple(disk.image for disk in self.disks if disk.image)
        size = sum(image.stat().st_size for image in images)
        return images if size <= MOST_DISKS else ()

    def guest(
        self, log: int = MOVES_KEPT, kept: Path | None = None, console: bool = False
    ) -> Guest:
        """Return memory for one run of this machine. guest.py describes the arguments."""
        return Guest(self.memory, self.ram_disks(), log, kept, console)

    def charged_arguments(self) -> str:
        """Return the boot arguments of this machine with charged time."""
        return f"{self.args} charged_ns={1 << self.cpu_shift}".strip()

    def boot_arguments(self) -> str:
        """Return the boot arguments, except those about the disks."""
        return self.charged_arguments() if self.lab and self.charged else self.args

    def icount_suffix(self) -> str:
        """Return the end of the option -icount that records or replays the run."""
        if not self.rr:
            return ""
        mode, file = self.rr
        return f",rr={mode},rrfile={quote_qemu(file)}"

    def command(self, guest: Guest | None = None) -> list[str]:
        """Return the command line that starts it; guest is its memory, if that is a file."""
        line = [program(), "-machine", "virt"]
        cpu = CHARGED_CPU if self.lab and self.charged else CPU
        line += ["-cpu", cpu, "-bios", "none", "-kernel", str(self.kernel)]
        line += ["-smp", str(self.harts)]
        line += guest.options() if guest else ["-m", self.memory]
        line += ["-display", "none", "-monitor", "none", "-serial", "stdio"]
        line += ["-global", "virtio-mmio.force-legacy=false"]
        told = guest.argument() if guest else ""
        for unit, disk in enumerate(() if told else self.disks):
            line += disk.options(unit)
        if self.boot_arguments() or told:
            line += ["-append", f"{self.boot_arguments()} {told}".strip()]
        if self.lab and (self.rr or not self.charged):
            line += ["-icount", f"shift={self.cpu_shift},sleep=off{self.icount_suffix()}"]
            line += ["-rtc", "base=2026-01-01,clock=vm"]
        return line + list(self.options)


@dataclass(frozen=True)
class Result:
    """A machine that has ended: QEMU's exit status and the whole console."""

    status: int
    console: str


@dataclass(frozen=True)
class Output:
    """A shell command that has ended: its exit status and its output."""

    status: int
    text: str


class ConsoleError(AssertionError):
    """The error for a console that did not show what was expected in time."""


@dataclass
class Parent:
    """The process whose fork made this one; this process itself until it forks."""

    pid: int

    def remember(self) -> None:
        """Note this process: its next child has it as its parent."""
        self.pid = os.getpid()


PARENT = Parent(os.getppid())
os.register_at_fork(before=PARENT.remember)


def die_with_parent() -> None:
    """Have the kernel kill this child, before exec, when the parent thread ends. If the parent has
    ended since the fork, the child ends at once."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != PARENT.pid:
        os._exit(1)


def start(
    config: Config,
    guest: Guest | None = None,
    in_child: Callable[[], None] = die_with_parent,
    files: tuple[int, ...] = (),
    **how: Any,
) -> subprocess.Popen[Any]:
    """Start QEMU as a child. Returns the process. In virtual time it runs on its own processor.
    files: further ones that it inherits; how: goes to Popen."""
    if not config.lab:
        real: subprocess.Popen[Any] = subprocess.Popen(
            config.command(guest), preexec_fn=in_child, pass_fds=files, **how
        )
        return real
    own, lock = processors.claim_processor()

    def prepare_child() -> None:
        """Prepare the child, before exec."""
        in_child()
        processors.bind_to_processors(own)

    try:
        keeps = [*files, *([lock.fileno()] if lock else [])]
        virtual: subprocess.Popen[Any] = subprocess.Popen(
            config.command(guest), preexec_fn=prepare_child, pass_fds=keeps, **how
        )
        return virtual
    finally:
        if lock:
            lock.close()


@dataclass
class Machine(Closing):
    """A running machine; a context manager that ends it.

    In virtual time its memory is a file, `guest`. After its end, however that came, its disks'
    images are as it left the disks.
    """

    config: Config
    limit_s: float = HANG_S  # of one wait, unless the call says otherwise
    log: int = MOVES_KEPT  # how many moves of RAM disks are kept
    console: str = field(default="", init=False)  # everything, without \r
    seen: int = field(default=0, init=False)  # how much of the console expect() has passed
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
        os.set_blocking(self.screen.fileno(), False)
        return self

    @property
    def keys(self) -> IO[bytes]:
        """The end of the console at which one types."""
        assert self.process.stdin
        return self.process.stdin

    @property
    def screen(self) -> IO[bytes]:
        """The end of the console that shows what the machine prints."""
        assert self.process.stdout
        return self.process.stdout

    def close(self) -> None:
        """End the machine at once, and release its memory."""
        self.kill()
        if self.guest:
            self.guest.close()

    def kill(self) -> None:
        """End the machine at once. A second call does nothing."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self._wait_for_exit()
        self._read_console(0)

    def _wait_for_exit(self) -> int:
        """Wait for QEMU's end, and write the RAM disks back to their images. Returns the status."""
        status = self.process.wait()
        if self.guest:
            self.guest.save()
        return status

    def _read_console(self, wait_s: float) -> bool:
        """Read what the console has, waiting up to wait_s for it. Returns False at the console's
        end."""
        if not select.select([self.screen], [], [], max(wait_s, 0))[0]:
            return True
        data = self.screen.read(1 << 20)
        self.console += self.decoder.decode(data or b"", data == b"").replace("\r", "")
        return data != b""

    def stderr_text(self) -> str:
        """Return QEMU's standard error, which is no part of a run."""
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace").strip()

    def build_error(self, expected: str) -> ConsoleError:
        """Return an error that says what was expected and what the console showed."""
        tail = "\n    ".join(self.console.splitlines()[-40:])
        return ConsoleError(
            f"expected: {expected}\nthe console ended in:\n    {tail}\n"
            f"QEMU said: {self.stderr_text()}\n"
            f"machine: {shlex.join(self.config.command(self.guest))}"
        )

    def expect(self, pattern: str, limit_s: float | None = None) -> re.Match[str]:
        """Wait until the console shows the pattern, after the text that was seen before. Returns
        the match.

        A pattern is a regular expression. The match and all text before it count as seen. The
        console arrives in pieces, so a pattern that ends in a number must also match what follows
        the number. Raises ConsoleError.
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
                self.status = self._wait_for_exit()
                raise self.build_error(
                    f"{pattern!r}, but the machine ended with status {self.status}"
                )
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise self.build_error(f"{pattern!r} within {limit_s:g} s")
            more = self._read_console(left_s)

    def send(self, text: str) -> None:
        """Type text at the console."""
        self.keys.write(text.encode())
        self.keys.flush()

    def wait_prompt(self) -> None:
        """Wait until the shell is ready for a command."""
        self.expect(PROMPT)

    def run(self, command: str, limit_s: float | None = None) -> Output:
        """Run a command at the prompt; wait for its end and the next prompt. Returns its status and
        output."""
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
        """Run a command that must succeed. Returns its output. Raises ConsoleError if it fails."""
        output = self.run(command, limit_s)
        if output.status != 0:
            raise self.build_error(f"{command!r} to succeed; its status was {output.status}")
        return output.text

    def wait(self, limit_s: float | None = None) -> Result:
        """Wait until the machine has switched itself off. Returns its status and console.

        Raises DiskChanged if its status is 0 and anything but the machine wrote to its disks.
        """
        limit_s = self.limit_s if limit_s is None else limit_s
        deadline = time.monotonic() + limit_s
        while self._read_console(deadline - time.monotonic()):
            if time.monotonic() >= deadline:
                raise self.build_error(f"power-off within {limit_s:g} s")
        if self.process.wait() == 0 and self.guest:
            self.guest.verify()
        self.status = self._wait_for_exit()
        return Result(self.status, self.console)

    def power_off(self) -> Result:
        """Switch the machine off by the command poweroff. Returns its status and console."""
        self.send("poweroff\n")
        return self.wait()


def run_rc(config: Config, limit_s: float = HANG_S) -> Result:
    """Boot an image that has an /rc, and wait for the power-off that ends it. Returns the status
    and console."""
    with Machine(config, limit_s) as machine:
        return machine.wait()
