"""Reads a folder, or a tar or zip archive, that a stranger made, at a limited cost.

Members are read one by one, and nothing is written. Their cost is counted, and a submission that
passes a limit is refused, with the limit in the message, before more is read:

- members of any kind, with folders (MOST_MEMBERS); their depth and the length of their paths
  (MOST_DEPTH, MOST_PATH);
- bytes of an archive, packed and unpacked (MOST_PACKED, MOST_UNPACKED); unpacked bytes are counted,
  whatever size the archive states;
- bytes that describe a member of a tar archive (MOST_HEADER), or all members of a zip archive
  (MOST_DIRECTORY); packed streams that follow one another (MOST_STREAMS); the memory that unpacking
  may take (MOST_MEMORY).

It reads tar archives of POSIX and GNU without sparse files, plain or packed by gzip, bzip2 or xz,
and zip archives with stored and deflated members that do not overlap.
"""

import bz2
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from grade.trust.untrusted_text import printable, visible

MOST_BYTES = 1 << 20  # of a file
MOST_MEMBERS = 5000
MOST_DEPTH = 32
MOST_PATH = 512
MOST_PACKED = 64 << 20
MOST_UNPACKED = 256 << 20
MOST_HEADER = 16 << 10
MOST_DIRECTORY = 1 << 20
MOST_STREAMS = 100
MOST_MEMORY = 128 << 20
MOST_SAID = 400  # characters of what is wrong

BLOCK = tarfile.BLOCKSIZE
PIECE = 64 << 10  # bytes that are unpacked at a time
ZIPPED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what can be unpacked a piece at a time
OTHERS = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!": "rar", b"\x28\xb5\x2f\xfd": "zstd"}
NO_ARCHIVE = "neither a folder nor a tar or zip archive"


class Refused(Exception):
    """A submission that is not scored; the text says which file and why, a line for each reason."""

    def __init__(self, *reasons: str) -> None:
        lines = (printable(why.replace("\n", visible("\n")), MOST_SAID) for why in reasons)
        super().__init__("\n".join(lines))


@dataclass(frozen=True)
class Member:
    """A file handed in, or a folder."""

    path: PurePosixPath
    kind: int  # stat.S_IFREG, stat.S_IFDIR, 0: anything else
    bytes: int
    data: Callable[[], bytes]


def checked(members: Iterator[Member]) -> Iterator[Member]:
    """The same members, while they are within the limits, and each has a proper path."""
    for count, member in enumerate(members, 1):
        if count > MOST_MEMBERS:
            raise Refused(f"more than {MOST_MEMBERS} files and folders")
        if len(str(member.path)) > MOST_PATH:
            raise Refused(f"{str(member.path)[:80]}...: a path of more than {MOST_PATH} characters")
        if len(member.path.parts) > MOST_DEPTH:
            raise Refused(f"{str(member.path)[:80]}...: more than {MOST_DEPTH} folders deep")
        if member.path.is_absolute():
            raise Refused(f"{member.path}: an absolute path")
        if ".." in member.path.parts:
            raise Refused(f"{member.path}: a path that leaves its folder")
        yield member


def with_slashes(members: Iterator[Member]) -> Iterator[Member]:
    """The same members with / in their paths where old tools of Windows, or what unpacked their
    archives, wrote \\."""
    for member in members:
        path = PurePosixPath(str(member.path).replace("\\", "/"))
        yield member if path == member.path else replace(member, path=path)


# ---- folders ----


def in_folder(folder: Path, enter: Callable[[PurePosixPath], bool]) -> Iterator[Member]:
    """The members of a folder, and of the folders in it that are to be entered. No link is
    followed."""
    waiting = [PurePosixPath()]
    while waiting:
        here = waiting.pop()
        with os.scandir(folder / here) as entries:
            for entry in entries:
                path, status = here / entry.name, entry.stat(follow_symlinks=False)
                kind = stat.S_IFMT(status.st_mode)
                known = kind if kind in (stat.S_IFREG, stat.S_IFDIR) else 0
                yield Member(path, known, status.st_size, (folder / path).read_bytes)
                if kind == stat.S_IFDIR and enter(path):
                    waiting.append(path)


def alone(path: Path) -> Iterator[Member]:
    """The one member that is handed in as a file."""
    yield Member(PurePosixPath(path.name), stat.S_IFREG, path.stat().st_size, path.read_bytes)


# ---- packed streams ----


class Gzip:
    """zlib's decompressor, with the interface of those of bz2 and lzma."""

    def __init__(self) -> None:
        self.inner = zlib.decompressobj(31)  # with gzip's header and checksum

    def decompress(self, data: bytes, most: int) -> bytes:
        """The next bytes, at most this many. data: needed only if needs_input."""
        return self.inner.decompress(self.inner.unconsumed_tail + data, most)

    @property
    def needs_input(self) -> bool:
        return not self.inner.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self.inner.eof

    @property
    def unused_data(self) -> bytes:
        return self.inner.unused_data


def xz() -> lzma.LZMADecompressor:
    """A decompressor for xz that takes at most MOST_MEMORY."""
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY)


# How each packed stream begins, what unpacks it, and the most bytes of it: a second or two.
PACKED = {
    b"\x1f\x8b": (Gzip, MOST_PACKED),
    b"BZh": (bz2.BZ2Decompressor, 8 << 20),
    b"\xfd7zXZ\0": (xz, 16 << 20),
}


def unpacked(file: BinaryIO, make: Callable) -> Iterator[bytes]:
    """The bytes of packed streams that follow one another."""
    packed = b""
    for _ in range(MOST_STREAMS):
        stream = make()
        while not stream.eof:
            if stream.needs_input and not packed:
                packed = file.read(PIECE)
            data, packed = (packed, b"") if stream.needs_input else (b"", packed)
            came = stream.decompress(data, PIECE)
            if not (came or data or stream.eof):
                raise EOFError("it ends before its end")
            yield came
        packed = stream.unused_data + packed or file.read(PIECE)
        if not packed.strip(b"\0"):
            return
    raise Refused(f"more than {MOST_STREAMS} packed streams in one file")


@dataclass
class Stream:
    """Bytes that come in pieces: at most MOST_UNPACKED."""

    pieces: Iterator[bytes]
    held: bytearray = field(default_factory=bytearray)
    came: int = 0

    def more(self) -> bool:
        """Hold one more piece. False at the end."""
        piece = next(self.pieces, None)
        if piece is None:
            return False
        self.came += len(piece)
        if self.came > MOST_UNPACKED:
            raise Refused(f"an archive of more than {MOST_UNPACKED} bytes when unpacked")
        self.held += piece
        return True

    def read(self, count: int) -> bytes:
        """This many bytes; fewer at the end."""
        while len(self.held) < count and self.more():
            pass
        data = bytes(self.held[:count])
        del self.held[:count]
        return data

    def skip(self, count: int) -> None:
        """Pass over this many bytes, which must be there."""
        while count > len(self.held):
            count -= len(self.held)
            self.held.clear()
            if not self.more():
                raise EOFError("it ends before its end")
        del self.held[:count]


def stream_of(file: BinaryIO, start: bytes, size: int) -> Stream:
    """The bytes of a file of this size, unpacked if it begins like a packed one."""
    for magic, (make, most) in PACKED.items():
        if start.startswith(magic):
            if size > most:
                raise Refused(f"more than {most} bytes that are packed in this way: use gzip")
            return Stream(unpacked(file, make))
    return Stream(iter(lambda: file.read(PIECE), b""))


# ---- tar ----

KINDS = dict.fromkeys(tarfile.REGULAR_TYPES, stat.S_IFREG) | {tarfile.DIRTYPE: stat.S_IFDIR}
KINDS.pop(tarfile.GNUTYPE_SPARSE, None)
NAMING = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


def header(stream: Stream) -> tarfile.TarInfo | None:
    """The next header, or None at the end. Raises tarfile.HeaderError for anything else."""
    block = stream.read(BLOCK)
    if not block.strip(b"\0"):
        return None
    return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")


def padded(size: int) -> int:
    """The bytes that a member's contents take in the archive."""
    return -(-size // BLOCK) * BLOCK


def pax_path(data: bytes) -> str | None:
    """The path that a POSIX header gives the next member. Its lines are `LENGTH KEY=VALUE`."""
    path = None
    while data.strip(b"\0"):
        length = int(data.split(b" ", 1)[0])
        if length < 1:
            raise ValueError(f"a header's line of {length} bytes")
        line, data = data[:length], data[length:]
        key, _, value = line.rstrip(b"\n").partition(b" ")[2].partition(b"=")
        if key.startswith(b"GNU.sparse") or key == b"size":
            raise Refused("a tar archive with a sparse or huge file: only plain ones are read")
        if key == b"path":
            path = value.decode(errors="surrogateescape")
    return path


def named_by(item: tarfile.TarInfo, stream: Stream) -> str | None:
    """The path in a member that describes the next one."""
    if item.size > MOST_HEADER:
        raise Refused(f"a tar archive with {item.size} bytes of a name, more than {MOST_HEADER}")
    data = stream.read(padded(item.size))[: item.size]
    if item.type == tarfile.XHDTYPE:
        return pax_path(data)
    if item.type == tarfile.GNUTYPE_LONGNAME:
        return data.rstrip(b"\0").decode(errors="surrogateescape")
    return None


def headers(stream: Stream, first: tarfile.TarInfo) -> Iterator[tuple[tarfile.TarInfo, str]]:
    """Each header of a member, with its path. Counts the others too."""
    item, name = first, None
    for _ in range(3 * MOST_MEMBERS):
        if item is None:
            return
        if item.type in NAMING:
            name = named_by(item, stream) or name
        else:
            yield item, name or item.name
            name = None
        item = header(stream)
    raise Refused(f"a tar archive of more than {3 * MOST_MEMBERS} headers")


def in_tar(stream: Stream, first: tarfile.TarInfo) -> Iterator[Member]:
    """The members of a tar archive. Each member's data must be read before the next member."""
    for item, name in headers(stream, first):
        size = max(item.size, 0)
        left = [padded(size)]

        def data(size: int = size, left: list[int] = left) -> bytes:
            left[0] -= size
            came = stream.read(size)
            if len(came) < size:
                raise EOFError("it ends before its end")
            return came

        yield Member(PurePosixPath(name), KINDS.get(item.type, 0), size, data)
        stream.skip(left[0])


# ---- zip ----


@dataclass
class Bounded:
    """A file of which at most MOST_DIRECTORY bytes can be read at once."""

    file: BinaryIO

    def read(self, most: int = -1) -> bytes:
        if most > MOST_DIRECTORY:
            raise Refused(
                f"a zip archive with {most} bytes in one piece (its list of members?), more than "
                f"{MOST_DIRECTORY}"
            )
        return self.file.read(MOST_DIRECTORY if most < 0 else most)

    def seek(self, place: int, whence: int = 0) -> int:
        return self.file.seek(place, whence)

    def tell(self) -> int:
        return self.file.tell()

    def seekable(self) -> bool:
        return True


def zip_data(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> bytes:
    """A member's contents. No more is unpacked than the archive states."""
    if item.compress_type not in ZIPPED:
        raise Refused(f"{item.filename}: neither stored nor deflated")
    with archive.open(item) as file:
        return file.read(item.file_size + 1)


def zip_kind(item: zipfile.ZipInfo) -> int:
    """A file, a folder, or something else. An archive without modes has files and folders only."""
    if item.filename.endswith(("/", "\\")):
        return stat.S_IFDIR
    kind = stat.S_IFMT(item.external_attr >> 16)
    return stat.S_IFREG if kind in (0, stat.S_IFREG) else 0


def expect_apart(items: list[zipfile.ZipInfo]) -> None:
    """Raise Refused if two members share packed bytes, as these could unpack to far more."""
    for one, other in pairwise(sorted(items, key=lambda item: item.header_offset)):
        if one.header_offset + one.compress_size >= other.header_offset:
            raise Refused(f"{other.filename}: overlaps with another member")


def in_zip(file: BinaryIO) -> Iterator[Member]:
    """The members of a zip archive."""
    with zipfile.ZipFile(Bounded(file)) as archive:
        items = archive.infolist()
        if len(items) > MOST_MEMBERS:
            raise Refused(f"more than {MOST_MEMBERS} files and folders")
        expect_apart(items)
        for item in items:
            path = PurePosixPath(item.filename)
            yield Member(path, zip_kind(item), item.file_size, lambda i=item: zip_data(archive, i))


# ---- all of them ----


def in_archive(path: Path) -> Iterator[Member]:
    """The members of an archive. Raises Refused if it is not one."""
    if path.stat().st_size > MOST_PACKED:
        raise Refused(f"{path.name}: more than {MOST_PACKED} bytes")
    if not path.stat().st_size:
        raise Refused(f"{path.name}: {NO_ARCHIVE}, but an empty file: was it handed in whole?")
    with path.open("rb") as file:
        start = file.read(8)
        other = next((name for magic, name in OTHERS.items() if start.startswith(magic)), "")
        if other:
            raise Refused(f"{path.name}: {other} is not read here: hand in a tar or zip archive")
        file.seek(0)
        if start.startswith(b"PK"):
            yield from in_zip(file)
            return
        stream = stream_of(file, start, path.stat().st_size)
        try:
            first = header(stream)
        except tarfile.HeaderError:
            first = None
        if first is None:
            raise Refused(f"{path.name}: {NO_ARCHIVE}")
        yield from in_tar(stream, first)


def members(path: Path, enter: Callable[[PurePosixPath], bool]) -> Iterator[Member]:
    """The members of what was handed in. `enter` says whether a folder is of interest.

    Raises Refused, and any error that a damaged archive leads to.
    """
    if path.is_dir():
        return checked(with_slashes(in_folder(path, enter)))
    if path.is_file():
        return checked(with_slashes(in_archive(path)))
    raise Refused(f"{path.name}: {NO_ARCHIVE}")
