"""Frames as pcap, which tshark, Wireshark and many other tools read, and in words.

A capture has times in ns, and its first second is the machines' power-on: so a tool that shows
times since 1970 shows virtual time. The format: IETF draft-ietf-opsawg-pcap.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

HEADER = struct.Struct("IHHiIII")  # magic, version, zone, accuracy, most bytes, kind of link
RECORD = struct.Struct("IIII")  # seconds, their fraction, bytes kept, bytes of the frame
IN_US, IN_NS = 0xA1B2C3D4, 0xA1B23C4D  # the magic numbers, by the unit of the fraction
ETHERNET = 1  # kind of link
MOST_BYTES = 1 << 16
NS_PER_S, NS_PER_US = 10**9, 1000

ETHERNET_BYTES, ARP_BYTES, IP_BYTES, UDP_BYTES = 14, 28, 20, 8
TYPE_IP, TYPE_ARP = 0x0800, 0x0806
ICMP, UDP = 1, 17
MORE, OFFSET = 0x2000, 0x1FFF
ECHOES = {0: "echo reply", 8: "echo request"}


class BadCapture(ValueError):
    """The error for a file that is no capture of Ethernet; the text says which, and why."""


class Sent(Protocol):
    """A frame with the time when it began on the wire, in ns."""

    @property
    def begin_ns(self) -> int: ...
    @property
    def data(self) -> bytes: ...


@dataclass(frozen=True)
class Packet:
    """A frame of a capture."""

    time_ns: int
    data: bytes


def write_capture(path: Path, frames: Iterable[Sent]) -> None:
    """Write frames as pcap. Every host writes the same bytes: little-endian."""
    with path.open("wb") as out:
        out.write(struct.pack("<" + HEADER.format, IN_NS, 2, 4, 0, 0, MOST_BYTES, ETHERNET))
        for frame in frames:
            seconds, ns = divmod(frame.begin_ns, NS_PER_S)
            size = len(frame.data)
            out.write(struct.pack("<" + RECORD.format, seconds, ns, size, size) + frame.data)


def find_format(path: Path, data: bytes) -> tuple[str, int]:
    """Return a capture's order of bytes, for struct, and the ns of a unit of its times. Raises
    BadCapture."""
    for order in "<>":
        if len(data) < HEADER.size:
            break
        magic, *_, kind = struct.unpack_from(order + HEADER.format, data)
        if magic in (IN_US, IN_NS):
            if kind != ETHERNET:
                raise BadCapture(f"{path}: a capture of link {kind}, and Ethernet is {ETHERNET}")
            return order, 1 if magic == IN_NS else NS_PER_US
    raise BadCapture(f"{path}: is no pcap file: it begins with {data[:4].hex() or 'nothing'}")


def read_packets(path: Path) -> Iterator[Packet]:
    """Yield the frames of a capture. A last record that is not whole is left out, because its
    writer was killed. Raises BadCapture."""
    data = path.read_bytes()
    order, unit_ns = find_format(path, data)
    record = struct.Struct(order + RECORD.format)
    at = HEADER.size
    while at + record.size <= len(data):
        seconds, fraction, size, _ = record.unpack_from(data, at)
        at += record.size + size
        if at <= len(data):
            time_ns = seconds * NS_PER_S + fraction * unit_ns
            yield Packet(time_ns, data[at - size : at])


# ---- in words ----


def format_host(address: bytes) -> str:
    """Return an Internet address in dotted decimal."""
    return ".".join(map(str, address))


def format_mac(address: bytes) -> str:
    """Return a hardware address in words."""
    return address.hex(":")


def describe_arp(data: bytes) -> str:
    """Return an ARP packet in words."""
    if len(data) < ARP_BYTES:
        return f"ARP, cut off after {len(data)} bytes"
    operation, asker, target = data[7], format_host(data[14:18]), format_host(data[24:28])
    if operation == 1:
        return f"ARP: who has {target}? Tell {asker}"
    return f"ARP: {asker} is at {format_mac(data[8:14])}"


def describe_payload(protocol: int, data: bytes) -> str:
    """Return the head of a UDP or ICMP message in words; of another protocol, its number."""
    if protocol == UDP and len(data) >= UDP_BYTES:
        source, target, size, _ = struct.unpack_from(">HHHH", data)
        return f"UDP {source} > {target}, {size - UDP_BYTES} bytes"
    if protocol == ICMP and len(data) >= 8:
        kind = ECHOES.get(data[0], f"type {data[0]}")
        return f"ICMP {kind}, number {int.from_bytes(data[6:8], 'big')}"
    return f"protocol {protocol}, {len(data)} bytes"


def describe_ip(data: bytes) -> str:
    """Return an IPv4 packet in words."""
    if len(data) < IP_BYTES:
        return f"IP, cut off after {len(data)} bytes"
    size, number, fragment = struct.unpack_from(">HHH", data, 2)
    head_bytes = (data[0] & 15) * 4  # the packet counts in words
    at = (fragment & OFFSET) * 8  # the fragment's first byte; the packet counts in 8 bytes
    has_more = fragment & MORE
    payload = data[head_bytes:size]
    text = f"{format_host(data[12:16])} > {format_host(data[16:20])}: "
    if at == 0:
        text += describe_payload(data[9], payload)
    if at or has_more:
        text += f"{', ' if at == 0 else ''}fragment {number:#06x} {at}+{len(payload)}"
        text += "" if has_more else ", the last"
    return text


def describe_frame(data: bytes) -> str:
    """Return a frame in words: its addresses, and what it carries."""
    kind = int.from_bytes(data[12:ETHERNET_BYTES], "big")
    payload = data[ETHERNET_BYTES:]
    if kind == TYPE_ARP:
        return describe_arp(payload)
    if kind == TYPE_IP:
        return describe_ip(payload)
    return f"{format_mac(data[6:12])} > {format_mac(data[:6])}: type {kind:#06x}, {len(data)} bytes"
