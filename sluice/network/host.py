"""Puts the host on the network of two live machines, by QEMU's user network (libslirp).

That network answers every IP packet that it sees, whoever it is for. So it is on a wire of its own,
and only frames for the host pass from the machines' wire to it: `Bridge` moves them.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from sluice.network.capture import ARP_BYTES, ETHERNET_BYTES, TYPE_ARP, format_host
from sluice.network.wiring import host_address, hub_port, stream

ADDRESS = host_address(100)
MAC = bytes([0x52, 0x55, *map(int, ADDRESS.split("."))])  # as libslirp makes it
EVERYONE = b"\xff" * 6
LENGTH_BYTES = 4  # before each frame: QEMU's -netdev stream
OWN_HUB = 1


@dataclass(frozen=True)
class Forward:
    """A UDP port of the host, whose datagrams go to a port of a machine."""

    host_port: int
    machine: int
    port: int

    def __str__(self) -> str:
        """Return the part of QEMU's option -netdev user that makes this forward."""
        to = host_address(self.machine)
        return f"hostfwd=udp:127.0.0.1:{self.host_port}-{to}:{self.port}"


def user_network(forwards: tuple[Forward, ...]) -> tuple[str, ...]:
    """Return options for the network of the host's own UDP ports."""
    words = ["user,id=user,ipv6=off", f"net={host_address(0)}/24", f"host={ADDRESS}"]
    words += [f"dns={host_address(101)}", f"dhcpstart={host_address(102)}"]
    return ("-netdev", ",".join([*words, *map(str, forwards)]))


def is_for_host(frame: bytes) -> bool:
    """Return whether a frame is for the host: to its hardware address, or a question for it."""
    to, kind, packet = frame[:6], frame[12:ETHERNET_BYTES], frame[ETHERNET_BYTES:]
    if to == MAC:
        return True
    is_question = to == EVERYONE and kind == TYPE_ARP.to_bytes(2, "big")
    asked_for = packet[24:ARP_BYTES]  # the Internet address that an ARP packet ends with
    return is_question and format_host(asked_for) == ADDRESS


@dataclass
class End:
    """One end of a wire, and the beginning of a frame, the rest of which has not come yet."""

    wire: socket.socket
    data: bytes = b""

    def receive(self) -> list[bytes]:
        """Return the frames that are whole, with their lengths before them."""
        self.data += self.wire.recv(1 << 16)
        found = []
        while len(self.data) >= LENGTH_BYTES:
            size = LENGTH_BYTES + int.from_bytes(self.data[:LENGTH_BYTES], "big")
            if len(self.data) < size:
                break
            found.append(self.data[:size])
            self.data = self.data[size:]
        return found


@dataclass
class Bridge:
    """The two wires: the machines', and that of the host. options: those of the first machine's
    QEMU, whose network `host` is to be joined to the machines; inherited: the files that it needs
    for them."""

    machines: End
    host: End
    options: tuple[str, ...]
    inherited: tuple[int, ...]

    def files(self) -> list[int]:
        """Return the files of both wires."""
        return [self.machines.wire.fileno(), self.host.wire.fileno()]

    def move(self, file: int) -> bool:
        """Send the frames that have come on one wire to the other; of the machines' frames only
        those for the host. Returns False if the wire has ended."""
        ours = file == self.machines.wire.fileno()
        here, there = (self.machines, self.host) if ours else (self.host, self.machines)
        try:
            for frame in here.receive():
                if not ours or is_for_host(frame[LENGTH_BYTES:]):
                    there.wire.sendall(frame)
        except ConnectionError:
            return False
        return True


@contextmanager
def host_network(forwards: tuple[Forward, ...]) -> Iterator[Bridge]:
    """Yield the bridge to a network of the host's own UDP ports."""
    with ExitStack() as opened:
        ends = [opened.enter_context(s) for _ in range(2) for s in socket.socketpair()]
        machines, to_machines, host, to_host = ends
        options = (
            *stream("host", to_machines.fileno()),
            *user_network(forwards),
            *hub_port("pu", "user", OWN_HUB),
            *stream("own", to_host.fileno()),
            *hub_port("po", "own", OWN_HUB),
        )
        inherited = (to_machines.fileno(), to_host.fileno())
        yield Bridge(End(machines), End(host), options, inherited)
