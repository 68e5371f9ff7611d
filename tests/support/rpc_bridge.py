"""Bridge clients of ONC RPC that use only TCP (libnfs) to a server that uses only UDP.

Each connection gets a UDP socket of its own, so the server sees one port for one client. Records
are joined from their fragments (RFC 5531, section 11). The bridge repeats no call, because nothing
is lost between it and a machine of the same host.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator

LAST = 1 << 31  # in a record's head: no further fragment follows


def read_record(connection: socket.socket) -> bytes:
    """Return the next record, or nothing at the end of the connection."""
    record = b""
    while head := connection.recv(4, socket.MSG_WAITALL):
        word = int.from_bytes(head, "big")
        record += connection.recv(word & (LAST - 1), socket.MSG_WAITALL)
        if word & LAST:
            return record
    return b""


def serve_connection(connection: socket.socket, server: tuple[str, int]) -> None:
    """Carry records to the server and datagrams back, until the client closes."""

    def carry_back() -> None:
        """Send each datagram as a record."""
        with contextlib.suppress(OSError):
            while datagram := link.recv(65536):
                connection.sendall((len(datagram) | LAST).to_bytes(4, "big") + datagram)

    with connection, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind(("127.0.0.1", 0))
        threading.Thread(target=carry_back, daemon=True).start()
        with contextlib.suppress(ConnectionResetError):
            while record := read_record(connection):
                link.sendto(record, server)


@contextlib.contextmanager
def open_bridge(server: tuple[str, int]) -> Iterator[int]:
    """Listen on a port of this host, which is given, for clients of that server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            """Serve each connection in a thread of its own."""
            with contextlib.suppress(OSError):
                while True:
                    args = (listener.accept()[0], server)
                    threading.Thread(target=serve_connection, args=args, daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
