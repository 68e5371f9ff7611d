"""What a student hands in: a folder, or a tar or zip archive, of which the lab's files are taken.

Nothing is unpacked: members are read one by one into memory. Refused, with words:
symbolic links and other special files, absolute paths and those with "..", files over
MOST_BYTES, more than MOST_FILES files, more than MOST_KEPT of what is of interest, archives
over MOST_PACKED or whose unpacked bytes are over MOST_UNPACKED, members of one name, listed
files that are missing or no text, files outside the lab's list that are not as they were
handed out, and archives that cannot be read for whatever reason. What a tree gathers beside its
sources (PASSED_OVER) is not looked at.

The files may lie in one folder inside, as archives have it.
"""

import bz2
import gzip
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from grade.scoring.words import printable

MOST_BYTES = 1 << 20
MOST_FILES = 5000
MOST_KEPT = 32 << 20
MOST_PACKED = 64 << 20
MOST_UNPACKED = 256 << 20
MOST_SAID = 400  # characters of what is wrong
SOURCES = ("kernel", "policies", "user", "mkfs")
PASSED_OVER = {"build", "__pycache__", "grade", "__MACOSX"}
PACKED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))
ZIPPED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what can be unpacked a piece at a time


class Refused(Exception):
    """A submission that is not scored; says which file and why."""

    def __init__(self, why: str) -> None:
        super().__init__(printable(why.replace("\n", "?"), MOST_SAID))


@dataclass(frozen=True)
class Member:
    """A file handed in."""

    path: PurePosixPath
    regular: bool
    bytes: int
    data: Callable[[], bytes]


def passed_over(path: PurePosixPath) -> bool:
    """Is it of no interest: hidden, built, or of the grader?"""
    return any(part in PASSED_OVER or (part != ".." and part[0] == ".") for part in path.parts)


def raised(error: OSError) -> None:
    """A folder that cannot be read hides nothing."""
    raise error


def in_folder(folder: Path) -> Iterator[Member]:
    """The files of a folder, links not followed."""
    for here, names, files in os.walk(folder, onerror=raised):
        inside = PurePosixPath(Path(here).relative_to(folder).as_posix())
        links = [name for name in names if (Path(here) / name).is_symlink()]
        names[:] = [n for n in names if n not in links and not passed_over(inside / n)]
        for name in files + links:
            path = Path(here) / name
            status = path.lstat()
            regular = stat.S_ISREG(status.st_mode)
            yield Member(inside / name, regular, status.st_size, path.read_bytes)


@dataclass
class Bounded:
    """A file of which nobody has more than MOST_BYTES at once, or what lies past MOST_UNPACKED."""

    file: BinaryIO

    def read(self, most: int) -> bytes:
        if most > MOST_BYTES:
            raise Refused(f"an archive with {most} bytes in one piece, more than {MOST_BYTES}")
        return self.file.read(most)

    def seek(self, place: int) -> int:
        if place > MOST_UNPACKED:
            raise Refused(f"an archive of more than {MOST_UNPACKED} bytes when unpacked")
        return self.file.seek(place)

    def tell(self) -> int:
        return self.file.tell()


def unpacked(path: Path) -> BinaryIO:
    """The bytes of a file, which may be compressed."""
    with path.open("rb") as file:
        start = file.read(8)
    way = next((way for magic, way in PACKED if start.startswith(magic)), open)
    return way(path, "rb")


def tar(file: BinaryIO) -> tarfile.TarFile | None:
    """The tar archive, if it is one."""
    try:
        return tarfile.open(fileobj=Bounded(file), mode="r:")
    except tarfile.ReadError:
        return None


def in_tar(archive: tarfile.TarFile) -> Iterator[Member]:
    """The members of a tar archive but folders."""
    for item in archive:
        if not item.isdir():
            yield Member(
                PurePosixPath(item.name),
                item.isreg(),
                item.size,
                lambda item=item: archive.extractfile(item).read(),
            )
        archive.members = []  # it would keep them all


def zip_data(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> bytes:
    """What is in a member, read so that no more is unpacked than it is said to have."""
    if item.compress_type not in ZIPPED:
        raise Refused(f"{item.filename}: neither stored nor deflated")
    with archive.open(item) as file:
        return file.read(item.file_size + 1)


def in_zip(archive: zipfile.ZipFile) -> Iterator[Member]:
    """The members of a zip archive but folders."""
    for item in archive.infolist():
        if not item.is_dir():
            kind = stat.S_IFMT(item.external_attr >> 16)
            yield Member(
                PurePosixPath(item.filename),
                kind in (0, stat.S_IFREG),
                item.file_size,
                lambda item=item: zip_data(archive, item),
            )


def in_archive(path: Path) -> Iterator[Member]:
    """The members of an archive; raises Refused for what is none."""
    if path.stat().st_size > MOST_PACKED:
        raise Refused(f"{path.name}: more than {MOST_PACKED} bytes")
    with unpacked(path) as file:
        archive = tar(file)
        if archive:
            yield from in_tar(archive)
            return
    if not zipfile.is_zipfile(path):
        raise Refused(f"{path.name}: neither a folder nor a tar or zip archive")
    with zipfile.ZipFile(path) as archive:
        yield from in_zip(archive)


def members(path: Path) -> Iterator[Member]:
    """The files handed in; raises Refused for what is neither folder nor archive."""
    if path.is_dir():
        return in_folder(path)
    if path.is_file():
        return in_archive(path)
    raise Refused(f"{path.name}: neither a folder nor a tar or zip archive")


def check_member(member: Member, found: dict[PurePosixPath, bytes]) -> None:
    """Raises Refused for a bad one, beside those found before."""
    if not member.regular:
        raise Refused(f"{member.path}: a link or special file")
    if member.bytes > MOST_BYTES:
        raise Refused(f"{member.path}: {member.bytes} bytes, more than {MOST_BYTES}")
    if member.path in found:
        raise Refused(f"{member.path}: twice")


def read(path: Path) -> dict[PurePosixPath, bytes]:
    """All files of interest by path; the first bad one is refused."""
    found: dict[PurePosixPath, bytes] = {}
    kept = 0
    for count, member in enumerate(members(path), 1):
        if count > MOST_FILES:
            raise Refused(f"more than {MOST_FILES} files")
        if member.path.is_absolute():
            raise Refused(f"{member.path}: an absolute path")
        if ".." in member.path.parts:
            raise Refused(f"{member.path}: a path that leaves its folder")
        if passed_over(member.path):
            continue
        check_member(member, found)
        kept += member.bytes
        if kept > MOST_KEPT:
            raise Refused(f"files of more than {MOST_KEPT} bytes")
        found[member.path] = member.data()
    return found


def top(found: dict[PurePosixPath, bytes], files: tuple[str, ...]) -> PurePosixPath:
    """The folder inside that has the lab's files."""
    tops = {
        path.parents[len(PurePosixPath(file).parts) - 1]
        for file in files
        for path in found
        if path.as_posix() == file or path.as_posix().endswith(f"/{file}")
    }
    if len(tops) != 1:
        raise Refused(f"{'no folder' if not tops else 'several folders'} with {', '.join(files)}")
    return tops.pop()


def text(path: str, data: bytes) -> str:
    """A source's text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Refused(f"{path}: no text in UTF-8") from None


def contents(path: Path, files: tuple[str, ...]) -> dict[str, bytes]:
    """All files of interest in the folder that has some of these; or Refused."""
    try:
        found = read(path)
    except Refused:
        raise
    except Exception as error:  # what a damaged archive leads to is not to be foretold
        raise Refused(f"{path.name}: {type(error).__name__}: {error}") from None
    folder = top(found, files)
    return {p.relative_to(folder).as_posix(): d for p, d in found.items() if folder in p.parents}


def take_some(path: Path, files: tuple[str, ...]) -> dict[str, str]:
    """The texts of those of the files that are there, one at least, or Refused."""
    return {file: text(file, data) for file, data in contents(path, files).items() if file in files}


def take(
    path: Path, files: tuple[str, ...], as_handed_out: Callable[[str], set[bytes]]
) -> dict[str, str]:
    """The text of each of the lab's files in the submission, or Refused.

    as_handed_out: the contents that another file may have, none if it is a new one.
    """
    inside = contents(path, files)
    for file in files:
        if file not in inside:
            raise Refused(f"{file}: missing")
    for file, data in inside.items():
        ours = file in files or file.split("/")[0] not in (*SOURCES, "Makefile")
        if not ours and data not in as_handed_out(file):
            raise Refused(f"{file}: changed or new, but not one of the lab's: {', '.join(files)}")
    return {file: text(file, inside[file]) for file in files}
