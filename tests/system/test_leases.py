"""Leases: three machines in one virtual time, with an update policy that writes nothing by itself,
so that only the leases move data. Then the server's table, against clients on the host.

The limits are those of the protocol (kernel/leases/leases.h): a term of 30 s, 3 s for clocks that
differ, 5 s of slack after a write lease, and notices each second.

Machine 1 serves, machines 2 and 3 are clients. SERVE, STOP and MOUNT are shell commands: the server
exports /x with a file f, ends, and a client mounts /x at /mnt. `run` returns what each machine
printed, so said[0] is the server's output and said[1] is the first client's.
"""

import random
import re
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from listeners import Listener, listening
from rpc_client import Client, Reply, build_call, checked, pack_bytes, pack_words
from test_nfs import boot_server
from whole import draw_for_each

from sluice.network.consoles import Line
from sluice.network.virtual import Link, Plan, run_network
from sluice.system import image

TERM_S, SKEW_S, SLACK_S, NOTICE_S = 30, 3, 5, 1
GRACE_S = TERM_S + SKEW_S + SLACK_S  # for so long a server that starts again grants no lease
SERVE = "mkdir /x; echo old > /x/f; nfsd /x & "
STOP = "ps | grep nfsd | while read pid rest; do kill $pid; done; "
MOUNT = "mkdir /mnt; sleep 1; mount -t nfs -o consistency=leases 10.0.0.1:/x /mnt; "


class Said(NamedTuple):
    """A line of a console. at_s: its virtual time."""

    at_s: float
    text: str


def run(
    folder: Path, *scripts: str, link: Link | None = None, args: str = "update=none"
) -> list[list[Said]]:
    """Run a network with a machine for each script. Returns the lines that each machine printed,
    with their times."""
    lines: list[Line] = []
    plan = Plan(scripts, (args,) * len(scripts), link or Link())
    assert run_network(plan, folder, lines.append) == [0] * len(scripts)
    words = [(*str(line).split(maxsplit=2), "")[:3] for line in lines]
    return [
        [Said(float(at), text) for at, machine, text in words if machine == f"{number}"]
        for number in range(1, len(scripts) + 1)
    ]


def texts(said: list[Said]) -> list[str]:
    """Return the lines without their times."""
    return [line.text for line in said if not line.text.startswith("nfs: ")]


def counter(said: list[Said], name: str) -> int:
    """Return a counter that the machine printed last."""
    return int(re.findall(rf"^{re.escape(name)} (\d+)", "\n".join(texts(said)), re.M)[-1])


def test_an_open_makes_no_call_while_the_lease_lasts(tmp_path: Path) -> None:
    """A client reads the file eight times within a term, with one lease, and once after the term,
    with another one. The counter remote.leases counts the calls for leases."""
    show = "grep remote.leases /dev/stat; "
    client = MOUNT + f"for i in 1 2 3 4 5 6 7 8; do cat /mnt/f; sleep 3; done; {show}"
    client += f"sleep {TERM_S}; cat /mnt/f; {show}"
    said = run(tmp_path, SERVE + "sleep 90", client)[1]
    leases = [text for text in texts(said) if text.startswith("remote.leases")]
    assert texts(said).count("old") == 9
    assert leases == ["remote.leases 2 calls", "remote.leases 3 calls"]  # one is mount's


@pytest.mark.parametrize(
    ("has", "wants", "wait_s"),
    [
        ("echo new >> /mnt/f", "cat /mnt/f", TERM_S + SKEW_S + SLACK_S),
        ("cat /mnt/f", "echo new > /mnt/f; cat /mnt/f", TERM_S + SKEW_S),
    ],
    ids=["write-lease", "read-lease"],
)
def test_a_dead_client_is_waited_for_until_its_lease_is_over(
    tmp_path: Path, has: str, wants: str, wait_s: int
) -> None:
    """A client takes a lease by the command `has`, and dies (poweroff -n). Another client asks for
    a conflicting lease by the command `wants`, and gets it when the dead one's lease is over,
    wait_s after it was granted, and not before."""
    first = MOUNT + f"{has}; echo has; poweroff -n"
    second = MOUNT + f"sleep 5; echo asks; {wants}; echo end"
    said = run(tmp_path, SERVE + "sleep 90; grep nfs /dev/stat", first, second)
    granted_s = said[1][-1].at_s
    assert said[1][-1].text == "has" and texts(said[2])[-1] == "end"
    assert granted_s + wait_s - 0.5 <= said[2][-1].at_s <= granted_s + wait_s + NOTICE_S + 0.5
    assert texts(said[2])[1:] == ["old" if "new" in has else "new", "end"]
    assert counter(said[0], "nfs.expired") == 1


def test_a_write_lease_is_renewed_while_blocks_are_dirty(tmp_path: Path) -> None:
    """The client's dirty block waits for three terms. The server does not have it after 95 s, and
    gets it when the other client wants to read, after 100 s."""
    server = SERVE + "sleep 95; cat /x/f; sleep 40; grep nfs /dev/stat"
    first = MOUNT + "echo new >> /mnt/f; sleep 130; grep remote /dev/stat"
    second = MOUNT + "sleep 100; cat /mnt/f; echo end"
    said = run(tmp_path, server, first, second)
    assert texts(said[0])[1].startswith("nfs.")  # the server's file has one line, without "new"
    assert texts(said[2]) == ["old", "new", "end"]
    assert counter(said[1], "remote.evictions") == 1
    assert counter(said[0], "nfs.expired") == 0


def test_a_lease_that_is_over_is_not_used(tmp_path: Path) -> None:
    """The server is away for longer than a term, and its file changes meanwhile."""
    server = "mkdir /x; (echo one; echo old) > /x/f; nfsd /x & sleep 10; " + STOP
    server += "sleep 5; (echo one; echo new) > /x/f; sleep 100; nfsd /x & sleep 100"
    client = MOUNT + "(read x; echo $x; sleep 60; cat) < /mnt/f; echo end"
    said = run(tmp_path, server, client)[1]
    assert texts(said) == ["one", "new", "end"]
    assert said[-1].at_s >= 115 + GRACE_S


def test_a_lease_that_lasts_is_used_though_the_server_is_silent(tmp_path: Path) -> None:
    """Within the term, the client reads from its cache although the server has stopped."""
    server = "mkdir /x; (echo one; echo old) > /x/f; nfsd /x & sleep 10; " + STOP
    client = MOUNT + "(read x; echo $x; sleep 15; cat) < /mnt/f; echo end; poweroff -n"
    said = run(tmp_path, server + "sleep 60", client)[1]
    assert texts(said) == ["one", "old", "end"]
    assert said[-1].at_s < 20


def test_what_is_dirty_is_written_when_the_lease_cannot_be_renewed(tmp_path: Path) -> None:
    """The server is stopped when the first client has to renew its lease, and starts again later.
    After that it grants no lease until all old ones are over (GRACE_S), but takes WRITEs. So the
    first client's new contents are on the server, and the second client reads them then."""
    server = SERVE + "sleep 10; " + STOP + "sleep 40; nfsd /x & sleep 25; cat /x/f; sleep 90"
    first = MOUNT + "echo new > /mnt/f; sleep 120"
    second = MOUNT + "sleep 50; cat /mnt/f; echo end"
    said = run(tmp_path, server, first, second)
    assert texts(said[0])[0] == "new"
    assert texts(said[2]) == ["new", "end"]
    assert 50 + GRACE_S <= said[2][-1].at_s <= 50 + GRACE_S + 5


def test_a_server_that_never_granted_a_lease_waits_for_none(tmp_path: Path) -> None:
    """The server is started again after 11 s. A client that mounts later need not wait GRACE_S."""
    server = SERVE + "sleep 10; " + STOP + "sleep 1; nfsd /x & sleep 60"
    said = run(tmp_path, server, MOUNT.replace("sleep 1", "sleep 15") + "cat /mnt/f")[1]
    assert texts(said) == ["old"] and said[-1].at_s < 20


def test_a_file_may_be_had_at_once_after_an_unmount(tmp_path: Path) -> None:
    """An unmount gives the leases back, so the other client waits for none."""
    first = MOUNT + "echo new > /mnt/f; umount /mnt; sleep 30"
    second = MOUNT + "sleep 9; cat /mnt/f"
    said = run(tmp_path, SERVE + "sleep 30; grep nfs /dev/stat", first, second)
    assert texts(said[2]) == ["new"]
    assert said[2][-1].at_s < 13 and counter(said[0], "nfs.evictions") == 1


def test_many_programs_that_wait_keep_no_dirty_block_back(tmp_path: Path) -> None:
    """The server starts again, and six programs of the writer's machine wait for leases."""
    server = "mkdir /x; for i in f 1 2 3 4 5 6; do echo old > /x/$i; done; nfsd /x & sleep 10; "
    server += STOP + "sleep 8; nfsd /x & sleep 32; cat /x/f; sleep 60"
    first = MOUNT + "sleep 5; echo new > /mnt/f; sleep 14; "
    first += "for i in 1 2 3 4 5 6; do cat /mnt/$i & done; sleep 120"
    said = run(tmp_path, server, first)
    assert texts(said[0])[-1] == "new"
    assert texts(said[1]) == ["old"] * 6


def test_clients_of_plain_nfs_take_leases_back(tmp_path: Path) -> None:
    """A client of plain NFS has no leases. When it reads or writes, the server takes the leases of
    others back first, so each sees the other's latest write."""
    first = MOUNT + "echo new > /mnt/f; sleep 9; (read x; echo $x; sleep 10; cat) < /mnt/g"
    second = MOUNT.replace("-o consistency=leases", "") + "sleep 3; cat /mnt/f; sleep 11; "
    second += "(echo one; echo new) > /mnt/g"
    server = SERVE + "(echo one; echo old) > /x/g; sleep 60; grep nfs /dev/stat"
    said = run(tmp_path, server, first, second)
    assert texts(said[2]) == ["new"]
    assert texts(said[1]) == ["one", "new"]
    assert counter(said[0], "nfs.expired") == 0


@pytest.mark.parametrize("consistency", draw_for_each(["spritely", "leases"], 3))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cut_of_a_client_loses_nothing_that_an_fsync_promised(
    tmp_path: Path, consistency: str, seed: int
) -> None:
    """A client is switched off at a random time while it writes files. The other client then
    compares each file for which an fsync had returned, and writes one."""
    draw = random.Random(seed)
    mount = MOUNT.replace("leases", consistency)
    files = " ".join(f"{number}" for number in range(40))
    first = f"{mount} (sleep {draw.randrange(2, 9)}.{draw.randrange(10)}; poweroff -n) &\n"
    first += (
        f"for i in {files}; do dd if=/bin/sh of=/mnt/f$i bs=8k conv=fsync && echo fsync $i;"
        " cat /mnt/f$i > /mnt/g$i; done"
    )
    second = f"{mount} sleep 20; for i in {files}; do cmp /bin/sh /mnt/f$i && echo whole $i; done; "
    second += "echo x >> /mnt/f0; sync; echo end"
    link = Link(loss_percent=2, late_percent=5, seed=seed)
    args = f"update={draw.choice(('aipu', 'pu', 'none'))}"
    said = run(tmp_path, SERVE + "sleep 400", first, second, link=link, args=args)
    promised = re.findall(r"^fsync (\d+)$", "\n".join(texts(said[1])), re.M)
    whole = re.findall(r"^whole (\d+)$", "\n".join(texts(said[2])), re.M)
    assert promised and set(promised) <= set(whole)
    assert texts(said[2])[-1] == "end"


# ---- the server, against clients on the host ----

LEASES = 0x2000019B  # the program's number in remote procedure calls
GET, VACATED = 1, 2  # its procedures
NONE, READ, WRITE = 0, 1, 2  # kinds of leases


class Grant(NamedTuple):
    """The reply to a GETLEASE."""

    stamp: int
    term_ms: int
    version: int
    previous: int


@dataclass
class Holder(Listener):
    """A client of leases on the host. A notice of the server asks for a lease back; the client
    vacates the lease to give it back. notices: the file handle of each notice. vacates: returns
    whether the client does so."""

    notices: list[bytes] = field(default_factory=list)
    vacates: Callable[[], bool] = lambda: True

    def hear(self, xid: int, call: Reply) -> bytes:
        """Take a notice of the server."""
        handle, stamp = call.opaque(), call.long()
        self.notices.append(handle)
        if self.vacates():
            args = pack_bytes(handle) + pack_words(self.port()) + struct.pack(">Q", stamp)
            with closing(Client(self.client.host, self.client.ports)) as answering:
                checked(answering.call(LEASES, VACATED, args, 1))
        return b""

    def get(self, handle: bytes, lease: int) -> Grant:
        """Get a lease."""
        args = pack_bytes(handle) + pack_words(self.port(), lease, lease == WRITE)
        reply = checked(self.client.call(LEASES, GET, args, 1))
        return Grant(reply.long(), reply.word(), reply.long(), reply.long())


def holders(client: Client, count: int) -> AbstractContextManager[list[Holder]]:
    """Give clients that hear the server's notices."""
    return listening(Holder, LEASES + 1, client, count)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Return the image of the server's disk."""
    return image.make_image(tmp_path / "disk.img", image.Content())


def test_readers_share_and_a_writer_is_alone(disk: Path) -> None:
    """Clients a and b have read leases at the same time. For a write lease of c, both are asked for
    theirs. A write by c gives the file another version."""
    with boot_server(disk) as (machine, client), holders(client, 3) as (a, b, c):
        file = client.create(client.mount("/"), "f")
        first, second = a.get(file, READ), b.get(file, READ)
        assert first.term_ms == second.term_ms == 1000 * TERM_S
        assert first.version == second.version and first.stamp < second.stamp
        assert not a.notices and not b.notices
        third = c.get(file, WRITE)
        assert a.notices == b.notices == [file] and not c.notices
        assert third.previous == first.version and third.version > third.previous
        assert c.get(file, WRITE).version == third.version  # renewed: no other could write
        assert b.get(file, READ).version == third.version
        assert c.notices == [file]
        assert c.get(file, NONE).term_ms == 0 and len(b.notices) == 1
        machine.power_off()
    image.check_image(disk)


def test_a_notice_is_repeated_until_the_client_has_vacated(disk: Path) -> None:
    with boot_server(disk) as (_machine, client), holders(client, 2) as (a, b):
        file = client.create(client.mount("/"), "f")
        a.get(file, WRITE)
        a.vacates = lambda: len(a.notices) > 2  # at the third notice
        assert b.get(file, READ).term_ms == 1000 * TERM_S
        assert a.notices == [file] * 3


def test_one_process_that_serves_is_enough(disk: Path) -> None:
    """The only process may not wait, so the client asks again."""
    with (
        boot_server(disk, "nfsd -n 1 /") as (_machine, client),
        holders(client, 2) as (a, b),
    ):
        file = client.create(client.mount("/"), "f")
        a.get(file, WRITE)
        args = pack_bytes(file) + pack_words(b.port(), READ, 0)
        assert client.call(LEASES, GET, args, 1).word() == 10008  # JUKEBOX
        while client.call(LEASES, GET, args, 1).word() == 10008:
            pass
        assert a.notices


def test_no_lease_is_granted_when_the_table_is_full(disk: Path) -> None:
    """The 513th lease has a term of 0 ms, so it is none. The leases of the table still count: when
    another client asks for one of its files, the holder is notified."""
    with boot_server(disk) as (_machine, client), holders(client, 2) as (a, b):
        root = client.mount("/")
        files = [client.create(root, f"{number}") for number in range(513)]  # the table has 512
        terms = [a.get(file, READ).term_ms for file in files]
        assert terms == [1000 * TERM_S] * 512 + [0]
        assert b.get(files[0], WRITE).term_ms and a.notices == [files[0]]


def test_damaged_calls_change_nothing(disk: Path) -> None:
    """Calls are cut after each word, or have a wrong kind of lease or file handle. Afterwards no
    client has a lease of the file, so a gets one and nobody hears a notice."""
    with boot_server(disk) as (machine, client), holders(client, 2) as (a, b):
        file = client.create(client.mount("/"), "f")
        whole = pack_bytes(file) + pack_words(b.port(), WRITE, 1)
        for cut in range(0, len(whole), 4):
            assert client.exchange(build_call(LEASES, GET, whole[:cut], 1))
            assert client.exchange(build_call(LEASES, VACATED, whole[:cut], 1))
        assert client.exchange(build_call(LEASES, GET, whole[:-8] + pack_words(3, 0), 1))
        assert client.call(LEASES, GET, pack_bytes(b"no handle") + whole[16:], 1).word() != 0
        assert a.get(file, WRITE).term_ms and not b.notices
        machine.power_off()
    image.check_image(disk)
