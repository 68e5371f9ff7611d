"""Names of people and of their submissions, in any script.

A name is compared in Unicode's form C: macOS writes ü as two characters, and it is the same name.
On the way out a name may be changed: for a folder (folder_for), for a spreadsheet (words.cell), or
because it cannot be shown (words.printable). Whoever types one of these names means the same
person (`find`).
"""

import unicodedata
from collections.abc import Collection
from hashlib import sha256

from grade.trust.untrusted_text import cell, printable, visible

MOST = 64  # characters of a person's name
HAS = "at most 64 letters, digits, blanks and . , ' @ -, the first a letter or digit"
BETWEEN = " .,@'\u2019-_\u00b7"
JOINERS = "\u200c\u200d"  # invisible, and part of how Persian and Indian names are written
MOST_BYTES = 200  # of a submission's name: a file's has at most 255


def in_letters(char: str) -> bool:
    """True for letters, digits, and the marks that are combined with them."""
    return char.isalnum() or unicodedata.category(char)[0] == "M" or char in JOINERS


def same(name: str) -> str:
    """A text that is equal for all ways to write a name."""
    return unicodedata.normalize("NFC", name)


def is_name(name: object) -> bool:
    """True if a person may have this name."""
    if not isinstance(name, str) or not 0 < len(same(name)) <= MOST or not name[0].isalnum():
        return False
    return all(in_letters(char) or char in BETWEEN for char in name)


def folder_for(name: str) -> str:
    """The name of a person's folder: blanks and the like are -."""
    kept = "".join(c if in_letters(c) or c in "._" else " " for c in same(name))
    return "-".join(kept.split()).strip("-.")


def of_submission(file: str) -> str:
    """The name of a submission whose folder or archive has this name, without its ending. It can be
    shown, and be the name of a folder of results."""
    name = same("".join(map(visible, file)))
    if len(name.encode()) <= MOST_BYTES:
        return name
    cut = name.encode()[: MOST_BYTES - 12].decode(errors="ignore")
    return f"{cut}...{sha256(name.encode()).hexdigest()[:8]}"


def forms(name: str) -> set[str]:
    """The name, and what becomes of it on the way out, where anything is left."""
    return {same(name), cell(same(name)), printable(same(name)), folder_for(name)} - {""}


def find(typed: str, names: Collection[str]) -> str | None:
    """The name among these that somebody means by what was typed; None if it is none, or could be
    several."""
    if typed in names:
        return typed
    meant = [name for name in names if same(name) == same(typed)]
    meant = meant or [name for name in names if forms(name) & forms(typed)]
    return meant[0] if len(meant) == 1 else None
