"""Take the lab's files from a submission: a folder, a tar or zip archive, or a file.

Nothing is unpacked: members are read one by one into memory (archive.py, which limits the cost).
These files are refused, with a message:

- links and special files;
- a file of more than MOST_BYTES, and relevant files of more than MOST_KEPT bytes together;
- members with the same name, or with names that differ only in case or in how accents are written;
- a file of the lab that is missing, empty, or not text;
- another source of the tree that is new, or differs from what was handed out;
- an archive that cannot be read for any reason.

Built and hidden files (PASSED_OVER) are ignored, and so is what editors and Windows leave
beside a source (BY_PRODUCTS). A file that is neither one of the lab's nor a source of the tree by
its folder and its ending (ENDINGS), such as a report, is not read, whatever its size and its name.

The files may lie in one folder inside, as is usual in archives. A file that was handed in without
its folders is put in its place if its name determines which file of the lab it is.
"""

import codecs
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from grade.trust import archive
from grade.trust.archive import MOST_BYTES, Member, Refused
from sluice.host.fault import HostFault, describe_fault, is_host_fault

MOST_KEPT = 32 << 20
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SOURCES = ("kernel", "policies", "drives", "user", "mkfs")
ENDINGS = {".c", ".h", ".s", ".ld"}  # of sources, in small letters
PASSED_OVER = {
    *("build", "__pycache__", "__MACOSX", "$RECYCLE.BIN"),
    *("sluice", "experiments", "grade", "book", "tests", "tools", "results"),  # a whole tree's
}
# Copies that editors and tools of diff and merge keep, files that a compiler writes next to a
# source, and files that Windows and macOS put into folders. The names are compared in small
# letters.
BY_PRODUCTS = re.compile(
    r".*~|#.*#|.*\.(?:bak|old|orig|rej|tmp|swp|swo|lnk|o|d|i|s~|gch)|.*\.(?:backup|base|local"
    r"|remote)(?:_\d+)?\.[ch]|~\$.*|(?:eh)?thumbs\.db|desktop\.ini|icon\r|nohup\.out"
)


def is_relevant_folder(folder: PurePosixPath) -> bool:
    """Return True unless this folder is hidden, built or the grader's."""
    return not any(p in PASSED_OVER or (p != ".." and p[0] == ".") for p in folder.parts)


def is_ignored(file: PurePosixPath) -> bool:
    """Return True if this file is ignored: hidden, built, the grader's, or a by-product."""
    return not is_relevant_folder(file) or bool(BY_PRODUCTS.fullmatch(file.name.lower()))


def plain_name(path: PurePosixPath) -> str:
    """Return a name that is equal for all paths that mean one file on some system."""
    return unicodedata.normalize("NFKC", path.as_posix()).casefold()


def is_relevant(path: PurePosixPath, files: tuple[str, ...]) -> bool:
    """Return True if a file can be one of the lab's, or a source of the tree.

    No source has a blank in its name, but copies that file managers make do.
    """
    known = {plain_name(PurePosixPath(name)) for name in ("Makefile", *map(base_name, files))}
    if plain_name(PurePosixPath(path.name)) in known:
        return True
    in_sources = {part.casefold() for part in path.parts[:-1]} & {*SOURCES}
    return bool(in_sources) and path.suffix.lower() in ENDINGS and " " not in path.name


def check_name(member: Member, found: dict[str, PurePosixPath]) -> None:
    """Raise Refused if a member's name is that of one found before."""
    other = found.setdefault(plain_name(member.path), member.path)
    if other is not member.path:
        same = "twice" if other == member.path else f"the name of {other}, spelled differently"
        raise Refused(f"{member.path}: {same}: leave one of them out")


def iter_members(path: Path, files: tuple[str, ...]) -> Iterator[Member]:
    """Return an iterator over what was handed in.

    A file may be one of the lab's files instead of an archive.
    """
    if path.is_file() and path.name in map(base_name, files):
        return archive.single_member(path)
    return archive.iter_members(path, is_relevant_folder)


def read_members(
    path: Path, files: tuple[str, ...]
) -> tuple[dict[PurePosixPath, bytes], list[PurePosixPath]]:
    """Return all relevant files by path, and the paths of all files that are not ignored.

    Raises Refused for the first bad file.
    """
    found: dict[PurePosixPath, bytes] = {}
    seen: list[PurePosixPath] = []
    names: dict[str, PurePosixPath] = {}
    kept = 0
    for member in iter_members(path, files):
        if member.kind == stat.S_IFDIR or is_ignored(member.path):
            continue
        if member.kind != stat.S_IFREG:
            raise Refused(
                f"{member.path}: a link or special file: hand in a plain file, or leave it out"
            )
        seen.append(member.path)
        if not is_relevant(member.path, files):
            continue
        check_name(member, names)
        if member.bytes > MOST_BYTES:
            raise Refused(
                f"{member.path}: {member.bytes} bytes, more than {MOST_BYTES}: shorten it"
            )
        kept += member.bytes
        if kept > MOST_KEPT:
            raise Refused(f"files of more than {MOST_KEPT} bytes: {archive.ONLY}")
        found[member.path] = member.data()
    return found, seen


def suggest_file(file: str, seen: list[PurePosixPath]) -> str:
    """Return a hint that names a file which may be this file, renamed; empty if there is none.

    Windows, a browser or a learning platform may have renamed the file.
    """
    name = PurePosixPath(file)
    for path in seen:
        rest = path.name.casefold().removeprefix(name.stem.casefold())
        changed = rest != path.name.casefold() and not rest[:1].isalnum() and path.name != name.name
        if changed and name.suffix in rest:
            hides = "; Windows hides the ending .txt" if rest.endswith(".txt") else ""
            return f'. There is "{path}": if it is this file, name it {name.name}{hides}'
    return ""


def find_top(found: dict[PurePosixPath, bytes], files: tuple[str, ...]) -> PurePosixPath:
    """Return the folder in the submission that contains some of the lab's files in their folders.

    It is the top folder if no folder contains them. Raises Refused if several folders do.
    """
    tops = {
        path.parents[len(PurePosixPath(file).parts) - 1]
        for file in files
        for path in found
        if path.as_posix() == file or path.as_posix().endswith(f"/{file}")
    }
    if len(tops) > 1:
        raise Refused(f"several folders with {', '.join(files)}: hand in one of them")
    return tops.pop() if tops else PurePosixPath()


def base_name(file: str) -> str:
    """Return the last part of a path."""
    return PurePosixPath(file).name


def join_with_or(words: list[str]) -> str:
    """Return the words as a list with "or"."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def find_lone_files(inside: dict[str, bytes], name: str) -> list[str]:
    """Return the files of this name that do not lie in a folder of sources."""
    paths = map(PurePosixPath, inside)
    return [str(p) for p in paths if p.name == name and not {*p.parts[:-1]} & {*SOURCES}]


def place_lone_files(inside: dict[str, bytes], files: tuple[str, ...]) -> dict[str, bytes]:
    """Return the files, with each file that came without its folders in its place.

    Raises Refused if a name does not determine the place.
    """
    made = dict(inside)
    for file in (file for file in files if file not in inside):
        name = base_name(file)
        here = find_lone_files(inside, name)
        places = [other for other in files if base_name(other) == name]
        if here and len(places) > 1:
            raise Refused(f"{here[0]}: is it {join_with_or(places)}? Hand it in in its folders")
        if len(here) > 1:
            raise Refused(
                f"{file}: is it {join_with_or(here)}? Hand in one of them, in its folders"
            )
        if here:
            made[file] = made.pop(here[0])
    return made


def decode_source(path: str, data: bytes) -> str:
    """Return a source's text without a byte order mark. Raises Refused.

    Some editors of Windows write the mark, and compilers ignore it.
    """
    if data.startswith(WIDE):
        raise Refused(f"{path}: no text in UTF-8, but in UTF-16: save it as UTF-8")
    try:
        found = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Refused(
            f"{path}: no text in UTF-8: line {line} has the byte {data[error.start]:02X}: "
            "save it as UTF-8"
        ) from None
    if not found.strip():
        raise Refused(f"{path}: empty: hand in the file with your work in it")
    return found


def read_contents(
    path: Path, files: tuple[str, ...]
) -> tuple[dict[str, bytes], list[PurePosixPath]]:
    """Return the relevant files of the folder with the lab's files, and all paths.

    The paths are those of everything that was handed in. Raises Refused and HostFault.
    """
    try:
        found, seen = read_members(path, files)
    except Refused:
        raise
    except Exception as error:  # a damaged archive can raise any error
        if is_host_fault(error):
            raise HostFault(f"{path.name} cannot be read here: {describe_fault(error)}") from None
        raise Refused(
            f"{path.name}: damaged or cut off ({type(error).__name__}: {error}): make the archive "
            "anew, and see that it opens"
        ) from None
    folder = find_top(found, files)
    inside = {p.relative_to(folder).as_posix(): d for p, d in found.items() if folder in p.parents}
    made = place_lone_files(inside, files)
    if not made.keys() & {*files}:
        raise Refused(
            f"{path.name or path}: none of the files that are asked for is in it: hand them in, in"
            f" their folders: {', '.join(files)}{suggest_file(files[0], seen)}"
        )
    return made, seen


def take_present_files(path: Path, files: tuple[str, ...]) -> dict[str, str]:
    """Return the texts of those of the files that exist. Raises Refused if none does."""
    inside, _ = read_contents(path, files)
    return {file: decode_source(file, data) for file, data in inside.items() if file in files}


def take_files(
    path: Path, files: tuple[str, ...], as_handed_out: Callable[[str], set[bytes]]
) -> dict[str, str]:
    """Return the text of each of the lab's files in the submission. Raises Refused.

    as_handed_out: a function that returns the contents which a file outside the lab may have; none
    for a new file.
    """
    inside, seen = read_contents(path, files)
    for file in files:
        if file not in inside:
            raise Refused(f"{file}: missing: hand it in, too{suggest_file(file, seen)}")
    for file, data in inside.items():
        ours = file in files or file.split("/")[0] not in (*SOURCES, "Makefile")
        if not ours and data not in as_handed_out(file):
            raise Refused(
                f"{file}: changed or new, but not one of the lab's: {', '.join(files)}: undo the "
                "change, or leave the file out"
            )
    return {file: decode_source(file, inside[file]) for file in files}
