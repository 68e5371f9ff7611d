"""Second names of remote files, and files that lose their last name while a program of the client
has them open: both machines are in one virtual time.

NFS has no open files, so the client renames such a file to a hidden name, .nfsa and two numbers,
and removes that name when the file is closed. Machine 1 serves /x, and machine 2 mounts it at /mnt;
said[0] is what the server printed, said[1] what the client printed.
"""

import re
from pathlib import Path

import pytest

from sluice.network.consoles import Line
from sluice.network.virtual import Link, Plan, run_network
from sluice.twin import engine

SERVE = "mkdir /x; echo old > /x/old; nfsd /x & "
each_consistency = pytest.mark.parametrize("consistency", ["nfs", "spritely", "leases"])


def mount(consistency: str) -> str:
    """Return the commands that mount the server's directory at /mnt."""
    return f"sleep 1; mkdir /mnt; mount -t nfs -o consistency={consistency} 10.0.0.1:/x /mnt\n"


def run(folder: Path, *scripts: str, twin: bool = False) -> list[list[str]]:
    """Run a network with a machine for each script, of three at most. Returns the lines that each
    machine printed, without times and empty ones."""
    folder.mkdir(exist_ok=True)
    lines: list[Line] = []
    plan = Plan(scripts, ("",) * len(scripts), Link(), twin=engine.start_twin if twin else None)
    assert run_network(plan, folder, lines.append, folder / "notes") == [0] * len(scripts)
    words = [str(line).split(maxsplit=2) for line in lines]
    said = [[w[2] for w in words if w[1] == f"{n}" and len(w) > 2] for n in (1, 2, 3)]
    return said[: len(scripts)]


def counts(lines: list[str]) -> list[int]:
    """Return the counts of names in lines that stat printed."""
    return [int(n) for n in re.findall(r"names (\d+)", "\n".join(lines))]


@each_consistency
def test_a_link_has_the_same_file_and_count_on_both_machines(
    tmp_path: Path, consistency: str
) -> None:
    """The counts of names, which stat prints, are 1 before the link and 2 after it. A write by one
    name is read by the other."""
    client = mount(consistency) + (
        "stat /mnt/old; ln /mnt/old /mnt/new; stat /mnt/old; stat /mnt/new\n"
        "ln /mnt/new /mnt/dirty; echo more >> /mnt/new\n"
        "rm /mnt/old; stat /mnt/new; sync; sleep 20\n"
    )
    said = run(tmp_path, SERVE + "sleep 12; tail -n 1 /x/dirty; stat /x/dirty; ls /x", client)
    assert counts(said[1]) == [1, 2, 2, 2]
    assert said[0][0] == "more"
    assert counts(said[0]) == [2]
    assert said[0][-1] == "dirty  new"


def test_what_cannot_be_linked_is_named(tmp_path: Path) -> None:
    client = mount("nfs") + (
        "ln -s old /mnt/soft; cat /mnt/soft; ls /mnt; ln /mnt/old /mnt/soft; ln /mnt /mnt/d\n"
        "ln /bin/sh /mnt/sh; ln -s x /mnt/old; ln /mnt/none /mnt/d; ln -s x /mnt/none/d; true\n"
    )
    said = run(tmp_path, SERVE + "sleep 12; cat /x/soft; stat /x/soft", client)
    assert said[0][:2] == ["old", "/x/soft: symbolic link"]
    assert said[0][2].startswith("size 3 bytes")
    assert said[1] == [
        "old",
        "old   soft",
        "ln: /mnt/soft: file exists",
        "ln: /mnt/d: operation not permitted",
        "ln: /mnt/sh: link across file systems",
        "ln: /mnt/old: file exists",
        "ln: /mnt/none: no such file or directory",
        "ln: /mnt/none/d: no such file or directory",
    ]


def hidden(lines: list[str]) -> list[str]:
    """Return the hidden names of machine 2 in what ls printed."""
    return re.findall(r"\.nfsa000002\.\w+", "\n".join(lines))


@each_consistency
@pytest.mark.parametrize("twin", [False, True], ids=["machine", "twin"])
@pytest.mark.parametrize("lose", ["rm /mnt/f", "mv /mnt/g /mnt/f"], ids=["unlink", "rename"])
def test_a_file_without_names_stays_until_its_last_close(
    tmp_path: Path, consistency: str, lose: str, twin: bool
) -> None:
    """A group of commands has /mnt/f open when it loses its name: it is removed, or another file is
    renamed to it. The group still reads and writes the file, which has one hidden name, and none
    after the group's end."""
    client = mount(consistency) + (
        "echo zero > /mnt/f; echo new > /mnt/g; sync\n"
        f"(echo one; {lose}; ls -a /mnt >&2; echo two; cat >&2; sleep 10) < /mnt/f > /mnt/f\n"
        "echo closed; ls -a /mnt; cat /mnt/f; true\n"
    )
    said = run(tmp_path, SERVE + "sleep 8; ls -a /x; sleep 30; ls -a /x", client, twin=twin)
    closed = said[1].index("closed")
    assert said[1][closed - 2 : closed] == ["one", "two"]
    assert len(hidden(said[1][:closed])) == len(hidden(said[0])) == 1
    assert not hidden(said[1][closed:])
    assert said[1][-1] == ("new" if "mv" in lose else "cat: /mnt/f: no such file or directory")


@each_consistency
def test_a_file_with_another_name_gets_no_hidden_one(tmp_path: Path, consistency: str) -> None:
    """A file that a program has open is removed by one of its names. Its other name stays, so the
    client need not keep it under a hidden name. That name is moved to itself and to /mnt/c."""
    client = mount(consistency) + (
        "ln /mnt/old /mnt/b; echo new > /mnt/g\n"
        "(rm /mnt/old; ls -a /mnt; cat; mv /mnt/b /mnt/b; cat /mnt/b; mv /mnt/b /mnt/c)"
        " < /mnt/old\n"
        "cat /mnt/c\n"
    )
    said = run(tmp_path, SERVE + "sleep 20; cat /x/c", client)
    assert not hidden(said[1])
    assert said[0] == ["old"] and said[1][-3:] == ["old"] * 3


@each_consistency
def test_a_killed_program_leaves_no_hidden_name_and_a_machine_that_stops_does(
    tmp_path: Path, consistency: str
) -> None:
    """Two programs have a file open that is removed. The first is killed, and its hidden name goes.
    The machine is switched off while the second runs, so the server still has that name."""
    client = mount(consistency) + (
        "echo one > /mnt/f; echo two > /mnt/g; sleep 99 < /mnt/f &\n"
        "sleep 1; rm /mnt/f; ls -a /mnt\n"
        "ps | grep sleep | while read pid rest; do kill $pid; done\n"
        "sleep 1; echo killed; ls -a /mnt; sleep 88 < /mnt/g &\n"
        "sleep 1; rm /mnt/g\n"
    )
    said = run(tmp_path, SERVE + "sleep 40; ls -a /x", client)
    killed = said[1].index("killed")
    assert hidden(said[1][:killed]) and not hidden(said[1][killed:])
    assert len(hidden(said[0])) == 1


@each_consistency
def test_a_dirty_file_that_got_a_name_elsewhere_keeps_its_blocks(
    tmp_path: Path, consistency: str
) -> None:
    """The server gives a file a second name while the client has a dirty block of it. The client
    then removes the first name. The file lives on, so the block must be written."""
    client = mount(consistency) + (
        "echo more >> /mnt/old; sleep 2; stat /mnt/old; rm /mnt/old; sync; sleep 9\n"
    )
    said = run(tmp_path, SERVE + "sleep 2; ln /x/old /x/b; sleep 9; cat /x/b", client)
    assert counts(said[1]) == [2]
    assert said[0] == ["old", "more"]
