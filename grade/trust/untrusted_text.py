r"""Make untrusted text safe to show in a terminal, a page, a spreadsheet or a file.

A submission determines names in its archive, the end of a console and a compiler's messages. They
may contain codes that move a terminal's cursor, bytes that are not UTF-8, or text that a
spreadsheet takes for a formula. An invisible character is shown by its number, as <U+FEFF>, and a
byte of a name that is not UTF-8 as \xFF.
"""

import unicodedata
from pathlib import Path

MOST = 4000  # characters
LINE_END = " / "  # stands for the end of a line in a cell
FORMULA = ("=", "+", "-", "@", "\t")


BYTES = range(0xDC80, 0xDD00)  # how Python keeps a byte that is not UTF-8 (PEP 383)
# Characters that are often pasted, and have no well-known name in Unicode.
CALLED = {"\ufeff": "BYTE ORDER MARK", "\r": "CARRIAGE RETURN", "\f": "FORM FEED", "\0": "NULL"}


def show_character(char: str) -> str:
    """Return a character of a line, or its number as <U+FEFF> if it is invisible."""
    if char.isprintable():
        return char
    return f"\\x{ord(char) - 0xDC00:02X}" if ord(char) in BYTES else f"<U+{ord(char):04X}>"


def name_character(char: str) -> str:
    """Return a character's number and name for a message, and itself if it is visible."""
    called = CALLED.get(char) or unicodedata.name(char, "a control character")
    seen = f"{char} " if char.isprintable() and not char.isspace() else ""
    return f"{seen}(U+{ord(char):04X}, {called})"


def make_printable(text: str, most: int = MOST) -> str:
    """Return the text without invisible characters.

    A text of more than `most` characters is cut.
    """
    shown = "".join(c if c in "\n\t" else show_character(c) for c in text[: most + 1])
    return shown if len(shown) <= most else f"{shown[:most]} ..."


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8.

    Characters that UTF-8 cannot encode are escaped, so that no text of a submission raises an
    error.
    """
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def format_cell(text: str) -> str:
    """Return a cell that every spreadsheet takes for text, on one line.

    It has one line because tools that read a table line by line would take the rest of a compiler's
    message for rows. Source: OWASP, "CSV Injection".
    """
    line = LINE_END.join(filter(None, (part.strip() for part in text.splitlines())))
    return f"'{line}" if line.startswith(FORMULA) else line
