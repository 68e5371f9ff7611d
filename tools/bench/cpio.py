"""Make archives of cpio's format newc, from which Linux makes its first file system.

The format is documented with Linux: Documentation/driver-api/early-userspace/buffer-format.rst.
"""

import stat
from collections.abc import Iterable
from dataclasses import dataclass

MAGIC = b"070701"
END = "TRAILER!!!"
ALIGN = 4  # names and contents end at multiples of it


@dataclass(frozen=True)
class Entry:
    """A file, folder or device.

    mode: its type and permissions. device: its major and minor number.
    """

    path: str  # without a slash at its beginning
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def file(path: str, data: bytes, permissions: int = 0o644) -> Entry:
    """Return the entry of a regular file."""
    return Entry(path, stat.S_IFREG | permissions, data)


def folder(path: str) -> Entry:
    """Return the entry of a folder. In the archive it must come before the folder's contents."""
    return Entry(path, stat.S_IFDIR | 0o755)


def console() -> Entry:
    """Return the entry of /dev/console, which Linux opens for init."""
    return Entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))


def pad(data: bytes) -> bytes:
    """Return the bytes, with zeros up to a multiple of ALIGN."""
    return data + bytes(-len(data) % ALIGN)


def member(entry: Entry, number: int) -> bytes:
    """Return an entry's part of the archive.

    number: the number of the entry's inode.
    """
    name = entry.path.encode() + b"\0"
    nlink = 2 if stat.S_ISDIR(entry.mode) else 1
    owner, time, disk, checksum = (0, 0), 0, (0, 0), 0
    fields = (
        *(number, entry.mode, *owner, nlink, time, len(entry.data)),
        *(*disk, *entry.device, len(name), checksum),
    )
    head = MAGIC + b"".join(b"%08x" % field for field in fields)
    return pad(head + name) + pad(entry.data)


def archive(entries: Iterable[Entry]) -> bytes:
    """Return the archive of these entries, in their order."""
    members = [member(entry, number) for number, entry in enumerate(entries, 1)]
    return b"".join([*members, member(Entry(END, 0), 0)])
