"""Two machines on one link, in one virtual time: what they say to each other, and that each run is
the same to the byte.

Machine 0 (10.0.0.1) listens on a socket, and machine 1 (10.0.0.2) connects to it. `run_pair` runs
both to their ends and returns what each printed.
"""

import re
import threading
import time
from pathlib import Path

import pytest

from book.ext.inventory import list_statistics
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.network.capture import ETHERNET_BYTES, read_packets
from sluice.system import image
from sluice.system.qemu import Config, Disk, Machine, Result

SERVER = """\
udpecho -l -c 1
ping -c 2 -s 8000 10.0.0.2
uptime
poweroff
"""
CLIENT = """\
ping -c 3 10.0.0.1
ping -c 1 -s 5000 10.0.0.1
udpecho 10.0.0.1 hello
sleep 10
grep net /dev/stat
uptime
poweroff
"""
COSTS = ROOT / "kernel" / "measure" / "network_costs.h"
INSTRUCTION_NS = 32  # the unit of the table of costs
ROOMS = ("kernel/link/", "kernel/net/")
PAGE = 4096
NOTE_ROUND, NOTE_END = 2, 3  # kinds of notes: enum of kernel/link/link.c
# Bytes for frames (256 of 2048 each way) and for datagrams (64 of 16384).
BUFFERS = 2 * 256 * 2048 + 64 * 16384
ALONE = "ping -c 1 10.0.0.1\nudpecho -l\npoweroff\n"


def build_machine(folder: Path, number: int, script: str, args: str = "") -> Machine:
    """Return a machine of the link, which has not been started. QEMU will keep all notes that it
    sends and gets."""
    disk = image.make_image(folder / f"{number}.img", image.Content(rc=script, size="16M"))
    role = "server=off" if number else "server=on"
    options = (
        "-netdev",
        f"stream,id=n,{role},addr.type=unix,addr.path={folder}/link",
        "-device",
        f"virtio-net-device,netdev=n,mac=52:54:00:00:00:{number + 1:02x},bus=virtio-mmio-bus.7",
        "-object",
        f"filter-dump,id=dump,netdev=n,file={folder}/{number}.notes",
    )
    words = f"link=ethernet10 link_machine={number} drive=rz58 {args}"
    config = Config((Disk(disk),), args=words, lab=True, charged=True, options=options)
    return Machine(config)


def wait_for_socket(path: Path) -> None:
    """Wait until the first QEMU listens."""
    deadline = time.monotonic() + HANG_S
    while not path.exists():
        assert time.monotonic() < deadline, f"QEMU does not listen at {path}"
        time.sleep(0.01)


def read_note(frame: bytes) -> tuple[int, int]:
    """Return the machine that sent a note of kernel/link/link.c, and the note's kind."""
    machine, kind = frame[ETHERNET_BYTES : ETHERNET_BYTES + 2]
    return machine, kind


def run_pair(folder: Path, scripts: tuple[str, str], args: str = "") -> list[Result]:
    """Run two machines to their ends. Returns what each left."""
    folder.mkdir()
    left: dict[int, Result] = {}
    machines = [build_machine(folder, i, script, args) for i, script in enumerate(scripts)]

    def wait(number: int, machine: Machine) -> None:
        left[number] = machine.wait()

    with machines[0] as first:
        wait_for_socket(folder / "link")
        with machines[1] as second:
            waits = [threading.Thread(target=wait, args=a) for a in enumerate((first, second))]
            for one in waits:
                one.start()
            for one in waits:
                one.join()
    assert sorted(left) == [0, 1], [machine.console for machine in machines]
    return [left[0], left[1]]


def test_two_machines_talk_and_each_run_is_the_same(tmp_path: Path) -> None:
    server, client = run_pair(tmp_path / "one", (SERVER, CLIENT))
    assert "2 of 2 answered" in server.console
    assert "3 of 3 answered" in client.console
    assert "1 of 1 answered" in client.console
    assert "\nhello\n" in client.console
    assert "net.damaged 0" in client.console
    assert run_pair(tmp_path / "other", (SERVER, CLIENT)) == [server, client]


def test_a_machine_whose_peer_is_off_sends_no_more_notes_than_its_last(tmp_path: Path) -> None:
    """Nobody takes a note that is sent to nobody, and some hundred would fill the host's socket.
    When the peer's last note comes, one of the same round may be under way, and QEMU may be off
    before it has sent the machine's own last one."""
    run_pair(tmp_path / "pair", ("sleep 60\npoweroff\n", "poweroff\n"))
    notes = [read_note(p.data) for p in read_packets(tmp_path / "pair" / "0.notes")]
    sent_then = notes[notes.index((1, NOTE_END)) + 1 :]
    last = [(0, NOTE_ROUND), (0, NOTE_END)]
    assert sent_then in ([], last[:1], last[1:], last)


def test_an_echo_takes_as_long_as_the_row_of_the_link_says(tmp_path: Path) -> None:
    """Each way takes, in ns, 100,000 in each of the two controllers; 800 for each of the 98 bytes
    of the frame and the 12 around it; 2,166 on the wire; and what a frame costs its receiver. The
    ping with number 2 is used, because no question about addresses precedes it."""
    _, client = run_pair(tmp_path / "pair", (SERVER, CLIENT))
    frame_ns = INSTRUCTION_NS * int(re.search(r"COST\(frame, (\d+)\)", COSTS.read_text())[1])
    one_way_us = (100000 + 100000 + (98 + 12) * 800 + 2166 + frame_ns) / 1000
    line = next(line for line in client.console.splitlines() if "number 2," in line)
    took_us = float(line.split()[-2]) * 1000
    assert 2 * one_way_us < took_us < 2 * one_way_us + 100  # 100 us for the programs


def test_lost_frames_are_counted_and_the_same_each_time(tmp_path: Path) -> None:
    scripts = ("sleep 30; poweroff\n", "ping -c 20 10.0.0.1; grep link.lost /dev/stat; poweroff\n")
    one = run_pair(tmp_path / "one", scripts, "link_loss_percent=20 link_seed=7")
    assert "no reply" in one[1].console
    assert " of 20 answered" in one[1].console and "20 of 20" not in one[1].console
    assert run_pair(tmp_path / "two", scripts, "link_loss_percent=20 link_seed=7") == one


@pytest.mark.parametrize(
    ("args", "lab", "message"),
    [
        ("link=ethernet10", True, "boot: a network in virtual time needs a link= and charged_ns="),
        ("", True, "boot: a network in virtual time needs a link= and charged_ns="),
        ("link=ethernet10", False, "boot: link=ethernet10: a link is for charged time (charged_ns"),
    ],
)
def test_a_link_without_charged_time_is_refused(
    tmp_path: Path, args: str, lab: bool, message: str
) -> None:
    """In counted time an interrupt of the device would take instructions at a time that depends on
    the host. Charged time does not count instructions."""
    disk = image.make_image(tmp_path / "disk.img", image.Content(rc=ALONE))
    options = ("-device", "virtio-net-device,bus=virtio-mmio-bus.7")
    with Machine(Config((Disk(disk),), args=args, lab=lab, options=options)) as machine:
        assert machine.wait().status == 100
    assert message in machine.console


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("link=ethernet10", "link=ethernet10: there is no network device"),
        ("net_address=10.0.0.1", "argument net_address: unknown"),
    ],
)
def test_a_network_that_is_not_there_is_refused(tmp_path: Path, args: str, message: str) -> None:
    disk = image.make_image(tmp_path / "disk.img", image.Content(rc=ALONE))
    with Machine(Config((Disk(disk),), args=args, lab=True, charged=True)) as machine:
        assert machine.wait().status != 0
    assert message in machine.console


def test_a_machine_without_a_device_has_no_sockets(tmp_path: Path) -> None:
    disk = image.make_image(tmp_path / "disk.img", image.Content(rc=ALONE))
    with Machine(Config((Disk(disk),), lab=True, charged=True)) as machine:
        assert machine.wait().status == 0
    assert "ping: the network: no such device" in machine.console
    assert "udpecho: port 7: no such device" in machine.console


def test_a_machine_without_a_device_has_no_trace_of_the_network(tmp_path: Path) -> None:
    """It has no row of the network in /dev/stat, and no memory for frames and datagrams."""
    disk = image.make_image(tmp_path / "disk.img", image.Content(rc="cat /dev/stat; poweroff\n"))

    def rows(*options: str) -> dict[str, int]:
        """Return the rows of /dev/stat in a machine with these options of QEMU."""
        with Machine(Config((Disk(disk),), options=options)) as machine:
            assert machine.wait().status == 0
        found = re.findall(r"^([a-z][\w.]+) (\d+) +\w+$", machine.console, re.M)
        return {name: int(value) for name, value in found}

    without, with_one = rows(), rows("-device", "virtio-net-device,bus=virtio-mmio-bus.7")
    ours = {row.name for row in list_statistics() if row.where.startswith(ROOMS)}
    assert ours >= {"net.received", "net.damaged", "link.rounds"}
    assert "mem.free" in without and not ours & set(without)
    assert {name for name in ours if name.startswith("net.")} == set(with_one) - set(without)
    assert without["mem.free"] - with_one["mem.free"] >= BUFFERS // PAGE
