"""Finds the line of a TOML file at which a key stands.

tomllib gives values, not places. This finds the headers of tables and the keys by their form, and
skips text of several lines. A key inside an inline table or an array counts as standing where the
outermost key stands.
"""

import re

Path = tuple[str | int, ...]

WORD = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
KEYS = rf"{WORD}(?:\s*\.\s*{WORD})*"
HEADER = re.compile(rf"^\s*(\[\[?)\s*({KEYS})\s*\]")
ENTRY = re.compile(rf"^\s*({KEYS})\s*=")
QUOTES = ('"""', "'''")


def split_key(keys: str) -> Path:
    """Return the parts of a dotted key."""
    return tuple(word.strip("\"'") for word in re.findall(WORD, keys))


class Lines:
    """The line numbers, from 1, at which the keys of a file stand."""

    def __init__(self, text: str) -> None:
        self.text = text.splitlines()
        self.known: dict[Path, int] = {}
        arrays: dict[Path, int] = {}
        table: Path = ()
        inside = ""  # the quotes that text of several lines began with
        for number, line in enumerate(self.text, 1):
            if not inside:
                header, entry = HEADER.match(line), ENTRY.match(line)
                if header:
                    table = split_key(header[2])
                    if header[1] == "[[":
                        arrays[table] = arrays.get(table, -1) + 1
                        table = (*table, arrays[table])
                    self.known.setdefault(table, number)
                elif entry:
                    self.known.setdefault((*table, *split_key(entry[1])), number)
            for quotes in QUOTES:
                if line.count(quotes) % 2 and inside in ("", quotes):
                    inside = "" if inside else quotes

    def line(self, path: Path, words: str = "") -> int:
        """Return the line of a key, or of these words in its value. If the key has no line, it is
        that of its table."""
        while path not in self.known and path:
            path = path[:-1]
        first = self.known.get(path, 1)
        for number in range(first, len(self.text) + 1) if words else ():
            if words in self.text[number - 1]:
                return number
        return first
