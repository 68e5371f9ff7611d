"""Finds the line of a TOML file at which a key stands.

tomllib gives values, not places. This finds the headers of tables and the keys by their form, and
skips text of several lines. A key inside an inline table or an array counts as standing where the
outermost key stands. In a table with rows (rows.py), a row is a table at its own line; the keys
that all rows share stay where they stand.
"""

import re

Path = tuple[str | int, ...]

WORD = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
KEYS = rf"{WORD}(?:\s*\.\s*{WORD})*"
HEADER = re.compile(rf"^\s*(\[\[?)\s*({KEYS})\s*\]")
ENTRY = re.compile(rf"^\s*({KEYS})\s*=")
ROW = re.compile(r"^\s*\[")
QUOTES = ('"""', "'''")


def split_key(keys: str) -> Path:
    """Return the parts of a dotted key."""
    return tuple(word.strip("\"'") for word in re.findall(WORD, keys))


class Lines:
    """The line numbers, from 1, at which the keys of a file stand.

    The path of a table in an array has the table's index as its last part. known: the line of each
    path.
    """

    def __init__(self, text: str) -> None:
        self.text = text.splitlines()
        self.known: dict[Path, int] = {}
        arrays: dict[Path, int] = {}  # by array of tables: the index of its last table
        table: Path = ()  # the table of this line
        inside = ""  # the quotes that text of several lines began with
        in_rows = False
        for number, line in enumerate(self.text, 1):
            if in_rows:
                in_rows = not line.startswith("]")
                if ROW.match(line):
                    arrays[table[:-1]] = self.add_row(table, arrays[table[:-1]], number)
            elif not inside:
                header, entry = HEADER.match(line), ENTRY.match(line)
                if header:
                    table = split_key(header[2])
                    if header[1] == "[[":
                        arrays[table] = arrays.get(table, -1) + 1
                        table = (*table, arrays[table])
                    self.known.setdefault(table, number)
                elif entry:
                    self.known.setdefault((*table, *split_key(entry[1])), number)
                    in_rows = entry[1] == "rows" and table[:-1] in arrays and "]" not in line
            for quotes in QUOTES:
                if line.count(quotes) % 2 and inside in ("", quotes):
                    inside = "" if inside else quotes

    def add_row(self, table: Path, last: int, number: int) -> int:
        """Note that a row of a table stands at the line `number`, and return the row's index in the
        array. The first row has the table's own index. last: the last index in use."""
        is_first = (*table, "rows") in self.known
        index = last if is_first else last + 1
        row = (*table[:-1], index)
        shared = {path: at for path, at in self.known.items() if path[: len(table)] == table}
        for path, at in shared.items():  # the row has the keys of the table
            self.known.setdefault((*row, *path[len(table) :]), at)
        self.known[row] = number
        self.known.pop((*table, "rows"), None)
        return index

    def line(self, path: Path, words: str = "") -> int:
        """Return the line of a key, or of these words in its value. If the key has no
        line, return the line of its table."""
        while path not in self.known and path:
            path = path[:-1]
        first = self.known.get(path, 1)
        for number in range(first, len(self.text) + 1) if words else ():
            if words in self.text[number - 1]:
                return number
        return first
