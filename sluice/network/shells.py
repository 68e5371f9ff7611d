r"""A shell on each of two machines, in live mode, in one terminal.

The terminal shows one machine. ^] goes to the other one, which then shows what it has printed
meanwhile; ^\ ends both. All other keys, ^C too, go to the shell that is shown. The session ends
when both machines are off.
"""

import os
import selectors
import signal
import subprocess
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sluice.network.host import ADDRESS, Bridge, Forward, host_network
from sluice.network.wiring import host_address, join_machines
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, start

SWITCH, END = b"\x1d", b"\x1c"  # ^] and ^\
CHUNK = 1 << 16  # bytes that are read together
AGAIN_S = 0.05  # until keys are typed again to a machine that took no more
MOST_KEPT = 1 << 16  # bytes of a machine that is not shown
ENDS = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Session:
    """The settings with which two machines boot. forwards: ports of the host, if it is on the
    network."""

    args: tuple[str, ...]
    memory: str = "128M"
    disk_mib: int = 64
    pcap: Path | None = None
    with_host: bool = False
    forwards: tuple[Forward, ...] = ()


@dataclass
class Shell:
    """One machine. kept: output that is not shown yet; typed: input that it has not taken yet."""

    number: int
    process: subprocess.Popen[bytes]
    kept: bytearray = field(default_factory=bytearray)
    typed: bytearray = field(default_factory=bytearray)
    over: bool = False

    @property
    def screen(self) -> int:
        """The descriptor from which one reads what the machine prints."""
        assert self.process.stdout
        return self.process.stdout.fileno()

    @property
    def keys(self) -> int:
        """The descriptor to which one writes what the machine shall take as typed."""
        assert self.process.stdin
        return self.process.stdin.fileno()

    def kill(self) -> None:
        """End the machine at once. A second call does nothing."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def push_keys(self) -> None:
        """Type as much as the machine takes now."""
        try:
            while self.typed:
                del self.typed[: os.write(self.keys, self.typed[:CHUNK])]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.typed.clear()


class Terminal:
    """The two shells in one terminal."""

    def __init__(self, shells: list[Shell]) -> None:
        self.shells = shells
        self.front = shells[0]

    def show(self, data: bytes) -> None:
        """Print bytes as they are."""
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def tell(self, text: str) -> None:
        """Print a line of our own. The terminal may be raw."""
        self.show(f"\r\n[{text}]\r\n".encode())

    def go_to(self, shell: Shell) -> None:
        """Show a machine, and what it has printed meanwhile."""
        self.front = shell
        self.tell(f"machine {shell.number}, {host_address(shell.number)}")
        self.show(bytes(shell.kept))
        shell.kept.clear()

    def find_others(self) -> list[Shell]:
        """Return the machines that are on and not shown."""
        return [shell for shell in self.shells if shell is not self.front and not shell.over]

    def read_output(self, shell: Shell, file: int) -> bool:
        """Read what a machine prints. Returns whether it goes on."""
        data = os.read(file, CHUNK)
        if data and shell is self.front:
            self.show(data)
        elif data:
            shell.kept += data
            del shell.kept[:-MOST_KEPT]
        else:
            shell.over = True
            self.tell(f"machine {shell.number} is off")
            if shell is self.front and self.find_others():
                self.go_to(self.find_others()[0])
        return not shell.over

    def read_keys(self, file: int) -> bool:
        """Read what is typed. Returns whether the session goes on."""
        data = os.read(file, CHUNK)
        for key in (data[i : i + 1] for i in range(len(data))):
            if key == END:
                return False
            if key != SWITCH:
                self.front.typed += key
                continue
            self.front.push_keys()
            if self.find_others():
                self.go_to(self.find_others()[0])
            else:
                self.tell("the other machine is off")
        self.front.push_keys()
        return data != b""


@contextmanager
def raw_terminal() -> Iterator[None]:
    """Have the terminal hand on every key at once, for the time of the context. Input that is no
    terminal stays as it is."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


@contextmanager
def end_by_signals() -> Iterator[None]:
    """Have signals that end a program end the session as ^C does, so that the terminal is whole
    again."""

    def stop(number: int, frame: object) -> None:
        """End the session as ^C does."""
        raise KeyboardInterrupt

    before = [signal.signal(number, stop) for number in ENDS]
    try:
        yield
    finally:
        for number, handler in zip(ENDS, before, strict=True):
            signal.signal(number, handler)


def build_config(session: Session, number: int, options: tuple[str, ...], folder: Path) -> Config:
    """Return a machine, the first of which is 1; its root disk is made in the folder."""
    content = Content(size=f"{session.disk_mib}M")
    disk = image.make_image(folder / f"{number}.img", content)
    args = session.args[number - 1]
    return Config((Disk(disk),), memory=session.memory, args=args, options=options)


def start_shells(
    session: Session, folder: Path, opened: ExitStack
) -> tuple[list[Shell], Bridge | None]:
    """Return both machines, started, which `opened` ends; and the bridge to the host, if any."""
    shells: list[Shell] = []
    bridge = opened.enter_context(host_network(session.forwards)) if session.with_host else None
    host = (bridge.options, bridge.inherited) if bridge else ((), ())
    with join_machines(2, session.pcap, *host) as plugs:
        for number, plug in enumerate(plugs, 1):
            config = build_config(session, number, plug.options, folder)
            process: subprocess.Popen[bytes] = start(
                config,
                files=plug.files,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            shells.append(Shell(number, process))
            opened.callback(shells[-1].kill)
            os.set_blocking(shells[-1].keys, False)
    return shells, bridge


def converse(terminal: Terminal, bridge: Bridge | None) -> bool:
    """Hand on keys, output and frames until both machines are off. Returns False if they are to be
    ended before."""
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin.fileno(), selectors.EVENT_READ, terminal.read_keys)
        for shell in terminal.shells:
            show = partial(terminal.read_output, shell)
            selector.register(shell.screen, selectors.EVENT_READ, show)
        if bridge:
            for file in bridge.files():
                selector.register(file, selectors.EVENT_READ, bridge.move)
        while not all(shell.over for shell in terminal.shells):
            for shell in terminal.shells:
                shell.push_keys()
            waiting = any(shell.typed for shell in terminal.shells)
            for key, _ in selector.select(AGAIN_S if waiting else None):
                if key.data(key.fd):
                    continue
                if key.fd == sys.stdin.fileno():
                    return False
                selector.unregister(key.fd)
    return True


def run_shells(session: Session, folder: Path) -> int:
    """Run two machines with a shell on each until both are off. folder: for the disks. Returns the
    status of the first machine that failed, or else 0."""
    with ExitStack() as opened:
        opened.enter_context(end_by_signals())
        shells, bridge = start_shells(session, folder, opened)
        terminal = Terminal(shells)
        opened.enter_context(raw_terminal())
        here = f"; the host is {ADDRESS}" if bridge else ""
        terminal.tell(f"^] goes to the other machine, ^\\ ends both{here}")
        terminal.go_to(shells[0])
        if not converse(terminal, bridge):
            terminal.tell("both machines were stopped")
            return 0
        statuses = [shell.process.wait() for shell in shells]
        return next((status for status in statuses if status), 0)
