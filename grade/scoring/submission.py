"""What a student hands in: a folder, or a tar or zip archive, of which the lab's files are taken.

Nothing is unpacked: members are read one by one into memory. Refused, with words:
symbolic links and other special files, absolute paths and those with "..", files over
MOST_BYTES, more than MOST_FILES files, listed files that are missing or no text, and
files outside the lab's list that are not as they were handed out. What a tree gathers
beside its sources (PASSED_OVER) is not looked at.

The files may lie in one folder inside, as archives have it.
"""

import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MOST_BYTES = 1 << 20
MOST_FILES = 5000
SOURCES = ("kernel", "policies", "user", "mkfs")
PASSED_OVER = {"build", "__pycache__", "grade", "__MACOSX"}


class Refused(Exception):
    """A submission that is not scored; says which file and why."""


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


def in_folder(folder: Path) -> Iterator[Member]:
    """The files of a folder, links not followed."""
    for here, names, files in os.walk(folder):
        inside = PurePosixPath(Path(here).relative_to(folder).as_posix())
        links = [name for name in names if (Path(here) / name).is_symlink()]
        names[:] = [n for n in names if n not in links and not passed_over(inside / n)]
        for name in files + links:
            path = Path(here) / name
            status = path.lstat()
            regular = stat.S_ISREG(status.st_mode)
            yield Member(inside / name, regular, status.st_size, path.read_bytes)


def in_tar(path: Path) -> Iterator[Member]:
    """The members of a tar archive but folders."""
    with tarfile.open(path) as archive:
        for item in archive:
            if not item.isdir():
                yield Member(
                    PurePosixPath(item.name),
                    item.isreg(),
                    item.size,
                    lambda item=item: archive.extractfile(item).read(),
                )


def in_zip(path: Path) -> Iterator[Member]:
    """The members of a zip archive but folders."""
    with zipfile.ZipFile(path) as archive:
        for item in archive.infolist():
            if not item.is_dir():
                kind = stat.S_IFMT(item.external_attr >> 16)
                yield Member(
                    PurePosixPath(item.filename),
                    kind in (0, stat.S_IFREG),
                    item.file_size,
                    lambda item=item: archive.read(item),
                )


def members(path: Path) -> Iterator[Member]:
    """The files handed in; raises Refused for what is neither folder nor archive."""
    if path.is_dir():
        return in_folder(path)
    if path.is_file() and tarfile.is_tarfile(path):
        return in_tar(path)
    if path.is_file() and zipfile.is_zipfile(path):
        return in_zip(path)
    raise Refused(f"{path.name}: neither a folder nor a tar or zip archive")


def read(path: Path) -> dict[PurePosixPath, bytes]:
    """All files of interest by path; the first bad one is refused."""
    found: dict[PurePosixPath, bytes] = {}
    for count, member in enumerate(members(path), 1):
        if count > MOST_FILES:
            raise Refused(f"more than {MOST_FILES} files")
        if member.path.is_absolute():
            raise Refused(f"{member.path}: an absolute path")
        if ".." in member.path.parts:
            raise Refused(f"{member.path}: a path that leaves its folder")
        if passed_over(member.path):
            continue
        if not member.regular:
            raise Refused(f"{member.path}: a link or special file")
        if member.bytes > MOST_BYTES:
            raise Refused(f"{member.path}: {member.bytes} bytes, more than {MOST_BYTES}")
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


def take(
    path: Path,
    files: tuple[str, ...],
    as_handed_out: Callable[[str], set[bytes]] | None = None,
) -> dict[str, str]:
    """The text of each of the lab's files in the submission, or Refused.

    as_handed_out: the contents that another file may have, none if it is a new one; if
    it is left out, other files are not looked at.
    """
    try:
        found = read(path)
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError, NotImplementedError) as error:
        raise Refused(f"{path.name}: {error}") from None
    folder = top(found, files)
    inside = {p.relative_to(folder).as_posix(): d for p, d in found.items() if folder in p.parents}
    for file in files:
        if file not in inside:
            raise Refused(f"{file}: missing")
    for file, data in inside.items() if as_handed_out else ():
        ours = file in files or file.split("/")[0] not in (*SOURCES, "Makefile")
        if not ours and data not in as_handed_out(file):
            raise Refused(f"{file}: changed or new, but not one of the lab's: {', '.join(files)}")
    return {file: text(file, inside[file]) for file in files}
