"""The client of NFS against a server in memory on the host, which restarts, fails and falls silent
when a test wants it.

A test sets server.before, which is called before each call is done: it may restart the server, or
return an error. server.after, called afterwards, returns whether the reply is lost. server.calls
has all calls. A WRITE is not on the server's disk until a COMMIT, and a restart loses it.
"""

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rpc_server import COMMIT, CREATE, JUKEBOX, LOOKUP, READ, STALE, WRITE, Server, serve

from sluice.system import image
from sluice.system.qemu import Config, Disk, Machine

GATEWAY = "user,id=n,net=10.0.0.0/24,host=10.0.0.254,dns=10.0.0.253"
NOSPC = 28  # no space is left
DATA = random.Random(20).randbytes(50_000)


@contextmanager
def boot_mounted(tmp_path: Path, server: Server, args: str = "") -> Iterator[Machine]:
    """Boot a machine that has mounted the server's root at /mnt. Its file /data has DATA."""
    content = image.Content(files={"/data": DATA})
    disk = image.make_image(tmp_path / "disk.img", content)
    options = (
        *("-netdev", GATEWAY),
        *("-device", "virtio-net-device,netdev=n,mac=52:54:00:00:00:01,bus=virtio-mmio-bus.7"),
    )
    config = Config((Disk(disk),), args=args, harts=2, options=options)
    with serve(server) as port, Machine(config) as machine:
        machine.wait_prompt()
        machine.check("mkdir /mnt")
        machine.check(f"mount -t nfs 10.0.0.254:{port}:/ /mnt")
        yield machine
        machine.power_off()


def times_called(server: Server, procedure: int) -> int:
    """Return how many calls of a procedure there were."""
    return sum(1 for called, _ in server.calls if called == procedure)


def test_what_a_restart_loses_is_written_again_before_close_returns(tmp_path: Path) -> None:
    """A restart forgets what was written and not yet committed; the client notices by the server's
    verifier, and writes it again."""
    server = Server()
    commits = 0

    def restart_twice(procedure: int) -> None:
        """Restart when all is written, and when half is committed."""
        nonlocal commits
        commits += procedure == COMMIT
        if procedure == COMMIT and commits <= 2:
            server.restart()
        if procedure == WRITE and times_called(server, WRITE) == 4:
            server.restart()

    server.before = restart_twice
    with boot_mounted(tmp_path, server) as machine:
        machine.check("cp /data /mnt/a")
        assert server.named("a").disk == DATA
        assert "remote.written_again 0" not in machine.check("grep written_again /dev/stat")
        machine.check("cmp /data /mnt/a")


def test_another_clients_change_is_seen_by_the_next_open_only(tmp_path: Path) -> None:
    """server.put changes a file as another client would. Without a change the client reads from its
    cache, which a change of its own does not empty."""
    server = Server()
    server.put("a", b"one\n")
    with boot_mounted(tmp_path, server) as machine:
        assert machine.check("cat /mnt/a") == "one\n"
        reads = times_called(server, READ)
        assert machine.check("cat /mnt/a") == "one\n"
        assert times_called(server, READ) == reads  # from the cache
        server.put("a", b"two\n")
        assert machine.check("cat /mnt/a") == "two\n"
        machine.check("echo three >> /mnt/a")
        assert server.named("a").disk == b"two\nthree\n"
        reads = times_called(server, READ)
        assert machine.check("cat /mnt/a") == "two\nthree\n"
        assert times_called(server, READ) == reads  # its own change drops nothing
        server.put("a", b"")
        assert machine.check("cat /mnt/a; stat /mnt/a | grep -c ' 0'") != ""


@pytest.mark.parametrize("args", ["", "write=through"])
def test_own_writes_in_any_order_of_replies_drop_nothing(tmp_path: Path, args: str) -> None:
    """The client recognises the file's new times as those of its own writes, so it keeps its cached
    blocks and never reads them from the server."""
    server = Server()
    with boot_mounted(tmp_path, server, args) as machine:
        machine.check("cp /data /mnt/a")
        machine.check("cmp /data /mnt/a; cmp /data /mnt/a")
        assert times_called(server, READ) == 0
        assert server.named("a").disk == DATA


def test_an_exclusive_create_whose_reply_a_restart_loses_is_no_error(tmp_path: Path) -> None:
    """The client repeats the CREATE with the same verifier, by which the server knows that the file
    is the client's own."""
    server = Server()
    creates = 0

    def lose_first(procedure: int) -> bool:
        """Lose the reply to the first CREATE."""
        nonlocal creates
        creates += procedure == CREATE
        return procedure == CREATE and creates == 1

    server.after = lose_first
    with boot_mounted(tmp_path, server) as machine:
        machine.check("dd if=/data of=/mnt/new bs=8k conv=excl 2> /dev/null")
        assert creates == 2
        assert server.named("new").disk == DATA
        assert server.named("new").verifier == 0  # its times and mode were set
        done = machine.run("dd if=/data of=/mnt/new bs=8k conv=excl")
        assert done.status and "file exists" in done.text
        machine.check("echo text > /mnt/plain; cat /mnt/plain")


def test_errors_of_the_server_are_errors_of_the_calls(tmp_path: Path) -> None:
    """server.before is called before the server serves a procedure; the error that it returns is
    the answer. JUKEBOX means "try again later", so the client repeats the call, with a new number
    (xid), and the program sees no error."""
    server = Server()
    server.put("a", b"x" * 10_000)
    with boot_mounted(tmp_path, server) as machine:
        server.before = lambda procedure: NOSPC if procedure == WRITE else None
        done = machine.run("cp /data /mnt/full")
        assert done.status and "no space left on the disk" in done.text
        server.before = lambda procedure: STALE if procedure == READ else None
        done = machine.run("cat /mnt/a")
        assert done.status and "stale file handle" in done.text
        busy = iter([JUKEBOX, JUKEBOX])
        server.before = lambda procedure: next(busy, None) if procedure == LOOKUP else None
        assert machine.check("cat /mnt/a | wc -c").split() == ["10000"]
        server.before = lambda procedure: None
        machine.check("sync")
        assert server.named("full").disk == DATA
        assert machine.run("cat /mnt/none").text.endswith("no such file or directory\n")
    xids = [xid for _, xid in server.calls]
    assert len(set(xids)) == len(xids)


def test_short_writes_and_stable_ones_are_gone_on_with(tmp_path: Path) -> None:
    """A server may write fewer bytes than a WRITE has; the client sends the rest. If it says that a
    WRITE is on its disk already (stable), the client sends no COMMIT."""
    server = Server()
    server.most_written = 1000
    with boot_mounted(tmp_path, server) as machine:
        machine.check("cp /data /mnt/a")
        assert server.named("a").disk == DATA
        commits = times_called(server, COMMIT)
        server.stable = 2
        machine.check("cp /data /mnt/b")
        assert server.named("b").disk == DATA
        assert times_called(server, COMMIT) == commits


def test_a_server_that_is_away_is_waited_for_and_named_once(tmp_path: Path) -> None:
    """The server is silent for five READs: the client repeats the call with its number, and says
    once that it waits and once that the answer came."""
    server = Server()
    server.put("a", b"here\n")
    silent = 0

    def fall_silent(procedure: int) -> int | None:
        """Answer no READ, five times."""
        nonlocal silent
        silent += procedure == READ
        return Server.DROP if procedure == READ and silent <= 5 else None

    server.before = fall_silent
    with boot_mounted(tmp_path, server) as machine:
        text = machine.check("cat /mnt/a")
        assert text.count("does not answer: waiting for it") == 1
        assert text.count("answers again") == 1
        assert "here\n" in text
        reads = [xid for called, xid in server.calls if called == READ]
        assert len(reads) == 6 and len(set(reads)) == 1  # repeated with the same number


def test_names_sizes_and_directories(tmp_path: Path) -> None:
    """Ordinary commands on files of the server, then the unmount."""
    server = Server()
    with boot_mounted(tmp_path, server) as machine:
        machine.check("mkdir /mnt/d; for i in 1 2 3 4 5 6 7; do echo $i > /mnt/d/$i; done")
        assert machine.check("ls /mnt/d").split() == list("1234567")
        assert machine.check("cd /mnt/d; pwd") == "/mnt/d\n"
        machine.check("cd /; mv /mnt/d/1 /mnt/one; mv /mnt/one /mnt/d/2; cat /mnt/d/2")
        assert machine.run("rmdir /mnt/d").text.endswith("directory not empty\n")
        machine.check("cp /data /mnt/d/3; truncate -s 1234 /mnt/d/3; truncate -s 9000 /mnt/d/3")
        number = (server.named("d").names or {})["3"]
        assert server.nodes[number].disk == DATA[:1234] + bytes(9000 - 1234)
        machine.check("rm -r /mnt/d; chmod 600 /mnt; ls /mnt")
        assert len(server.nodes) == 1  # the root
        names = machine.check("cat /dev/stat")
        assert re.search(r"^ext2.inodes \d", names, re.M)
        assert machine.run("umount /mnt").status == 0
        assert machine.check("mount").count("\n") == 1
        assert machine.run("mount nfs1 /mnt").status
