"""A small client of ONC RPC and NFS version 3 by UDP, for tests: sockets of the host, and nothing
of the kernel's code.

RFC 5531 has the messages, RFC 4506 XDR, and RFC 1813 NFS and MOUNT.
"""

import itertools
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from sluice.host.limits import HANG_S

PORTMAP, MOUNT, NFS = 100000, 100005, 100003
VERSIONS = {PORTMAP: 2, MOUNT: 3, NFS: 3}
AGAIN_S = 1.0  # after which a call is sent again
XIDS = itertools.count(time.time_ns() & 0x7FFFFFFF)
UNSTABLE, FILE_SYNC = 0, 2
NOTHING_SET = bytes(24)  # a sattr3


def pack_words(*words: int) -> bytes:
    """Return 32-bit numbers in XDR."""
    return struct.pack(f">{len(words)}I", *words)


def pack_bytes(data: bytes) -> bytes:
    """Return bytes of a variable length in XDR."""
    return pack_words(len(data)) + data + bytes(-len(data) % 4)


class Reply:
    """A reply that is read from its begin to its end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        assert self.at + count <= len(self.data), f"the reply ends at {self.at}: {self.data!r}"
        self.at += count
        return self.data[self.at - count : self.at]

    def word(self) -> int:
        """Return the next 32-bit number."""
        return int.from_bytes(self.take(4), "big")

    def long(self) -> int:
        """Return the next 64-bit number."""
        return int.from_bytes(self.take(8), "big")

    def opaque(self) -> bytes:
        """Return bytes of a variable length."""
        count = self.word()
        data = self.take(count)
        assert not any(self.take(-count % 4))
        return data

    def attributes(self) -> "Attributes":
        """Return the attributes in an fattr3."""
        kind, mode, links, _user, _group = (self.word() for _ in range(5))
        size, _used, _device, _disk, number = (self.long() for _ in range(5))
        self.take(24)  # times
        return Attributes(kind, mode, links, size, number)

    def post_attributes(self) -> "Attributes | None":
        """Return the attributes in a post_op_attr, or None."""
        return self.attributes() if self.word() else None

    def skip_wcc(self) -> None:
        """Skip a wcc_data: a file's attributes before and after a call."""
        if self.word():
            self.take(24)
        self.post_attributes()


class Attributes(NamedTuple):
    """Some of a file's attributes. kind: an ftype3; size: bytes."""

    kind: int
    mode: int
    links: int
    size: int
    number: int


class Failed(Exception):
    """A status of NFS or MOUNT other than 0."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


@dataclass
class Client:
    """A client with a socket of its own. ports: those of the host, by the machine's port."""

    host: str
    ports: dict[int, int]
    link: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind(("127.0.0.1", 0))  # QEMU takes it for its gateway

    def close(self) -> None:
        """Close the socket."""
        self.link.close()

    def exchange(self, message: bytes, port: int = 2049, limit_s: float = HANG_S) -> bytes:
        """Send a call again and again until a reply with its xid (the first four bytes) comes, and
        return the reply. Raises TimeoutError."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            self.link.sendto(message, (self.host, self.ports[port]))
            again = min(time.monotonic() + AGAIN_S, deadline)
            while (left_s := again - time.monotonic()) > 0:
                self.link.settimeout(left_s)
                try:
                    reply = self.link.recv(65536)
                except (TimeoutError, ConnectionRefusedError):
                    break
                if reply[:4] == message[:4]:
                    return reply
        raise TimeoutError(f"no reply in {limit_s:g} s")

    def call(self, program: int, procedure: int, args: bytes = b"", version: int = 0) -> Reply:
        """Call a procedure, which the server accepts. Returns what follows."""
        port = 111 if program == PORTMAP else 2049
        message = build_call(program, procedure, args, version)
        return accepted(self.exchange(message, port))

    def mount(self, path: str) -> bytes:
        """Return the handle of an exported directory. Raises Failed."""
        reply = checked(self.call(MOUNT, 1, pack_bytes(path.encode())))
        return reply.opaque()

    def nfs(self, procedure: int, *args: bytes) -> Reply:
        """Call a procedure of NFS. Returns what follows its status. Raises Failed."""
        return checked(self.call(NFS, procedure, b"".join(args)))

    def getattr(self, handle: bytes) -> Attributes:
        """Return a file's attributes."""
        return self.nfs(1, pack_bytes(handle)).attributes()

    def lookup(self, directory: bytes, name: str) -> bytes:
        """Return the handle of a name."""
        return self.nfs(3, pack_bytes(directory), pack_bytes(name.encode())).opaque()

    def read(self, handle: bytes, offset: int, count: int) -> bytes:
        """Return bytes of a file."""
        args = pack_bytes(handle) + struct.pack(">QI", offset, count)
        reply = self.nfs(6, args)
        reply.post_attributes()
        reply.take(8)
        return reply.opaque()

    def read_all(self, handle: bytes, piece: int = 8192) -> bytes:
        """Return a file's contents, read in pieces."""
        size = self.getattr(handle).size
        return b"".join(self.read(handle, at, piece) for at in range(0, size, piece))

    def write(self, handle: bytes, offset: int, data: bytes, stable: int = FILE_SYNC) -> int:
        """Write bytes. Returns the write verifier."""
        head = struct.pack(">QII", offset, len(data), stable)
        reply = self.nfs(7, pack_bytes(handle), head, pack_bytes(data))
        reply.skip_wcc()
        assert reply.word() == len(data)
        reply.word()
        return reply.long()

    def create(self, directory: bytes, name: str, how: int = 1) -> bytes:
        """Make a file. how: 0 UNCHECKED, 1 GUARDED. Returns its handle."""
        return handle_in(self.nfs(8, *made_args(directory, name), pack_words(how), NOTHING_SET))

    def mkdir(self, directory: bytes, name: str) -> bytes:
        """Make a directory. Returns its handle."""
        return handle_in(self.nfs(9, *made_args(directory, name), NOTHING_SET))

    def remove(self, directory: bytes, name: str) -> None:
        """Remove a file's name."""
        self.nfs(12, *made_args(directory, name))

    def rename(self, directory: bytes, name: str, to: bytes, other: str) -> None:
        """Rename a file or directory."""
        self.nfs(14, *made_args(directory, name), *made_args(to, other))

    def names(self, directory: bytes, count: int = 8192) -> list[str]:
        """Return the names in a directory, by READDIRs of `count` bytes."""
        found, cookie, end = [], 0, False
        while not end:
            reply = self.nfs(16, pack_bytes(directory), struct.pack(">QQI", cookie, 0, count))
            reply.post_attributes()
            reply.long()
            while reply.word():
                reply.long()
                found.append(reply.opaque().decode())
                cookie = reply.long()
            end = bool(reply.word())
        return found

    def commit(self, handle: bytes) -> int:
        """Commit everything written to a file to the disk. Returns the write verifier."""
        reply = self.nfs(21, pack_bytes(handle), bytes(12))
        reply.skip_wcc()
        return reply.long()


def build_call(program: int, procedure: int, args: bytes = b"", version: int = 0) -> bytes:
    """Return the message of a call, with an xid of its own."""
    version = version or VERSIONS[program]
    head = pack_words(next(XIDS) & 0xFFFFFFFF, 0, 2, program, version, procedure)
    return head + bytes(16) + args


def accepted(message: bytes) -> Reply:
    """Return what follows the head of a reply that says SUCCESS."""
    reply = Reply(message)
    head = [reply.word() for _ in range(6)][1:]
    assert head == [1, 0, 0, 0, 0], f"the reply's head is {head}"
    return reply


def checked(reply: Reply) -> Reply:
    """Return what follows a status of 0. Raises Failed."""
    status = reply.word()
    if status:
        raise Failed(status)
    return reply


def handle_in(reply: Reply) -> bytes:
    """Return the handle in the reply of CREATE or MKDIR."""
    assert reply.word()
    return reply.opaque()


def made_args(directory: bytes, name: str) -> tuple[bytes, bytes]:
    """Return a diropargs3."""
    return pack_bytes(directory), pack_bytes(name.encode())
