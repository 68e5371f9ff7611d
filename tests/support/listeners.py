"""Clients on the host that a server of files calls: each has a socket and a thread for it."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from rpc_client import Client, Reply


@dataclass
class Listener:
    """A client that the server calls. What its class does with a call is `hear`."""

    client: Client
    link: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind(("127.0.0.1", 0))

    def port(self) -> int:
        """Return the port at which the server calls."""
        return self.link.getsockname()[1]

    def listen(self, program: int) -> None:
        """Take calls of the first procedure of this program, until an empty datagram comes."""
        while True:
            message, sender = self.link.recvfrom(1024)
            if not message:
                return
            call = Reply(message)
            xid, kind, rpc_version, *called = (call.word() for _ in range(6))
            assert (kind, rpc_version) == (0, 2)  # a call
            assert called == [program, 1, 1]  # its version 1, and the first procedure of that
            call.take(16)  # credentials and verifier, both of none
            answer = self.hear(xid, call)
            if answer:
                self.link.sendto(answer, sender)

    def hear(self, xid: int, call: Reply) -> bytes:
        """Take a call, of which the arguments are left. Returns the answer, or nothing."""
        raise NotImplementedError


Kind = TypeVar("Kind", bound=Listener)


@contextmanager
def listening(
    kind: Callable[[Client], Kind], program: int, client: Client, count: int
) -> Iterator[list[Kind]]:
    """Give new clients of the same server, which listen."""
    made = [kind(Client(client.host, client.ports)) for _ in range(count)]
    threads = [threading.Thread(target=one.listen, args=(program,), daemon=True) for one in made]
    for thread in threads:
        thread.start()
    yield made
    for one, thread in zip(made, threads, strict=True):
        # An empty datagram ends listen().
        one.link.sendto(b"", one.link.getsockname())
        thread.join()
        one.link.close()
        one.client.close()
