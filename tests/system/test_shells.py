"""`sluice network shells`: two shells on one network in one terminal, with the host if it is asked
for, and nothing left afterwards.

The command runs in a pseudo terminal. One machine's console is shown at a time; a key switches to
the other one. On the network, machine 1 is 10.0.0.1, machine 2 is 10.0.0.2, the host 10.0.0.100.
"""

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.network import host
from sluice.network.capture import describe_frame, read_packets

PROMPT = r"sluice:\S*\$ $"
SWITCH, END = "\x1d", "\x1c"  # keys of the command: the other machine; the end
PINGS = 20
ECHO_PORT = 7  # of RFC 862
# A program that runs the command, with files in a folder of the test's.
RUN = """
import sys
from pathlib import Path
from sluice.cli.verbs.network import read_forwards, shells
from sluice.host.interrupt import run_interruptible
folder, forwards, pcap = Path(sys.argv[1]), sys.argv[2].split(), sys.argv[3]
import sluice.host.paths as paths
paths.BUILD = folder
sys.exit(run_interruptible(lambda: shells(
    with_host=bool(forwards), forward=read_forwards(forwards),
    pcap=folder / pcap if pcap else None), "the machines were stopped"))
"""


class Session:
    """The command in a terminal of its own."""

    def __init__(self, folder: Path, forwards: str = "", pcap: str = "") -> None:
        self.folder = folder
        self.terminal, theirs = pty.openpty()
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(folder), forwards, pcap],
            cwd=ROOT,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        self.text, self.seen = "", 0

    def expect(self, pattern: str) -> str:
        """Wait until the terminal shows a pattern, after what was seen before. Return the text
        that has it.
        """
        deadline = time.monotonic() + HANG_S
        while True:
            if found := re.compile(pattern).search(self.text, self.seen):
                self.seen = found.end()
                return found[0]
            left_s = deadline - time.monotonic()
            assert left_s > 0, f"{pattern!r} did not come: {self.text}"
            if select.select([self.terminal], [], [], left_s)[0]:
                self.text += os.read(self.terminal, 1 << 16).decode().replace("\r", "")

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self.terminal, keys.encode())

    def do(self, command: str, pattern: str) -> None:
        """Type a command, and wait for a pattern and the prompt."""
        self.type(command + "\n")
        self.expect(re.escape(command))
        self.expect(pattern)
        self.expect(PROMPT)

    def ping(self, host: str) -> None:
        """Ping a host until it answers: if this computer is busy, an answer may come later than
        the second that ping waits for it.
        """
        answered = ""
        for _ in range(PINGS):
            self.type(f"ping -c 1 {host}\n")
            answered = self.expect(r"\d of 1 answered")
            self.expect(PROMPT)
            if answered.startswith("1"):
                return
        raise AssertionError(f"{host}: {answered}")

    def end(self) -> int:
        """Wait for the command's end. Returns its status; nothing of it is left."""
        status = self.process.wait(HANG_S)
        assert termios.tcgetattr(self.theirs) == self.before
        assert machines(self.process.pid) == []
        assert list((self.folder / "network").iterdir()) == []
        return status


def machines(parent: int) -> list[str]:
    """Return the command lines of the processes, the QEMUs, that this process has started."""
    line = ["ps", "-o", "args=", "--ppid", str(parent)]
    shown = subprocess.run(line, capture_output=True, text=True, check=False).stdout
    return shown.splitlines()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """Return a session with two prompts."""
    yield from open_session(tmp_path)


def open_session(folder: Path, forwards: str = "", pcap: str = "") -> Iterator[Session]:
    """Yield a session, which is killed at the end."""
    opened = Session(folder, forwards, pcap)
    try:
        opened.expect("machine 1, 10.0.0.1")
        opened.expect(PROMPT)
        yield opened
    finally:
        opened.process.kill()
        opened.process.wait()
        os.close(opened.terminal)
        os.close(opened.theirs)


def test_two_shells_talk_and_what_came_meanwhile_is_shown(tmp_path: Path) -> None:
    """What machine 1 prints while machine 2 is shown appears after the switch back. When a machine
    is off, the other one is shown."""
    for session in open_session(tmp_path, pcap="live.pcap"):
        session.type("udpecho -l -c 1; echo served $?\n")
        session.expect(r"served \$\?\n")
        session.type(SWITCH)
        session.expect("machine 2, 10.0.0.2")
        session.expect(PROMPT)
        session.ping("10.0.0.1")
        session.do("udpecho 10.0.0.1 hello", "\nhello\n")
        session.type(SWITCH)
        session.expect("machine 1, 10.0.0.1")
        session.expect("served 0\n")
        session.type("poweroff\n")
        session.expect("machine 1 is off")
        session.expect("machine 2, 10.0.0.2")
        session.type("poweroff\n")
        session.expect("machine 2 is off")
        assert session.end() == 0
    told = [describe_frame(packet.data) for packet in read_packets(tmp_path / "live.pcap")]
    assert "ARP: who has 10.0.0.1? Tell 10.0.0.2" in told
    # A question without an answer is sent again after a second of this computer's time.
    questions = [text for text in told if f"> {ECHO_PORT}, 5 bytes" in text]
    answers = [text for text in told if f"UDP {ECHO_PORT} >" in text]
    assert questions
    assert len(answers) == 1


def test_one_key_ends_both(session: Session) -> None:
    assert len(machines(session.process.pid)) == 2
    session.type(END)
    session.expect("both machines were stopped")
    assert session.end() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_both_and_leaves_the_terminal_whole(session: Session, number: int) -> None:
    session.process.send_signal(number)
    session.expect("the machines were stopped")
    assert session.end() == 130


def test_ctrl_c_is_the_shells(session: Session) -> None:
    """^C ends the program that runs in the shell; the session goes on."""
    session.type("sleep 1000\n")
    session.expect("sleep 1000\n")
    session.type("\x03")
    session.expect(PROMPT)
    session.do("echo alive", "\nalive\n")


def test_a_killed_session_leaves_no_machine(session: Session) -> None:
    running = machines(session.process.pid)
    assert len(running) == 2
    session.process.kill()
    session.process.wait()
    line = ["pgrep", "-f", str(session.folder)]
    deadline = time.monotonic() + HANG_S
    while subprocess.run(line, capture_output=True, check=False).stdout:
        assert time.monotonic() < deadline, "a machine is left"


def test_the_host_is_on_the_network(tmp_path: Path) -> None:
    """A machine pings the host and sends a datagram to a program of the host. A program of the host
    sends a datagram to a port that is forwarded to machine 2."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
    ):
        server.bind(("127.0.0.1", 0))
        server.settimeout(HANG_S)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        for session in open_session(tmp_path, f"{port}:2:7"):
            session.ping("10.0.0.100")
            session.type(SWITCH)
            session.expect(PROMPT)
            session.type(f"udpecho -p {server.getsockname()[1]} 10.0.0.100 hello\n")
            data, address = server.recvfrom(100)
            server.sendto(data + b" back", address)
            session.expect("\nhello back\n")
            session.expect(PROMPT)
            session.ping("10.0.0.1")
            session.type("udpecho -l -c 1\n")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.settimeout(0.2)
                deadline, answer = time.monotonic() + HANG_S, b""
                while not answer and time.monotonic() < deadline:
                    client.sendto(b"from the host", ("127.0.0.1", port))
                    try:
                        answer = client.recv(100)
                    except TimeoutError:
                        continue
            assert answer == b"from the host"


def test_only_frames_for_the_host_pass_the_bridge() -> None:
    """Of five frames, two are for the host: one with its address, and a question to everyone (ARP)
    about 10.0.0.100."""
    arp = bytes.fromhex("0806") + bytes(24)
    ours = host.MAC + bytes(60)
    question = host.EVERYONE + bytes(6) + arp + bytes([10, 0, 0, 100])
    others = [
        bytes(64),  # to a machine
        host.EVERYONE + bytes(6) + arp + bytes([10, 0, 0, 1]),
        host.EVERYONE + bytes(58),
    ]
    with host.host_network(()) as bridge:
        # On the machines' side each frame comes after its length.
        sent = [*others, ours, question]
        wire = b"".join(len(frame).to_bytes(4, "big") + frame for frame in sent)
        with socket.socket(fileno=os.dup(bridge.inherited[0])) as machines:
            machines.sendall(wire)
        assert bridge.move(bridge.files()[0])
        with socket.socket(fileno=os.dup(bridge.inherited[1])) as side:
            passed = side.recv(1 << 16)
    assert passed == b"".join(len(f).to_bytes(4, "big") + f for f in (ours, question))
