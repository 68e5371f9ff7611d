"""A machine mounts the files of another one by NFS: both in one virtual time, with the same bytes
in each run.

SERVE and MOUNT are shell commands: machine 1 exports /x with a file `old`, and machine 2 mounts it
at /mnt. `run` returns what each machine printed, so said[0] is the server's output.
"""

import os
import re
from pathlib import Path

import pytest
from drawn import SEEDS, draw_network

from sluice.network.consoles import Line
from sluice.network.notes import Frame, read_notes
from sluice.network.virtual import Link, Plan, run_network

SERVE = "mkdir /x; echo hello > /x/old; nfsd /x & "
MOUNT = "mkdir /mnt; mount -t nfs 10.0.0.1:/x /mnt; "


def run(
    folder: Path, *scripts: str, args: str = "", link: Link | None = None, block: str = "4K"
) -> tuple[list[list[str]], list[Frame]]:
    """Run a network with a machine for each script. Returns the lines that each machine printed,
    without times, and all frames."""
    folder.mkdir()
    lines: list[Line] = []
    plan = Plan(scripts, (args,) * len(scripts), link or Link(), block=block)
    statuses = run_network(plan, folder, lines.append, folder / "notes")
    assert statuses == [0] * len(scripts)
    words = [str(line).split(maxsplit=2) for line in lines]
    said = [[w[2] for w in words if w[1] == f"{n}"] for n in range(1, len(scripts) + 1)]
    return said, read_notes(folder / "notes")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_file_written_on_one_machine_is_read_on_the_other(tmp_path: Path, seed: int) -> None:
    """The client makes, copies, moves and removes files, unmounts, and mounts again. The server
    then has the same files, and a second run prints and sends the same bytes. The seed draws the
    drive, the size of blocks and the link."""
    drawn = draw_network(seed)
    how = {"args": drawn.args, "link": drawn.link, "block": drawn.block}
    server = SERVE + "sleep 60; cksum /x/sh; cat /x/new; ls /x/dir; cmp /bin/sh /x/sh"
    client = MOUNT + (
        "cat /mnt/old; echo world > /mnt/new; cat /mnt/new; mkdir /mnt/dir; touch /mnt/dir/a;"
        "cp /bin/sh /mnt/sh; cksum /mnt/sh; mv /mnt/dir/a /mnt/dir/b; rm /mnt/old;"
        "cd /mnt/dir; pwd; cd /; mount; umount /mnt; mount -t nfs 10.0.0.1:/x /mnt;"
        "cksum /mnt/sh; cat /mnt/old; ls /mnt; df /mnt; umount /mnt"
    )
    said, frames = run(tmp_path / "a", server, client, **how)
    sums = re.findall(r"(\d+ \d+) /(?:mnt|x)/sh", "\n".join(said[0] + said[1]))
    assert len(sums) == 3 and len(set(sums)) == 1
    assert said[0][1:] == ["world", "b"]
    text = "\n".join(said[1])
    assert text.startswith("hello\nworld\n")
    assert "/mnt/dir\n" in text and "10.0.0.1:/x /mnt rw" in text
    assert "cat: /mnt/old: no such file or directory" in text
    assert "dir  new  sh\n" in text and "nfs1" in text
    assert run(tmp_path / "b", server, client, **how) == (said, frames)


def test_another_qemu_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """QEMU_OTHER names that QEMU; tools/other_qemu.sh fetches one."""
    other = os.environ.get("QEMU_OTHER")
    if not other:
        pytest.skip("QEMU_OTHER= names no other QEMU (tools/other_qemu.sh fetches one)")
    scripts = (SERVE + "sleep 60", MOUNT + "cp /bin/sh /mnt/sh; cmp /bin/sh /mnt/sh; umount /mnt")
    link = Link(loss_percent=5, late_percent=5, seed=3)
    here = run(tmp_path / "here", *scripts, link=link)
    monkeypatch.setenv("QEMU", other)
    assert run(tmp_path / "there", *scripts, link=link) == here


@pytest.mark.parametrize("seed", [1, 2])
def test_lost_frames_cost_time_only(tmp_path: Path, seed: int) -> None:
    """The link loses 5 % of the frames and delays as many. The client repeats calls, and each
    change is made once."""
    server = SERVE + "sleep 300; cmp /bin/sh /x/sh && echo same; ls /x"
    client = MOUNT + (
        "cp /bin/sh /mnt/sh;"
        "for i in 1 2 3 4 5 6; do echo $i > /mnt/$i; mv /mnt/$i /mnt/m$i; done;"
        "cat /mnt/m3; umount /mnt; grep repeated /dev/stat"
    )
    link = Link(loss_percent=5, late_percent=5, seed=seed)
    said, _ = run(tmp_path / "a", server, client, link=link)
    assert said[0] == ["same", "m1   m2   m3   m4   m5   m6   old  sh"]
    assert said[1][0] == "3"
    assert int(re.findall(r"remote.repeated (\d+)", said[1][1])[0]) > 0


def test_a_dead_server_is_given_up_by_a_forced_unmount(tmp_path: Path) -> None:
    """After umount -f each call on the mount fails with "stale file handle". Meanwhile another
    umount waits for the server, and a program has a dirty block."""
    kill = "ps | grep nfsd | while read pid rest; do kill $pid; done"
    server = SERVE + f"sleep 10; {kill}; sleep 200; ls /x"
    client = MOUNT + (
        "(echo one; sleep 40; echo two) > /mnt/f &\n"
        "sleep 20; umount /mnt & sleep 10; umount -f /mnt; sleep 30\n"
        "cat /mnt/old; umount -f /mnt; mount; umount -f /; ls /mnt"
    )
    said, _ = run(tmp_path / "a", server, client)
    assert said[0] == ["f    old"]
    assert said[1] == [
        "bio: nfs1: block 2097152 cannot be written now: trying again",
        "umount: /mnt: input/output error",
        "umount: /mnt: device or file busy",
        "echo: standard output: stale file handle",
        "cat: /mnt/old: stale file handle",
        "disk0 / rw",
        "umount: /: device or file busy",
    ]


def test_fsync_reports_dirty_blocks_that_were_dropped_once(tmp_path: Path) -> None:
    """The server starts again without its list of clients, and another client changes the file. So
    the first client's dirty blocks are out of date: they are dropped, and its fsync fails."""
    kill = "ps | grep nfsd | while read pid rest; do kill $pid; done"
    server = f"{SERVE} sleep 12; {kill}; rm /x/.spritely; nfsd /x & sleep 90; cat /x/f"
    mount = MOUNT.replace("-t nfs", "-t nfs -o consistency=spritely")
    first = f"sleep 1; {mount} (echo one; sleep 30) | dd of=/mnt/f conv=fsync; sync; echo end"
    second = f"{mount} sleep 13; echo two > /mnt/f; sync; sleep 60"
    said, _ = run(tmp_path / "a", server, first, second)
    assert said[0] == ["two"]
    assert [line for line in said[1] if "stale" in line] == ["dd: fsync: stale file handle"]
    assert said[1][-1] == "end"


def test_what_cannot_be_mounted_is_named(tmp_path: Path) -> None:
    """Six mounts fail, each with the reason, and a seventh has no directory to mount at. The last
    command lists what is mounted: the root only."""
    client = (
        "mkdir /mnt; mount -t nfs 10.0.0.1:/none /mnt; mount -t nfs 10.0.0.1:99999:/ /mnt;"
        "mount -t nfs x:/x /mnt; mount -t ext9 disk1 /mnt; mount 10.0.0.1:/x /mnt;"
        "mount -t nfs disk0 /mnt; mount -t nfs 10.0.0.1:/x /none; mount"
    )
    said, _ = run(tmp_path / "a", SERVE + "sleep 30", client)
    wrong = "invalid argument"
    words = ["no such file or directory", wrong, wrong, "the one type is nfs"]
    assert [line.rpartition(": ")[2] for line in said[1][:4]] == words
    assert "needs -t nfs" in said[1][4] and "say HOST:/DIRECTORY" in said[1][5]
    assert said[1][6].endswith("/none: no such file or directory")
    assert said[1][7:] == ["disk0 / rw"]
