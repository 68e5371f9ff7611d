"""A server of NFS version 3 by UDP in memory, for tests of the client: it can restart, lose what
was not committed, answer with errors or not at all, and it keeps a list of all calls.

RFC 1813. Handles have 64 bytes, the verifier of cookies is not 0, and replies to calls that must
not be done twice are remembered, until a restart.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rpc_client import MOUNT, NFS, Reply, pack_bytes, pack_words

NULL, GETATTR, SETATTR, LOOKUP, ACCESS, READLINK, READ, WRITE, CREATE, MKDIR = range(10)
REMOVE, RMDIR, RENAME, LINK, READDIR, READDIRPLUS, FSSTAT, FSINFO, PATHCONF, COMMIT = range(12, 22)
OK, NOENT, EXIST, STALE, NOTEMPTY, JUKEBOX = 0, 2, 17, 70, 66, 10008
ONCE = {SETATTR, WRITE, CREATE, MKDIR, REMOVE, RMDIR, RENAME}
GUARDED, EXCLUSIVE = 1, 2  # of CREATE
COOKIES = 0x1234  # the verifier of all listings: a client gives it back with its cookie
ROOT = 2


class Status(Exception):
    """The error with which a procedure ends."""

    def __init__(self, number: int) -> None:
        super().__init__(f"status {number}")
        self.number = number


@dataclass
class Node:
    """A file or directory. disk: what a restart leaves of a file's data."""

    number: int
    names: dict[str, int] | None = None  # of a directory: its entries' nodes; None for a file
    data: bytearray = field(default_factory=bytearray)
    disk: bytes = b""
    mode: int = 0o644
    mtime_ns: int = 0
    verifier: int = 0  # the verifier of the exclusive CREATE that made the file; 0: no such CREATE


class Server:
    """The server; `serve` runs it. before: called with each procedure before it is done; what it
    returns, if it is a number, is the status of the reply, and DROP means none. after: called with
    each procedure when it is done; if it returns True, the reply is lost and the server restarts.
    """

    DROP = -1

    def __init__(self) -> None:
        self.nodes = {ROOT: Node(ROOT, {})}
        self.verifier = 1
        self.clock_ns = 10**18
        self.calls: list[tuple[int, int]] = []  # procedure and xid, repeated ones too
        self.before: Callable[[int], int | None] = lambda procedure: None
        self.after: Callable[[int], bool] = lambda procedure: False
        self.replies: dict[tuple[object, bytes], bytes] = {}
        self.most_written = 1 << 20  # the most bytes that one WRITE takes
        self.stable = 0  # what a WRITE answers

    def restart(self) -> None:
        """Start again: what was not committed is lost."""
        for node in self.nodes.values():
            node.data = bytearray(node.disk)
        self.verifier += 1
        self.replies.clear()

    def named(self, name: str) -> Node:
        """Return the node of a name in the root."""
        return self.nodes[(self.nodes[ROOT].names or {})[name]]

    def put(self, name: str, data: bytes) -> Node:
        """Make or change a file in the root, as another client would."""
        names = self.nodes[ROOT].names
        assert names is not None
        node = self.named(name) if name in names else self.make(self.nodes[ROOT], name, None)
        node.data, node.disk = bytearray(data), data
        self.touch(node)
        return node

    def touch(self, node: Node) -> None:
        """Give a node a new time of change."""
        self.clock_ns += 1
        node.mtime_ns = self.clock_ns

    def make(self, parent: Node, name: str, names: dict[str, int] | None) -> Node:
        """Make a node with a name."""
        node = Node(max(self.nodes) + 1, names)
        self.nodes[node.number] = node
        assert parent.names is not None
        parent.names[name] = node.number
        self.touch(node)
        return node

    # ---- pieces of messages ----

    def handle(self, node: Node) -> bytes:
        """Return a handle in XDR."""
        return pack_bytes(node.number.to_bytes(64, "big"))

    def attributes(self, node: Node) -> bytes:
        """Return an fattr3: the attributes of a file or directory."""
        time = struct.pack(">II", *divmod(node.mtime_ns, 10**9))
        kind = 1 if node.names is None else 2
        head = struct.pack(">5IQQ", kind, node.mode, 1, 0, 0, len(node.data), len(node.data))
        return head + struct.pack(">QQQ", 0, 7, node.number) + time * 3

    def post(self, node: Node) -> bytes:
        """Return a post_op_attr."""
        return pack_words(1) + self.attributes(node)

    def wcc(self, node: Node, before: tuple[int, int] | None) -> bytes:
        """Return a wcc_data: attributes before and after a call. before: the size, and the time in
        ns."""
        if not before:
            return pack_words(0) + self.post(node)
        time = struct.pack(">II", *divmod(before[1], 10**9))
        return pack_words(1) + struct.pack(">Q", before[0]) + time * 2 + self.post(node)

    def take_node(self, call: Reply) -> Node:
        """Return the node of a handle in a call."""
        number = int.from_bytes(call.opaque(), "big")
        if number not in self.nodes:
            raise Status(STALE)
        return self.nodes[number]

    def take_name(self, call: Reply) -> tuple[Node, str]:
        """Return a directory and a name of a call."""
        return self.take_node(call), call.opaque().decode()

    # ---- procedures: what follows the status ----

    def find(self, call: Reply) -> bytes:
        """LOOKUP."""
        parent, name = self.take_name(call)
        assert parent.names is not None
        numbers = {".": parent.number, "..": ROOT} | parent.names
        if name not in numbers:
            raise Status(NOENT)
        node = self.nodes[numbers[name]]
        return self.handle(node) + self.post(node) + self.post(parent)

    def change(self, call: Reply) -> bytes:
        """SETATTR, of the mode and the size."""
        node = self.take_node(call)
        before = (len(node.data), node.mtime_ns)
        if call.word():
            node.mode = call.word()
            node.verifier = 0
        assert call.long() == 0
        if call.word():
            size = call.long()
            node.data = node.data[:size] + bytes(max(0, size - len(node.data)))
            node.disk = bytes(node.data)
        self.touch(node)
        return self.wcc(node, before)

    def read(self, call: Reply) -> bytes:
        """READ."""
        node = self.take_node(call)
        offset, count = call.long(), call.word()
        data = bytes(node.data[offset : offset + count])
        end = offset + len(data) >= len(node.data)
        return self.post(node) + pack_words(len(data), end) + pack_bytes(data)

    def write(self, call: Reply) -> bytes:
        """WRITE."""
        node = self.take_node(call)
        before = (len(node.data), node.mtime_ns)
        offset, count, _stable = call.long(), call.word(), call.word()
        data = call.opaque()[: min(count, self.most_written)]
        node.data += bytes(max(0, offset - len(node.data)))
        node.data[offset : offset + len(data)] = data
        self.touch(node)
        if self.stable:
            node.disk = bytes(node.data)
        words = pack_words(len(data), self.stable) + struct.pack(">Q", self.verifier)
        return self.wcc(node, before) + words

    def create(self, call: Reply, names: dict[str, int] | None) -> bytes:
        """CREATE, guarded or exclusive, and MKDIR. A name that exists is an error, unless it was
        made by the same exclusive CREATE (verifier), which is repeated.

        names: None for a file, and {} for a directory.
        """
        parent, name = self.take_name(call)
        assert parent.names is not None
        how = call.word() if names is None else GUARDED
        assert how in (GUARDED, EXCLUSIVE)
        verifier = call.long() if how == EXCLUSIVE else 0
        if name in parent.names:
            node = self.nodes[parent.names[name]]
            if not verifier or node.verifier != verifier:
                raise Status(EXIST)
        else:
            node = self.make(parent, name, names)
            node.verifier = verifier
        found = pack_words(1) + self.handle(node) + self.post(node)
        return found + self.wcc(parent, None)

    def remove(self, call: Reply) -> bytes:
        """REMOVE and RMDIR."""
        parent, name = self.take_name(call)
        assert parent.names is not None
        if name not in parent.names:
            raise Status(NOENT)
        node = self.nodes[parent.names[name]]
        if node.names:
            raise Status(NOTEMPTY)
        del self.nodes[parent.names.pop(name)]
        return self.wcc(parent, None)

    def rename(self, call: Reply) -> bytes:
        """RENAME."""
        parent, name = self.take_name(call)
        to, other = self.take_name(call)
        assert parent.names is not None
        assert to.names is not None
        if name not in parent.names:
            raise Status(NOENT)
        replaced = to.names.get(other)
        to.names[other] = parent.names.pop(name)
        if replaced is not None:
            del self.nodes[replaced]
        return self.wcc(parent, None) + self.wcc(to, None)

    def list(self, call: Reply) -> bytes:
        """READDIR, at most three entries at a time."""
        parent = self.take_node(call)
        cookie, verifier, _count = call.long(), call.long(), call.word()
        assert verifier == (COOKIES if cookie else 0)
        assert parent.names is not None
        rows = [(".", parent.number), ("..", ROOT), *sorted(parent.names.items())]
        text = self.post(parent) + struct.pack(">Q", COOKIES)
        for at, (name, number) in enumerate(rows[cookie : cookie + 3], cookie + 1):
            text += struct.pack(">IQ", 1, number) + pack_bytes(name.encode())
            text += struct.pack(">Q", at)
        return text + pack_words(0, cookie + 3 >= len(rows))

    def commit(self, call: Reply) -> bytes:
        """COMMIT."""
        node = self.take_node(call)
        node.disk = bytes(node.data)
        before = (len(node.data), node.mtime_ns)
        return self.wcc(node, before) + struct.pack(">Q", self.verifier)

    def do(self, procedure: int, call: Reply) -> bytes:
        """Return what follows the status. Raises Status."""
        if procedure == GETATTR:
            return self.attributes(self.take_node(call))
        if procedure in (CREATE, MKDIR):
            return self.create(call, {} if procedure == MKDIR else None)
        if procedure == FSSTAT:
            return self.post(self.take_node(call)) + bytes(52)
        table = {
            SETATTR: self.change,
            LOOKUP: self.find,
            READ: self.read,
            WRITE: self.write,
            REMOVE: self.remove,
            RMDIR: self.remove,
            RENAME: self.rename,
            READDIR: self.list,
            COMMIT: self.commit,
        }
        return table[procedure](call)

    # ---- messages ----

    def answer(self, message: bytes, sender: object) -> bytes | None:
        """Return the reply to a call, or None: the server is silent. A call that may be done only
        once is not done again if it comes again, but has the same reply."""
        call = Reply(message)
        xid, _, _, program, _version, procedure = (call.word() for _ in range(6))
        call.take(4), call.opaque(), call.take(4), call.opaque()  # who asks
        head = pack_words(xid, 1, 0, 0, 0, 0)  # a reply, which was accepted
        if program == MOUNT:
            return head + pack_words(0) + self.handle(self.nodes[ROOT]) + pack_words(1, 0)
        assert program == NFS
        self.calls.append((procedure, xid))
        if (sender, message) in self.replies:
            return self.replies[sender, message]
        status = self.before(procedure)
        if status == self.DROP:
            return None
        try:
            if status:
                raise Status(status)
            text = pack_words(0) + self.do(procedure, call)
        except Status as error:
            text = pack_words(error.number) + bytes(16)
        if self.after(procedure):
            self.restart()
            return None
        if procedure in ONCE:
            self.replies[sender, message] = head + text
        return head + text


@contextmanager
def serve(server: Server) -> Iterator[int]:
    """Serve calls in a thread, at a port of this host, which is given."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind(("127.0.0.1", 0))
        ends = threading.Event()
        failures: list[BaseException] = []

        def loop() -> None:
            """Answer until the end."""
            while not ends.is_set():
                message, sender = link.recvfrom(65536)
                if not message:
                    return
                try:
                    reply = server.answer(message, sender)
                except BaseException as error:
                    failures.append(error)
                    raise
                if reply:
                    link.sendto(reply, sender)

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        yield link.getsockname()[1]
        ends.set()
        link.sendto(b"", link.getsockname())
        thread.join()
        assert not failures, failures
