"""The server of Spritely NFS against clients on the host: who may cache, what it recalls, and what
it does when a client dies or starts again, or when the server itself starts again.

Clients tell the server of each open and close. It grants an open with the right to cache, or
without. If a file is opened elsewhere, it recalls: it has a client write its dirty blocks, or drop
all of the file. The tests' clients are Peers on the host, called a, b and c, which note recalls.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from listeners import Listener, listening
from rpc_client import UNSTABLE, Client, Reply, build_call, checked, pack_bytes, pack_words
from test_nfs import boot_server

from sluice.system import image

SPRITELY = 0x20000199  # the program's number in remote procedure calls
PING, OPEN, CLOSE = 1, 2, 3  # its procedures
READ, WRITE, RECLAIM = 0, 1, 2  # how a file is opened; RECLAIM: again, after the server's restart
DONE, WORKING = 0, 1  # a client's answers to a recall
JUKEBOX, NOT_SYNC = (
    10008,
    10002,
)  # the server's errors: try again later; it does not know the client


class Grant(NamedTuple):
    """The reply to an OPEN. size: the file's at that time."""

    epoch: int
    stamp: int
    cachable: bool
    version: int
    previous: int
    size: int


@dataclass
class Peer(Listener):
    """A client of Spritely NFS. recalls: the handle of each call of the server, and whether all is
    to be dropped. on_recall: returns the answer, DONE or WORKING; None: there is none."""

    boot: int = 7
    recalls: list[tuple[bytes, bool]] = field(default_factory=list)
    on_recall: Callable[[], int | None] = lambda: DONE

    def hear(self, xid: int, call: Reply) -> bytes:
        """Take a recall of the server."""
        handle, _stamp, invalidate = call.opaque(), call.long(), call.word()
        self.recalls.append((handle, bool(invalidate)))
        state = self.on_recall()
        return b"" if state is None else pack_words(xid, 1, 0, 0, 0, 0, state)

    def identity(self) -> bytes:
        """Return this client, as each call names it."""
        return struct.pack(">QI", self.boot, self.port())

    def ping(self) -> tuple[int, bool]:
        """Return the server's epoch, and whether it knows this client.

        While few of its processes serve yet, the server says JUKEBOX; a client tries again.
        """
        while True:
            reply = self.client.call(SPRITELY, PING, self.identity(), 1)
            status = reply.word()
            if status != JUKEBOX:
                assert status == 0, f"status {status}"
                return reply.long(), bool(reply.word())

    def call_open(self, handle: bytes, readers: int, writers: int, how: int, version: int) -> Reply:
        """Call OPEN. Returns the reply from its status on."""
        words = pack_words(readers, writers, how, 1, 0) + struct.pack(">Q", version)
        return self.client.call(SPRITELY, OPEN, pack_bytes(handle) + self.identity() + words, 1)

    def open(
        self, handle: bytes, readers: int = 0, writers: int = 0, how: int = -1, version: int = 0
    ) -> Grant:
        """Open a file, which the server grants."""
        how = how if how >= 0 else WRITE if writers else READ
        reply = checked(self.call_open(handle, readers, writers, how, version))
        epoch, stamp, cachable = reply.long(), reply.long(), bool(reply.word())
        version, previous = reply.long(), reply.long()
        attributes = reply.post_attributes()
        assert attributes
        return Grant(epoch, stamp, cachable, version, previous, attributes.size)

    def close(self, handle: bytes, readers: int = 0, writers: int = 0, dirty: bool = False) -> None:
        """Close a file, which then is open this often."""
        words = pack_words(readers, writers, dirty)
        checked(self.client.call(SPRITELY, CLOSE, pack_bytes(handle) + self.identity() + words, 1))


@contextmanager
def peers(client: Client, count: int) -> Iterator[list[Peer]]:
    """Give clients that the server knows, and whose calls it can make."""
    with listening(Peer, SPRITELY + 1, client, count) as made:
        for peer in made:
            peer.ping()
        yield made


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Return the image of the server's disk."""
    return image.make_image(tmp_path / "disk.img", image.Content())


def test_readers_may_cache_until_one_writes(disk: Path) -> None:
    """The server lets both clients cache a file that they read, and recalls it when one opens it to
    write."""
    with boot_server(disk) as (machine, client), peers(client, 3) as (a, b, c):
        file = client.create(client.mount("/"), "f")
        first, second = a.open(file, readers=1), b.open(file, readers=1)
        assert first.cachable and second.cachable
        assert first.version == second.version and first.stamp < second.stamp
        third = c.open(file, writers=1)
        assert not third.cachable
        assert third.previous == first.version and third.version > third.previous
        assert a.recalls == [(file, True)] and b.recalls == [(file, True)]
        assert not b.open(file, readers=2).cachable  # others write
        b.close(file)
        c.close(file)
        assert a.open(file, readers=2).cachable  # alone now
        assert len(a.recalls) == len(b.recalls) == 1 and not c.recalls
        machine.power_off()
    image.check_image(disk)


def test_the_last_writer_writes_back_when_another_client_opens(disk: Path) -> None:
    """A closes a file that is still dirty in its cache. When B opens it, the server recalls it from
    A, waits while A says that it is at work, and then grants it with A's bytes."""
    with boot_server(disk) as (_machine, client), peers(client, 2) as (a, b):
        file = client.create(client.mount("/"), "f")
        written = a.open(file, writers=1)
        assert written.cachable
        a.close(file, dirty=True)
        assert a.open(file, readers=1).version == written.version
        a.close(file, dirty=True)
        assert not a.recalls  # its own opens recall nothing
        states = iter([WORKING, WORKING, WORKING])

        def write_back() -> int:
            """Be at work for three calls, and then write."""
            state = next(states, DONE)
            if state == DONE:
                a.client.write(file, 0, b"the latest", UNSTABLE)
            return state

        a.on_recall = write_back
        grant = b.open(file, readers=1)
        assert grant.cachable and grant.version == written.version
        assert grant.size == 10 and b.client.read(file, 0, 10) == b"the latest"
        assert a.recalls == [(file, False)] * 4
        b.close(file)
        b.open(file, writers=1)
        assert len(a.recalls) == 4  # nothing is dirty there any more


def test_a_client_that_does_not_answer_is_forgotten(disk: Path) -> None:
    """A answers no recall: after six attempts the server gives the file to B, and forgets all that
    A had open. A then is told that it is not in step, and may reclaim its files."""
    with boot_server(disk) as (_machine, client), peers(client, 2) as (a, b):
        file, other = (client.create(client.mount("/"), name) for name in ("f", "g"))
        a.open(file, writers=1)
        a.open(other, writers=1)
        assert a.ping()[1]
        a.on_recall = lambda: None
        assert b.open(file, writers=1).cachable
        assert len(a.recalls) == 6  # the server tries six times
        assert b.open(other, writers=1).cachable
        assert len(a.recalls) == 6  # nothing of it is left
        assert a.call_open(file, 0, 1, WRITE, 0).word() == NOT_SYNC
        assert not a.ping()[1] and a.ping()[1]
        a.on_recall = lambda: DONE
        assert not a.open(file, 0, 1, RECLAIM).cachable
        assert b.recalls == [(file, True)]


def test_a_client_that_starts_again_has_nothing_open(disk: Path) -> None:
    """A client's identity has the number of its boot. When a client comes with another number, the
    server forgets what the client had open."""
    with boot_server(disk) as (_machine, client), peers(client, 1) as (a,):
        file = client.create(client.mount("/"), "f")
        a.open(file, writers=1)
        with peers(client, 1) as (other,):
            assert not other.open(file, readers=1).cachable
            other.close(file)
        assert a.recalls == [(file, True)]
        with peers(client, 0):
            again = Peer(a.client, boot=8)
            assert not again.ping()[1]
            assert again.open(file, readers=1).cachable
            assert len(a.recalls) == 1
            again.link.close()


def test_a_server_that_starts_again_lets_clients_open_again_first(disk: Path) -> None:
    """After its restart the server has a new epoch. For a while it grants only RECLAIM, by which a
    client opens again what it had open; for all else clients must wait (JUKEBOX)."""
    with boot_server(disk) as (machine, client), peers(client, 2) as (a, b):
        root = client.mount("/")
        file, other = client.create(root, "f"), client.create(root, "g")
        assert client.lookup(root, ".spritely")
        before = a.open(file, writers=1)
        machine.check("ps | grep nfsd | while read pid rest; do kill $pid; done; sleep 1")
        machine.send("nfsd / &\n")
        machine.wait_prompt()
        assert a.call_open(file, 0, 1, RECLAIM, before.version).word() == NOT_SYNC
        epoch, known = a.ping()
        assert epoch != before.epoch and not known
        b.ping()
        assert b.call_open(other, 1, 0, READ, 0).word() == JUKEBOX
        assert b.call_open(file, 1, 0, READ, 0).word() == JUKEBOX
        after = a.open(file, 0, 1, RECLAIM, before.version)
        assert after.cachable and after.version == before.version and after.epoch == epoch


def test_more_files_than_the_table_has_are_written_back(disk: Path) -> None:
    with boot_server(disk) as (_machine, client), peers(client, 2) as (a, b):
        root = client.mount("/")
        files = [client.create(root, f"{number}") for number in range(520)]  # the table has 512
        for file in files:
            a.open(file, writers=1)
            a.close(file, dirty=True)
        assert a.recalls == [(file, False) for file in files[:8]]
        assert b.open(files[0], readers=1).cachable
        assert b.open(files[-1], readers=1).cachable
        assert a.recalls[8:] == [(files[8], False), (files[-1], False)]


def test_damaged_calls_change_nothing(disk: Path) -> None:
    """Calls of b are cut after each word, or have a wrong handle. Afterwards b has nothing open: a
    may cache, and b is sent no recall."""
    with boot_server(disk) as (machine, client), peers(client, 2) as (a, b):
        file = client.create(client.mount("/"), "f")
        whole = pack_bytes(file) + b.identity() + pack_words(1, 1, READ, 1, 1) + bytes(8)
        for cut in range(0, len(whole), 4):
            assert client.exchange(build_call(SPRITELY, OPEN, whole[:cut], 1))
        assert client.call(SPRITELY, OPEN, pack_bytes(b"no handle") + whole[16:], 1).word() != 0
        assert a.open(file, writers=1).cachable and not b.recalls
        machine.power_off()
    image.check_image(disk)
