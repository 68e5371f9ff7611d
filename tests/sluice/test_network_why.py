"""`sluice network run --why`: what a remote read of two machines of one's own waited for.

PLAN has three machines: machine 1 serves a file by NFS, machine 2 is idle, machine 3 reads the
file. `made` is the folder with their traces. An explanation has a line for each part of the read's
time, and sums by place: client, wire, server, server's disk.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from typed import enter

from sluice.debug.instant import BadInstant
from sluice.debug.network_why import explain_network_read
from sluice.network.virtual import Plan, run_network
from sluice.system import trace
from sluice.system.trace import BadTrace

pytestmark = pytest.mark.xdist_group("network why")  # they share a run

# The file is larger than the server's cache and its drive's, so the platter is read again.
SERVE = "mkdir /x; cat /bin/* > /x/a; sync; {nfsd} & "
USE = (
    "mkdir /mnt; mount -t nfs 10.0.0.1:/x /mnt; iogen rw=randread bs=4k nr=40 seed=1 numjobs=2 "
    "filename=/mnt/a > /dev/null; umount /mnt"
)
IDLE = "sleep 20"
PLAN = Plan(
    (SERVE.format(nfsd="nfsd /x") + IDLE, IDLE, f"sleep 9; {USE}; uptime; ping -c 1 10.0.0.1"),
    ("drive=rz58 nbuf=64 sched=sstf",) * 3,
    traced=True,
)


def run_plan(plan: Plan, folder: Path) -> list[str]:
    """Run the machines to their ends. Returns what they print."""
    folder.mkdir()
    lines: list[str] = []
    assert not any(run_network(plan, folder, lambda line: lines.append(str(line))))
    return lines


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return the folder of a run of PLAN, and what its machines print."""
    folder = tmp_path_factory.mktemp("network") / "run"
    return folder, run_plan(PLAN, folder)


@pytest.fixture
def made(shown: tuple[Path, list[str]]) -> Path:
    """Return the folder of the run of PLAN."""
    return shown[0]


def sums(said: str) -> tuple[int, int, dict[str, int]]:
    """Return the sum of the table's rows, the total that it gives, and the sums by place, in ns."""
    rows = [n.replace(",", "") for n in re.findall(r"^ +([\d.,]+) ms  ", said, re.M)]
    *parts, total = [int(n.replace(".", "")) for n in rows]
    last = said[said.index("By place") :].replace("\n", " ")
    places = re.findall(r"(client|wire|server|server's disk) ([\d.,]+) ms[,.]", last)
    return sum(parts), total, {p: int(re.sub(r"[.,]", "", n)) for p, n in places}


def test_the_slowest_read_names_the_wire_the_servers_drive_and_adds_up(made: Path) -> None:
    """The parts, and the sums by place, give the total."""
    said = explain_network_read(PLAN, made, "longest")
    parts, total, places = sums(said)
    assert parts == total == sum(places.values())
    assert said.startswith("machine 3\n")  # machine 2 has no part in it
    assert min(places[place] for place in ("client", "wire", "server")) > 0
    assert "wire: the reply crosses the wire, at its rate" in said


def test_some_read_waits_for_the_servers_drive_and_every_one_adds_up(made: Path) -> None:
    """Every seventh read is explained."""
    found = []
    with pytest.raises(BadInstant, match=r"has remote reads 1 to (\d+);") as refused:
        explain_network_read(PLAN, made, "9999")
    count = int(re.search(r"1 to (\d+);", str(refused.value))[1])  # type: ignore[index]
    for number in range(1, count + 1, 7):
        found.append(explain_network_read(PLAN, made, str(number)))
        parts, total, places = sums(found[-1])
        assert parts == total == sum(places.values()), number
    assert any("server's disk: rotation" in said for said in found)
    # Nobody waits for a process of the server while another one has no call yet.
    assert all(n == "4" for said in found for n in re.findall(r"all (\d+) processes", said))


def test_a_time_selects_a_read_that_waits_then(made: Path) -> None:
    """A time 1 ms after a read was queued."""
    said = explain_network_read(PLAN, made, "3")
    queued_ms = re.search(r"queued at ([\d,.]+) ms", said)
    assert queued_ms
    later_ms = float(queued_ms[1].replace(",", "")) + 1
    waits = explain_network_read(PLAN, made, f"{later_ms:.3f}ms")
    done_ms = re.search(r"done at ([\d,.]+) ms", waits)
    assert done_ms and float(done_ms[1].replace(",", "")) > later_ms
    with pytest.raises(BadInstant, match="no remote read was on its way"):
        explain_network_read(PLAN, made, "1ms")


def test_a_trace_changes_nothing_of_a_run(shown: tuple[Path, list[str]], tmp_path: Path) -> None:
    """With and without a trace, the machines print the same, uptime and ping included."""
    traced = shown[1]
    assert traced == run_plan(replace(PLAN, traced=False), tmp_path / "plain")
    assert len(traced) > 2


def test_a_memory_without_a_trace_is_refused(tmp_path: Path) -> None:
    """The magic number alone, at an odd place, is no trace."""
    memory = tmp_path / "memory"
    memory.write_bytes(bytes(12) + trace.MAGIC.to_bytes(8, "little") + bytes(5000))
    with pytest.raises(BadTrace, match="no trace in this memory"):
        trace.find_ring(memory)


def test_the_command_prints_it_after_the_consoles(capfd: pytest.CaptureFixture[str]) -> None:
    """Also without any remote read, and with a wrong word."""
    scripts = (
        f"mkdir /x; cp /bin/sh /x/a; nfsd /x & {IDLE}",
        "mkdir /mnt; mount -t nfs 10.0.0.1:/x /mnt; cat /mnt/a > /dev/null; umount /mnt",
    )
    args = ("--args", "drive=rz58 nbuf=64")
    assert enter("network", "run", *scripts, *args, "--why", "3") == 0
    said = capfd.readouterr().out
    assert "By place: client" in said
    # One process of the server serves all of `cat`; nobody waits for the three others.
    assert "processes of the server (nfsd) are at calls" not in said
    assert enter("network", "run", "sleep 1", "sleep 1", *args, "--why", "longest") == 1
    assert "no machine has read a remote file" in capfd.readouterr().err
    assert enter("network", "run", "sleep 1", "sleep 1", "--why", "slow") == 2
    assert 'must be "longest", a number, or a time' in capfd.readouterr().err


def test_shells_have_no_one_time_and_say_so(capfd: pytest.CaptureFixture[str]) -> None:
    """Interactive machines run in real time."""
    assert enter("network", "shells", "--why", "longest") == 2
    assert "sluice network run" in capfd.readouterr().err
