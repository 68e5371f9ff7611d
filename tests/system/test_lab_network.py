"""`sluice network run`: machines in one virtual time, their consoles on one axis of time, and their
frames as a pcap capture.

Machine 1 has the address 10.0.0.1, machine 2 has 10.0.0.2, and so on. A machine's commands run at
its boot, and then it powers off. The kernels send `notes`, one for each frame, with the times when
the frame began and arrived; the host reads frames from these. The first machine is the hub: it
hands on the frames of all others, so it stays when its own commands are done.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from busy import busy_host

from sluice.cli import main, verb
from sluice.cli.verb import encode_values
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.network import virtual
from sluice.network.capture import BadCapture, describe_frame, read_packets, write_capture
from sluice.network.consoles import HUB, Line, Merger
from sluice.network.link_row import FOLDER, LinkRow, read_link_row
from sluice.network.notes import KIND_FRAME, NOTE, NOTE_TYPE, BadNotes, Frame, read_notes
from sluice.network.virtual import Link, NetworkDied, Plan, run_network
from sluice.network.wiring import Plug
from sluice.system.guest import Guest
from sluice.system.qemu import Config
from sluice.twin import engine

# The server answers two datagrams, and then pings the client with 8000 bytes, in six fragments. The
# client pings with 3000 bytes, in three fragments, and sends the two datagrams.
SERVER = "udpecho -l -c 2; ping -c 2 -s 8000 10.0.0.2"
CLIENT = "ping -c 2 -s 3000 10.0.0.1; udpecho 10.0.0.1 hello; udpecho 10.0.0.1 world; sleep 9"


def build_plan(*scripts: str, args: str = "drive=rz58", link: Link | None = None) -> Plan:
    """Return a plan for machines with these commands."""
    return Plan(scripts, (args,) * len(scripts), link or Link())


def run(folder: Path, plan: Plan) -> tuple[list[str], list[Frame], list[int]]:
    """Run a plan's machines in a new folder. Returns the lines of their consoles, their frames and
    their exit statuses."""
    folder.mkdir()
    lines: list[Line] = []
    statuses = run_network(plan, folder, lines.append, folder / "notes")
    assert lines == sorted(lines)
    return [str(line) for line in lines], read_notes(folder / "notes"), statuses


def test_both_consoles_are_on_one_axis_of_time(tmp_path: Path) -> None:
    """Machine 1 is the server, machine 2 the client. Both consoles' lines come in the order of
    their times."""
    lines, _, statuses = run(tmp_path / "run", build_plan(SERVER, CLIENT))
    assert statuses == [0, 0]
    words = [line.split(maxsplit=2) for line in lines]  # time, machine, text
    said = {number: [w[2] for w in words if w[1] == number] for number in ("1", "2")}
    assert [line.split(" from")[0] for line in said["1"][:2]] == ["8000 bytes", "8000 bytes"]
    assert said["1"][2:] == ["2 of 2 answered"]
    assert said["2"][2:] == ["2 of 2 answered", "hello", "world"]
    # The server's second command begins when it has answered, while the client sleeps.
    assert [w[1] for w in words] == ["2"] * 5 + ["1"] * 3


def test_times_are_the_machines_own(tmp_path: Path) -> None:
    """A line has the time of the machine that printed it. `uptime` prints this time, too, so both
    agree to a tenth of a second."""
    lines, _, _ = run(
        tmp_path / "run", build_plan("sleep 2; uptime", "uptime; sleep 1; uptime; sleep 2")
    )
    assert [line.split()[1] for line in lines] == ["2", "2", "1"]
    for line in lines:
        time, _, _, clock = line.split()
        assert 0 <= float(time) - float(clock.rpartition(":")[2]) < 0.1


def test_repeated_and_loaded_and_parallel_runs_are_the_same(tmp_path: Path) -> None:
    """A link that loses 10 % and delays 20 % of the frames, by a seed, loses the same ones in each
    run, also when the host is busy and runs two networks at once. Another seed loses other frames.
    """
    link = Link(loss_percent=10, late_percent=20, seed=3)
    plan = build_plan(SERVER + "; sleep 30", CLIENT, link=link)
    alone = run(tmp_path / "alone", plan)
    with busy_host(), ThreadPoolExecutor(2) as pool:
        others = list(pool.map(lambda i: run(tmp_path / f"{i}", plan), range(2)))
    assert others == [alone, alone]
    assert any("no reply" in line for line in alone[0])  # something was lost
    other = build_plan(SERVER + "; sleep 30", CLIENT, link=Link("ethernet10", 10, 20, 4))
    assert run(tmp_path / "seed", other)[1] != alone[1]


def test_another_qemu_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """QEMU_OTHER names that QEMU; tools/other_qemu.sh fetches one."""
    other = os.environ.get("QEMU_OTHER")
    if not other:
        pytest.skip("QEMU_OTHER= names no other QEMU (tools/other_qemu.sh fetches one)")
    plan = build_plan(SERVER + "; sleep 30", CLIENT, link=Link("ethernet10", 10, 20, 3))
    here = run(tmp_path / "here", plan)
    monkeypatch.setenv("QEMU", other)
    assert run(tmp_path / "there", plan) == here


# ---- in the twin ----


# A twin is the same kernel, compiled for the host, in the place of a machine in QEMU.


def as_twins(plan: Plan) -> Plan:
    """Return the plan with twins for machines. Skips the test where there is no twin."""
    if why := engine.host_refusal_reason():
        pytest.skip(why)
    return replace(plan, twin=engine.start_twin)


def fail_in_silence(numbers: list[int]) -> None:
    """Fail because machines print nothing."""
    raise AssertionError(f"machines {numbers} wait for ever")


@pytest.mark.parametrize("seed", [3, 4])
def test_two_twins_print_and_send_what_two_machines_do(tmp_path: Path, seed: int) -> None:
    """The link loses 10 % of the frames, and 20 % are late; the seed draws which."""
    plan = build_plan(SERVER + "; sleep 30", CLIENT, link=Link("ethernet10", 10, 20, seed))
    machines = run(tmp_path / "machines", plan)
    assert len(machines[1]) > 20
    assert run(tmp_path / "twins", as_twins(plan)) == machines


def test_four_twins_print_and_send_what_four_machines_do(tmp_path: Path) -> None:
    """The first machine hands on the frames that the others send to each other."""
    asks = "ping -c 2 -s 3000 10.0.0.2; ping -c 1 10.0.0.1; udpecho 10.0.0.3 hi"
    plan = build_plan("sleep 5", "sleep 5", "udpecho -l -c 1; ping -c 1 10.0.0.2; sleep 5", asks)
    machines = run(tmp_path / "machines", plan)
    assert {frame.machine for frame in machines[1]} == {1, 2, 3, 4}
    assert run(tmp_path / "twins", as_twins(plan)) == machines


HUB_LINE = f"1  {HUB}"  # what the first machine prints last: it stays as the hub


@pytest.mark.parametrize("twins", [False, True], ids=["machines", "twins"])
def test_machines_go_on_when_the_first_of_them_is_off(tmp_path: Path, twins: bool) -> None:
    """The first one's lines after its end hold back no line of the others."""
    asks = "sleep 3; ping -c 1 10.0.0.1; udpecho 10.0.0.2 hi"
    plan = build_plan("true", "udpecho -l -c 1", asks)
    lines: list[Line] = []
    notes = tmp_path / "notes"
    plan = as_twins(plan) if twins else plan
    assert run_network(plan, tmp_path, lines.append, notes, fail_in_silence) == [0, 0, 0]
    assert [str(line).split(maxsplit=1)[1] for line in lines] == [
        HUB_LINE,
        "3  ping: 10.0.0.1: host cannot be reached",
        "3  0 of 1 answered",
        "3  hi",
    ]
    assert {frame.machine for frame in read_notes(notes)} == {2, 3}


@pytest.mark.parametrize("twins", [False, True], ids=["machines", "twins"])
def test_a_first_machine_that_is_off_ends_when_the_others_are_quiet(
    tmp_path: Path, twins: bool
) -> None:
    """The others wait for frames for ever, so they end with status 102, which says so."""
    plan = build_plan("true", "udpecho -l", "udpecho -l", args="update=none")
    lines: list[Line] = []
    plan = as_twins(plan) if twins else plan
    assert run_network(plan, tmp_path, lines.append, None, fail_in_silence) == [0, 102, 102]
    assert [line.machine for line in lines] == [1, 2, 3]


def test_a_twin_and_a_machine_are_on_one_link(tmp_path: Path) -> None:
    """Machine 1 runs in QEMU, machine 2 is a twin. Their output and frames are those of two
    machines in QEMU."""
    plan = build_plan(SERVER + "; sleep 30", CLIENT, link=Link("ethernet10", 10, 20, 3))
    machines = run(tmp_path / "machines", plan)

    def start_mixed(config: Config, guest: Guest, plug: Plug, **how: Any) -> subprocess.Popen:
        begin = virtual.start_in_qemu if plug.twin[1].startswith("1:") else engine.start_twin
        return begin(config, guest, plug=plug, **how)

    assert run(tmp_path / "mixed", replace(as_twins(plan), twin=start_mixed)) == machines


def test_a_twin_that_does_not_boot_is_named(tmp_path: Path) -> None:
    plan = Plan(("sleep 5", "sleep 5"), ("", "drive=nothing"))
    with pytest.raises(NetworkDied, match="machine 2: boot: "):
        run(tmp_path / "run", as_twins(plan))


def test_the_command_has_twins_run_if_it_is_asked_to() -> None:
    """With --engine twin the command prints the same as without."""
    as_twins(build_plan())
    words = ("udpecho -l -c 1", "udpecho 10.0.0.1 hi; false")
    made = [command(*words, frames=True, **how) for how in ({}, {"engine": "twin"})]
    machines, twins = (process.communicate(timeout=HANG_S) for process in made)
    assert machines == twins
    assert "hi" in machines[0]


# ---- more than two machines, and how a network ends ----


def test_four_machines_are_on_one_link(tmp_path: Path) -> None:
    """The fourth machine pings the other three. A second run has the same lines and frames."""
    asks = "; ".join(f"ping -c 1 10.0.0.{n}" for n in (1, 2, 3))
    waits = "sleep 5"
    lines, frames, statuses = run(tmp_path / "run", build_plan(waits, waits, waits, asks))
    assert statuses == [0] * 4
    assert sum("1 of 1 answered" in line for line in lines) == 3
    assert {frame.machine for frame in frames} == {1, 2, 3, 4}
    assert run(tmp_path / "again", build_plan(waits, waits, waits, asks))[:2] == (lines, frames)


def test_a_machine_that_waits_for_frames_only_is_found_by_one_that_comes(tmp_path: Path) -> None:
    """The server has no timer: no daemon of its own wakes it."""
    plan = build_plan("udpecho -l -c 1", "sleep 100; udpecho 10.0.0.1 late", args="update=none")
    lines, _, statuses = run(tmp_path / "run", plan)
    assert statuses == [0, 0]
    assert [line.split()[1:] for line in lines] == [["2", "late"]]


def test_a_network_that_is_quiet_for_ever_ends_and_says_so(tmp_path: Path) -> None:
    """Both machines wait for a frame, or one of them is off and the other waits. With update=none
    no daemon has a timer that would wake a machine."""
    for number, scripts in enumerate((("udpecho -l", "udpecho -l"), ("udpecho -l", "sleep 3"))):
        plan = build_plan(*scripts, args="update=none")
        lines, _, statuses = run(tmp_path / f"{number}", plan)
        quiet = [line.split(maxsplit=1) for line in lines]  # time; machine and text
        text = "  link: all machines wait for frames, and none can send one"
        assert [one[1] for one in quiet] == [f"{n}{text}" for n in (1, 2)[: 2 - number]]
        assert len({one[0] for one in quiet}) == 1  # all machines print it at the same time
        assert statuses == [102, 102 if number == 0 else 0]


@pytest.mark.parametrize(
    ("scripts", "args", "message"),
    [
        (("true", "true"), "drive=nothing", r"machine [12]: boot: .*nothing"),
        (("true", "true"), "link_machines=3", r"machine [12]: boot: .*link_machines: given twice"),
    ],
)
def test_a_machine_that_does_not_boot_ends_the_run(
    tmp_path: Path, scripts: tuple[str, ...], args: str, message: str
) -> None:
    with pytest.raises(NetworkDied, match=message):
        run(tmp_path / "run", build_plan(*scripts, args=args))


def test_one_machine_that_does_not_boot_is_named(tmp_path: Path) -> None:
    plan = Plan(("sleep 5", "sleep 5"), ("", "drive=nothing"))
    with pytest.raises(NetworkDied, match="machine 2: boot: "):
        run(tmp_path / "run", plan)


def test_the_status_of_each_machine_is_that_of_its_commands(tmp_path: Path) -> None:
    assert run(tmp_path / "run", build_plan("exit 101", "false"))[2] == [101, 1]


# ---- the command ----


def command(*words: str, **how: Any) -> subprocess.Popen[str]:
    """Start the verb's function, as `sluice network run` does, with these options."""
    both: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    line = [sys.executable, "-m", "sluice.cli.work", "sluice.cli.verbs.network:run"]
    values = {"commands": words} | how
    return subprocess.Popen([*line, encode_values(values)], cwd=ROOT, **both)


def test_the_command_prints_lines_and_frames_and_writes_the_capture(tmp_path: Path) -> None:
    pcap = tmp_path / "a.pcap"
    process = command("udpecho -l -c 1", "udpecho 10.0.0.1 hi; false", frames=True, pcap=pcap)
    out, err = process.communicate(timeout=HANG_S)
    lines = [line.split(maxsplit=1)[1] for line in out.splitlines()]
    assert lines == [
        "2  -> ARP: who has 10.0.0.1? Tell 10.0.0.2",
        "1  -> ARP: 10.0.0.1 is at 52:54:00:00:00:01",
        "2  -> 10.0.0.2 > 10.0.0.1: UDP 49152 > 7, 2 bytes",
        "1  -> 10.0.0.1 > 10.0.0.2: UDP 7 > 49152, 2 bytes",
        "2  hi",
    ]
    assert (process.returncode, err) == (1, "machine 2 ended with status 1\n")
    assert len(list(read_packets(pcap))) == 4


def test_an_interrupt_ends_all_machines_and_shows_what_they_printed() -> None:
    """^C comes when machine 1 has printed its first line; both machines would go on for ever."""
    process = command("echo here; udpecho -l", "sleep 1; udpecho 10.0.0.1 hi; udpecho -l")
    assert process.stdout and process.stdout.readline().endswith("1  here\n")
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(children) == 2
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err) == (130, "\nstopped: the machines were stopped\n")
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]


def test_a_server_that_listens_for_ever_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no machine prints a line for SILENCE_S, run_network calls the function that it was given
    with the numbers of the machines that still run."""
    monkeypatch.setattr(virtual, "SILENCE_S", 1)

    class Silent(Exception):
        pass

    def stop(numbers: list[int]) -> None:
        raise Silent(numbers)

    with pytest.raises(Silent, match=r"\[1\]"):
        run_network(build_plan("udpecho -l", "true"), tmp_path, lambda line: None, None, stop)


@pytest.fixture
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a command line that is not refused do nothing."""
    monkeypatch.setattr(verb, "start", lambda *_: 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["true"], "commands for 1 machines: a link has 2 to 4"),
        (["true"] * 5, "commands for 5 machines: a link has 2 to 4"),
        (["@none", "true"], "@none: the file cannot be read: No such file or directory"),
        (["true", "true", "--link", "ether"], "ether: there is no such link"),
        (["usertests", "true", "--engine", "twin"], "--engine: the twin cannot make this run"),
        (["true", "true", "--loss", "101"], "'--loss': Input should be less than or equal to 100"),
        (["true"] * 3 + ["--args", "a=1", "--args", "b=1"], "given 2 times for 3 machines"),
        (["true", "true", "--pcap", "/dev/null/a"], "--pcap=/dev/null/a: nothing can be written"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], nothing_starts: None
) -> None:
    with pytest.raises(SystemExit) as end:
        main.command()(["network", "run", *words], prog_name="sluice")
    assert end.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("word", ["7", "7:3:7", "7:0:7", "0:1:7", "7:1:65536", "a:1:7"])
def test_a_bad_port_of_the_host_is_refused(
    word: str, capsys: pytest.CaptureFixture[str], nothing_starts: None
) -> None:
    with pytest.raises(SystemExit) as end:
        main.command()(["network", "shells", "--forward", word], prog_name="sluice")
    assert end.value.code == 2
    assert f"{word}: must be PORT:MACHINE:PORT, as 7007:1:7" in capsys.readouterr().err


# ---- frames ----


def test_every_frame_is_in_the_capture_with_its_virtual_time(tmp_path: Path) -> None:
    """Two machines ping each other; the capture has the very frames that were sent, with their
    times, and their number is that of the fragments."""
    plan = build_plan(SERVER, CLIENT)
    lines, frames, _ = run(tmp_path / "run", plan)
    write_capture(tmp_path / "a.pcap", frames)
    packets = list(read_packets(tmp_path / "a.pcap"))
    assert [(p.time_ns, p.data) for p in packets] == [(f.begin_ns, f.data) for f in frames]
    told = [describe_frame(packet.data) for packet in packets]
    assert told[0] == "ARP: who has 10.0.0.1? Tell 10.0.0.2"
    assert told[1] == "ARP: 10.0.0.1 is at 52:54:00:00:00:01"
    # Two pings in three fragments and two in six; each of the four is answered by as many.
    assert sum("fragment" in text for text in told) == 2 * 2 * 3 + 2 * 2 * 6
    assert next(t for t in told if "UDP" in t).endswith("> 7, 5 bytes")
    # A reply's last fragment arrives before the program prints it.
    first = next(frame for frame in frames if frame.machine == 1 and b"\x00\x01" in frame.data)
    printed = next(line for line in lines if "number 0" in line)
    assert first.arrival_ns < float(printed.split()[0]) * 1e9 + 1000


def test_the_identifications_of_cut_datagrams_are_never_used_twice(tmp_path: Path) -> None:
    """The receiver joins fragments by their identification and addresses. If a sender used an
    identification twice, fragments of two datagrams could be joined."""
    _, frames, _ = run(tmp_path / "run", build_plan(SERVER, CLIENT))
    packets = [f.data for f in frames if f.data[12:14] == b"\x08\x00"]  # of IP
    cut = [data for data in packets if data[20:22] != b"\x40\x00"]  # not "don't fragment"
    firsts = [data for data in cut if not data[21] and not data[20] & 0x1F]  # offset 0
    keys = [data[18:20] + data[26:34] for data in firsts]  # identification and both addresses
    assert len(keys) == 8  # four pings and four answers
    assert len(set(keys)) == len(keys)


def test_tshark_decodes_a_capture_without_a_complaint(tmp_path: Path) -> None:
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    _, frames, _ = run(tmp_path / "run", build_plan(SERVER, CLIENT))
    write_capture(tmp_path / "a.pcap", frames)
    options = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    line = ["tshark", "-r", str(tmp_path / "a.pcap"), *options, "-T", "json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    packets = [packet["_source"]["layers"] for packet in json.loads(done.stdout)]
    assert len(packets) == len(frames)
    assert "_ws.malformed" not in done.stdout and "_ws.expert" not in done.stdout
    assert sum("icmp" in packet for packet in packets) == 8  # four pings and four answers
    times = [float(packet["frame"]["frame.time_relative"]) for packet in packets]
    assert times == [(f.begin_ns - frames[0].begin_ns) / 1e9 for f in frames]


# ---- notes, captures and lines, without a machine ----


def note(begin_ns: int, kind: int = KIND_FRAME, machine: int = 0, size: int = 4) -> Frame:
    """Return the frame that carries this note. The frame's own time, 0, is not the note's."""
    head = bytearray(NOTE.pack(machine, kind, 1, size, begin_ns, begin_ns + 9))
    head[12:14] = NOTE_TYPE.to_bytes(2, "big")
    return Frame(0, 1, 0, bytes(head) + b"data")


def test_frames_are_in_order_whatever_the_order_of_their_notes(tmp_path: Path) -> None:
    """Frames are sorted by the time when they began, then by machine. A note of another kind is no
    frame. The notes' machines count from 0, the frames' from 1."""
    notes = [note(7), note(9, kind=2), note(5, machine=1), note(5)]
    write_capture(tmp_path / "notes", notes)
    frames = read_notes(tmp_path / "notes")
    assert [(f.begin_ns, f.machine, f.arrival_ns) for f in frames] == [
        (5, 1, 14),
        (5, 2, 14),
        (7, 1, 16),
    ]
    assert {frame.data for frame in frames} == {b"data"}


def test_damaged_notes_and_captures_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    write_capture(path, [Frame(0, 1, 0, b"x" * 60)])
    with pytest.raises(BadNotes, match="a frame of 60 bytes that is no note: 7878"):
        read_notes(path)
    write_capture(path, [note(1, size=5)])
    with pytest.raises(BadNotes, match="no room for a frame of 5"):
        read_notes(path)
    path.write_bytes(b"no capture, but long enough to be one")
    with pytest.raises(BadCapture, match="is no pcap file: it begins with 6e6f2063"):
        read_notes(path)


def test_lines_wait_for_the_lines_before_them() -> None:
    """A line is shown when no machine can still print an earlier one. Output comes in pieces that
    may end within a line; the empty piece is the end of a machine's output."""
    merger = Merger(2)

    def texts(machine: int, data: bytes) -> list[str]:
        return [line.text for line in merger.feed(machine, data)]

    assert texts(1, b"[5] a\r\n[9] b\r\n[1") == []
    assert texts(2, b"[7] x\n[9] y\n") == ["a", "x", "b"]  # machine 1 may print another at 9
    assert texts(1, b"2") == []
    assert texts(1, b"] c\n") == ["y"]
    assert texts(1, b"") == []
    assert texts(2, b"[30] en") == []
    assert texts(2, b"d\n") == ["c", "end"]


def test_a_machine_that_stays_as_the_hub_holds_back_no_line() -> None:
    """The hub prints nothing more, so the lines of others need not wait for its next line."""
    merger = Merger(2)
    assert merger.feed(2, b"[7] x\n") == []
    hub = merger.feed(1, f"[3] {HUB}\n".encode())
    assert [line.text for line in hub] == [HUB, "x"]
    assert [line.text for line in merger.feed(2, b"[9] y\n")] == ["y"]
    assert merger.feed(1, b"") == []


def test_the_book_has_the_rows_of_the_links() -> None:
    """The book's table of links has a column for each link and the figures of its file."""
    page = (ROOT / "book/pages/inside/network.md").read_text()
    names = re.findall(r"`(\w+)`", re.findall(r"^\| figure .*", page, re.M)[0])
    assert names == sorted(path.stem for path in FOLDER.glob("*.c") if path.stem != "link")
    said = re.findall(r"^\| `(\w+)` \|" + r" ([\d,]+) \|" * len(names), page, re.M)
    for place, name in enumerate(names, 1):
        row = {words[0]: int(words[place].replace(",", "")) for words in said}
        assert LinkRow(**row) == read_link_row(name)
