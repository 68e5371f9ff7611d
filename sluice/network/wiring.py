"""Joins machines to one Ethernet, by pairs of Unix sockets that have no names.

Two machines are joined directly. Of more machines the first one has a hub, so that all machines
receive all frames in one order, which the link needs (kernel/link/link.c). QEMUs and twins speak
alike on a socket: none of them knows what the others are.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sluice.host.quoting import quote_qemu

FEWEST, MOST = 2, 4  # machines: MACHINES in kernel/link/link.c
BUS = "virtio-mmio-bus.7"  # of the network device: disks have those before it
DEVICE, HUB = "n", 0


@dataclass(frozen=True)
class Plug:
    """One machine's end of the network: options for QEMU, options for the twin, and the files that
    either inherits."""

    options: tuple[str, ...]
    twin: tuple[str, ...]
    files: tuple[int, ...]


def mac_address(number: int) -> str:
    """Return the hardware address of a machine. Its last byte is that of host_address(), too."""
    return f"52:54:00:00:00:{number:02x}"


def host_address(number: int) -> str:
    """Return the Internet address of a machine; the first one's number is 1."""
    return f"10.0.0.{number}"


def stream(name: str, file: int) -> tuple[str, ...]:
    """Return options for one socket."""
    return ("-netdev", f"stream,id={name},server=off,addr.type=fd,addr.str={file}")


def hub_port(name: str, peer: str = "", hub: int = HUB) -> tuple[str, ...]:
    """Return options for a port of a hub. peer: what is plugged into it, except a device."""
    return ("-netdev", f"hubport,id={name},hubid={hub}" + (f",netdev={peer}" if peer else ""))


def device(number: int) -> tuple[str, ...]:
    """Return options for a machine's network device."""
    about = f"netdev={DEVICE},mac={mac_address(number)},bus={BUS}"
    return ("-device", f"virtio-net-device,{about}")


def dump_options(file: Path) -> tuple[str, ...]:
    """Return options with which QEMU writes all frames of its device to a file, as pcap."""
    return ("-object", f"filter-dump,id=dump,netdev={DEVICE},file={quote_qemu(file)}")


def twin_options(number: int, files: list[int], dump: Path | None = None) -> tuple[str, ...]:
    """Return the twin's options for the device of a machine. files: its sockets to other machines;
    dump: where it writes all frames of its device, as pcap."""
    joined = ":".join(map(str, [number, *files]))
    return ("-l", joined, *(("-d", str(dump)) if dump else ()))


def first_options(files: list[int], further: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options of the first machine, which is joined to all others. further: options for
    one more network, whose name is `host`."""
    if len(files) == 1 and not further:
        return stream(DEVICE, files[0])
    options = hub_port(DEVICE)
    for number, file in enumerate(files, 2):
        options += (*stream(f"s{number}", file), *hub_port(f"p{number}", f"s{number}"))
    return (*options, *further, *(hub_port("ph", "host") if further else ()))


@contextmanager
def join_machines(
    count: int,
    dump: Path | None = None,
    further: tuple[str, ...] = (),
    files: tuple[int, ...] = (),
) -> Iterator[list[Plug]]:
    """Yield a plug for each machine. The context must last until all machines have started. dump:
    where the first machine writes all frames. further: options of QEMU for one more network, named
    `host`. files: descriptors that these options use."""
    with ExitStack() as opened:
        pairs = [socket.socketpair() for _ in range(count - 1)]
        for one, other in pairs:
            opened.enter_context(one)
            opened.enter_context(other)
        ours = [one.fileno() for one, _ in pairs]
        options = (*first_options(ours, further), *device(1), *(dump_options(dump) if dump else ()))
        plugs = [Plug(options, twin_options(1, ours, dump), (*ours, *files))]
        for number, (_, other) in enumerate(pairs, 2):
            options = (*stream(DEVICE, other.fileno()), *device(number))
            plugs.append(Plug(options, twin_options(number, [other.fileno()]), (other.fileno(),)))
        yield plugs
