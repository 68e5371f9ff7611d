"""Read the list of a class: a file with a student's name on each line."""

from pathlib import Path

from grade.trust import names
from grade.trust.untrusted_text import make_printable


class BadRoster(Exception):
    """The error for a class list that cannot be used; the text says which line is wrong."""


def read_roster(path: Path) -> dict[str, str]:
    """Return the students in a file with a name on each line, by the names of their folders.

    A name that occurs twice, with its accents written in two ways, is one student; a printed line
    reports it. Raises BadRoster.
    """
    found: dict[str, str] = {}
    written: set[str] = set()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadRoster(f"{path}: {error}") from None
    for number, line in enumerate(lines, 1):
        name = line.strip()
        folder = names.folder_for(name)
        if name and not (folder and names.is_name(name)):
            raise BadRoster(
                f'{path}: line {number}: "{make_printable(name)}" cannot be a name in a form, '
                f"which has {names.HAS}"
            )
        if names.normalize_name(name) == found.get(folder) and name not in written:
            print(
                f"{path}: line {number}: {name} is there already, with its accents written in "
                "another way: one tree is made"
            )
        elif folder in found:
            raise BadRoster(
                f"{path}: line {number}: {name} and {found[folder]} would share a folder"
            )
        if name:
            found[folder] = names.normalize_name(name)
            written.add(name)
    if not found:
        raise BadRoster(f"{path}: it has no names; write one on each line")
    return found
