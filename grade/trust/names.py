"""Compare names of people and of their submissions, in any script.

Names are compared in Unicode's form C, because macOS writes ü as two characters. In output a name
may be changed: for a folder (folder_for), for a spreadsheet (untrusted_text.format_cell), or
because it has invisible characters (untrusted_text.make_printable). A user may type a name in any
of these forms (`find_name`).
"""

import unicodedata
from collections.abc import Collection
from hashlib import sha256
from typing import TypeGuard

from grade.trust.untrusted_text import format_cell, make_printable, show_character

MOST = 64  # characters of a person's name
HAS = "at most 64 letters, digits, blanks and . , ' @ -, the first a letter or digit"
BETWEEN = " .,@'\u2019-_\u00b7"
JOINERS = "\u200c\u200d"  # invisible, and part of how Persian and Indian names are written
MOST_BYTES = 200  # of a submission's name, because the name of a file may have only 255


def is_letter(char: str) -> bool:
    """Return True if the character is a letter, a digit, or a mark that is combined with them."""
    return char.isalnum() or unicodedata.category(char)[0] == "M" or char in JOINERS


def normalize_name(name: str) -> str:
    """Return the normal form of a name, which is equal for all ways to write it."""
    return unicodedata.normalize("NFC", name)


def is_name(name: object) -> TypeGuard[str]:
    """Return True if a person may have this name."""
    if (
        not isinstance(name, str)
        or not 0 < len(normalize_name(name)) <= MOST
        or not name[0].isalnum()
    ):
        return False
    return all(is_letter(char) or char in BETWEEN for char in name)


def folder_for(name: str) -> str:
    """Return the name of a person's folder, with - in place of blanks and punctuation."""
    kept = "".join(c if is_letter(c) or c in "._" else " " for c in normalize_name(name))
    return "-".join(kept.split()).strip("-.")


def submission_name(file: str) -> str:
    """Return the name of a submission whose folder or archive is called `file`.

    The name is printable and can be the name of a folder. file: the file's name without its ending.
    """
    name = normalize_name("".join(map(show_character, file)))
    if len(name.encode()) <= MOST_BYTES:
        return name
    cut = name.encode()[: MOST_BYTES - 12].decode(errors="ignore")
    return f"{cut}...{sha256(name.encode()).hexdigest()[:8]}"


def written_forms(name: str) -> set[str]:
    """Return all forms in which the grader writes a name, except for an empty one."""
    return {
        normalize_name(name),
        format_cell(normalize_name(name)),
        make_printable(normalize_name(name)),
        folder_for(name),
    } - {""}


def find_name(typed: str, names: Collection[str]) -> str | None:
    """Return the name in `names` that was typed, in any form, or None if none or several match.

    Names that are equal but for their normalization count first, then forms that the grader writes.
    """
    if typed in names:
        return typed
    meant = [name for name in names if normalize_name(name) == normalize_name(typed)]
    meant = meant or [name for name in names if written_forms(name) & written_forms(typed)]
    return meant[0] if len(meant) == 1 else None
