"""Read an untrusted folder, or tar or zip archive, at a limited cost.

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
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from grade.trust.untrusted_text import make_printable, show_character

MOST_BYTES = 1 << 20  # largest file
MOST_MEMBERS = 5000
MOST_DEPTH = 32
MOST_PATH = 512
MOST_PACKED = 64 << 20
MOST_UNPACKED = 256 << 20
MOST_HEADER = 16 << 10
MOST_DIRECTORY = 1 << 20
MOST_STREAMS = 100
MOST_MEMORY = 128 << 20
MOST_SAID = 400  # longest message, in characters
ONLY = "hand in the lab's files only"
ANEW = "make the archive anew"

BLOCK = tarfile.BLOCKSIZE
PIECE = 64 << 10  # bytes that are unpacked at a time
ZIPPED = (
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
)  # methods that can be unpacked a piece at a time
OTHERS = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!": "rar", b"\x28\xb5\x2f\xfd": "zstd"}
NO_ARCHIVE = "neither a folder nor a tar or zip archive"


class Refused(Exception):
    """A submission that is not scored; the text says which file and why, a line for each reason."""

    def __init__(self, *reasons: str) -> None:
        lines = (
            make_printable(why.replace("\n", show_character("\n")), MOST_SAID) for why in reasons
        )
        super().__init__("\n".join(lines))


Contents = bytes  # a name for the type, because Member has a field `bytes`


@dataclass(frozen=True)
class Member:
    """A file or folder that was handed in."""

    path: PurePosixPath
    kind: int  # stat.S_IFREG, stat.S_IFDIR, 0: anything else
    bytes: int
    data: "Callable[[], Contents]"


def check_members(members: Iterator[Member]) -> Iterator[Member]:
    """Yield the members, while they are within the limits and their paths are proper.

    Raises Refused.
    """
    for count, member in enumerate(members, 1):
        if count > MOST_MEMBERS:
            raise Refused(f"more than {MOST_MEMBERS} files and folders: {ONLY}")
        if len(str(member.path)) > MOST_PATH:
            raise Refused(
                f"{str(member.path)[:80]}...: more than {MOST_PATH} characters: shorten the path"
            )
        if len(member.path.parts) > MOST_DEPTH:
            raise Refused(
                f"{str(member.path)[:80]}...: more than {MOST_DEPTH} folders deep: {ONLY}"
            )
        if member.path.is_absolute():
            raise Refused(f"{member.path}: an absolute path: {ANEW}, from inside its folder")
        if ".." in member.path.parts:
            raise Refused(f"{member.path}: a path that leaves its folder: {ANEW}, without ..")
        yield member


def fix_slashes(members: Iterator[Member]) -> Iterator[Member]:
    r"""Yield the members with / in their paths in place of the \\ of some tools of Windows."""
    for member in members:
        path = PurePosixPath(str(member.path).replace("\\", "/"))
        yield member if path == member.path else replace(member, path=path)


# ---- folders ----


def folder_members(folder: Path, enter: Callable[[PurePosixPath], bool]) -> Iterator[Member]:
    """Yield the members of a folder, and of those folders in it for which `enter` is true.

    No link is followed.
    """
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


def single_member(path: Path) -> Iterator[Member]:
    """Yield the only member, which was handed in as a file."""
    yield Member(PurePosixPath(path.name), stat.S_IFREG, path.stat().st_size, path.read_bytes)


# ---- packed streams ----


class Decompressor(Protocol):
    """The interface of the decompressors of bz2 and lzma."""

    @property
    def needs_input(self) -> bool:
        """True if the next call needs new data."""

    @property
    def eof(self) -> bool:
        """True if the end of the packed stream was reached."""

    @property
    def unused_data(self) -> bytes:
        """The bytes after the end of the packed stream."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return the next bytes, at most `max_length`."""


class Gzip:
    """A decompressor for gzip, with the interface of those of bz2 and lzma."""

    def __init__(self) -> None:
        self.inner = zlib.decompressobj(31)  # with gzip's header and checksum

    def decompress(self, data: bytes, most: int) -> bytes:
        """Return the next bytes, at most `most`.

        data: needed only if needs_input.
        """
        return self.inner.decompress(self.inner.unconsumed_tail + data, most)

    @property
    def needs_input(self) -> bool:
        """True if the next call needs new data."""
        return not self.inner.unconsumed_tail

    @property
    def eof(self) -> bool:
        """True if the end of the packed stream was reached."""
        return self.inner.eof

    @property
    def unused_data(self) -> bytes:
        """The bytes after the end of the packed stream."""
        return self.inner.unused_data


def make_xz_decompressor() -> lzma.LZMADecompressor:
    """Return a decompressor for xz that uses at most MOST_MEMORY bytes."""
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY)


# The first bytes of each packed format, its decompressor, and the most packed bytes. Unpacking so
# many bytes takes a second or two.
PACKED: dict[bytes, tuple[Callable[[], Decompressor], int]] = {
    b"\x1f\x8b": (Gzip, MOST_PACKED),
    b"BZh": (bz2.BZ2Decompressor, 8 << 20),
    b"\xfd7zXZ\0": (make_xz_decompressor, 16 << 20),
}


def unpack(file: BinaryIO, make: Callable[[], Decompressor]) -> Iterator[bytes]:
    """Yield the bytes of packed streams that follow one another.

    make: returns a decompressor. Raises Refused, and EOFError if the data is cut off.
    """
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
        if not packed.strip(b"\0"):  # the end of the file, or zeros that fill it up
            return
    raise Refused(f"more than {MOST_STREAMS} packed streams in one file: {ANEW}")


@dataclass
class Stream:
    """A stream of bytes that come in pieces: at most MOST_UNPACKED bytes."""

    pieces: Iterator[bytes]
    held: bytearray = field(default_factory=bytearray)
    came: int = 0

    def fetch_piece(self) -> bool:
        """Fetch one more piece; return False at the end. Raises Refused."""
        piece = next(self.pieces, None)
        if piece is None:
            return False
        self.came += len(piece)
        if self.came > MOST_UNPACKED:
            raise Refused(f"an archive of more than {MOST_UNPACKED} bytes when unpacked: {ONLY}")
        self.held += piece
        return True

    def read(self, count: int) -> bytes:
        """Return this many bytes; fewer at the end."""
        while len(self.held) < count and self.fetch_piece():
            pass
        data = bytes(self.held[:count])
        del self.held[:count]
        return data

    def skip(self, count: int) -> None:
        """Skip this many bytes. Raises EOFError if they are not there."""
        while count > len(self.held):
            count -= len(self.held)
            self.held.clear()
            if not self.fetch_piece():
                raise EOFError("it ends before its end")
        del self.held[:count]


def open_stream(file: BinaryIO, start: bytes, size: int) -> Stream:
    """Return the bytes of a file as a stream, unpacked if it begins like a packed file.

    start: the file's first bytes. size: of the file. Raises Refused.
    """
    for magic, (make, most) in PACKED.items():
        if start.startswith(magic):
            if size > most:
                raise Refused(f"more than {most} bytes that are packed in this way: use gzip")
            return Stream(unpack(file, make))
    return Stream(iter(lambda: file.read(PIECE), b""))


# ---- tar ----

KINDS = dict.fromkeys(tarfile.REGULAR_TYPES, stat.S_IFREG) | {tarfile.DIRTYPE: stat.S_IFDIR}
KINDS.pop(tarfile.GNUTYPE_SPARSE, None)
NAMING = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


def read_header(stream: Stream) -> tarfile.TarInfo | None:
    """Return the next header, or None at the end. Raises tarfile.HeaderError for anything else."""
    block = stream.read(BLOCK)
    if not block.strip(b"\0"):
        return None
    return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")


def padded_size(size: int) -> int:
    """Return the bytes that a member's contents occupy in the archive."""
    return -(-size // BLOCK) * BLOCK


def read_pax_path(data: bytes) -> str | None:
    """Return the path that a POSIX header gives the next member, or None.

    The header's lines are `LENGTH KEY=VALUE`. Raises ValueError and Refused.
    """
    path = None
    while data.strip(b"\0"):
        length = int(data.split(b" ", 1)[0])
        if length < 1:
            raise ValueError(f"a header's line of {length} bytes")
        line, data = data[:length], data[length:]
        key, _, value = line.rstrip(b"\n").partition(b" ")[2].partition(b"=")
        if key.startswith(b"GNU.sparse") or key == b"size":
            raise Refused("a tar archive with a sparse or huge file: hand in a zip archive instead")
        if key == b"path":
            path = value.decode(errors="surrogateescape")
    return path


def read_name_member(item: tarfile.TarInfo, stream: Stream) -> str | None:
    """Return the path in a member that describes the next one, or None."""
    if item.size > MOST_HEADER:
        raise Refused(
            f"a tar archive with {item.size} bytes of a name, more than {MOST_HEADER}: {ANEW}"
        )
    data = stream.read(padded_size(item.size))[: item.size]
    if item.type == tarfile.XHDTYPE:
        return read_pax_path(data)
    if item.type == tarfile.GNUTYPE_LONGNAME:
        return data.rstrip(b"\0").decode(errors="surrogateescape")
    return None


def read_headers(stream: Stream, first: tarfile.TarInfo) -> Iterator[tuple[tarfile.TarInfo, str]]:
    """Yield each header of a member, with its path.

    Headers that only describe a member are counted, too. Raises Refused.
    """
    item: tarfile.TarInfo | None = first
    name = None
    for _ in range(3 * MOST_MEMBERS):
        if item is None:
            return
        if item.type in NAMING:
            name = read_name_member(item, stream) or name
        else:
            yield item, name or item.name
            name = None
        item = read_header(stream)
    raise Refused(f"a tar archive of more than {3 * MOST_MEMBERS} headers: {ONLY}")


def tar_members(stream: Stream, first: tarfile.TarInfo) -> Iterator[Member]:
    """Yield the members of a tar archive.

    Each member's data must be read before the next member.
    """
    for item, name in read_headers(stream, first):
        size = max(item.size, 0)
        left = [padded_size(size)]

        def data(size: int = size, left: list[int] = left) -> bytes:
            """Read the member's contents from the stream; raise EOFError if it ends too early."""
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
        """Return the next bytes. Raises Refused if more than MOST_DIRECTORY are asked for."""
        if most > MOST_DIRECTORY:
            raise Refused(
                f"a zip archive with {most} bytes in one piece (its list of members?), more than "
                f"{MOST_DIRECTORY}: {ONLY}"
            )
        return self.file.read(MOST_DIRECTORY if most < 0 else most)

    def seek(self, place: int, whence: int = 0) -> int:
        """Move to a place in the file and return it."""
        return self.file.seek(place, whence)

    def tell(self) -> int:
        """Return the place in the file."""
        return self.file.tell()

    def seekable(self) -> bool:
        """Return True, because zipfile asks for it."""
        return True


def read_zip_member(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> bytes:
    """Return a member's contents; at most one byte more than the archive states is unpacked."""
    if item.compress_type not in ZIPPED:
        raise Refused(f"{item.filename}: neither stored nor deflated: {ANEW}, with usual settings")
    with archive.open(item) as file:
        return file.read(item.file_size + 1)


def zip_member_kind(item: zipfile.ZipInfo) -> int:
    """Return the kind of a member: a file, a folder, or 0 for anything else.

    An archive without modes has files and folders only.
    """
    if item.filename.endswith(("/", "\\")):
        return stat.S_IFDIR
    kind = stat.S_IFMT(item.external_attr >> 16)
    return stat.S_IFREG if kind in (0, stat.S_IFREG) else 0


def expect_disjoint(items: list[zipfile.ZipInfo]) -> None:
    """Raise Refused if two members share packed bytes, as these could unpack to far more."""
    for one, other in pairwise(sorted(items, key=lambda item: item.header_offset)):
        if one.header_offset + one.compress_size >= other.header_offset:
            raise Refused(f"{other.filename}: overlaps with another member: {ANEW}")


def zip_members(file: BinaryIO) -> Iterator[Member]:
    """Yield the members of a zip archive. Raises Refused."""
    with zipfile.ZipFile(Bounded(file)) as archive:
        items = archive.infolist()
        if len(items) > MOST_MEMBERS:
            raise Refused(f"more than {MOST_MEMBERS} files and folders: {ONLY}")
        expect_disjoint(items)
        for item in items:
            path = PurePosixPath(item.filename)
            yield Member(
                path, zip_member_kind(item), item.file_size, partial(read_zip_member, archive, item)
            )


# ---- all of them ----


def archive_members(path: Path) -> Iterator[Member]:
    """Yield the members of an archive. Raises Refused if it is not one."""
    if path.stat().st_size > MOST_PACKED:
        raise Refused(f"{path.name}: more than {MOST_PACKED} bytes: {ONLY}")
    if not path.stat().st_size:
        raise Refused(f"{path.name}: {NO_ARCHIVE}, but an empty file: was it handed in whole?")
    with path.open("rb") as file:
        start = file.read(8)
        other = next((name for magic, name in OTHERS.items() if start.startswith(magic)), "")
        if other:
            raise Refused(f"{path.name}: {other} is not read here: hand in a tar or zip archive")
        file.seek(0)
        if start.startswith(b"PK"):
            yield from zip_members(file)
            return
        stream = open_stream(file, start, path.stat().st_size)
        try:
            first = read_header(stream)
        except tarfile.HeaderError:
            first = None
        if first is None:
            raise Refused(f"{path.name}: {NO_ARCHIVE}: hand in one of these")
        yield from tar_members(stream, first)


def iter_members(path: Path, enter: Callable[[PurePosixPath], bool]) -> Iterator[Member]:
    """Return an iterator over the members of what was handed in.

    enter: returns true for a folder whose contents are of interest. Raises Refused, and any error
    that a damaged archive leads to.
    """
    if path.is_dir():
        return check_members(fix_slashes(folder_members(path, enter)))
    if path.is_file():
        return check_members(fix_slashes(archive_members(path)))
    raise Refused(f"{path.name}: {NO_ARCHIVE}: hand in one of these")
