"""Tables that fit the terminal. Columns for which there is no room are printed below the others,
with the names of the rows again.

- No figure is broken. A name that is too long is continued in the next line, and so are words.
- A row without a figure in a part of the table is left out of the part.
- Output that is no terminal is 80 columns wide, whatever wrote to it and whatever reads it.
- Every table that a command prints is made here (tests/tools/test_tables.py).

rich (https://rich.readthedocs.io) measures and folds the cells.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sluice.host import printing

GAP = 2  # blanks between columns
NAMES = 0.5  # of the width, at most, for the columns of names
LEAST_WORDS = 16  # of a column of words: with less room it is printed below the others
INDENT = 2  # of figures that stand below their row's name

Rows = list[list[str]]


def widths(rows: Rows) -> list[int]:
    """The width of each column, in characters of a terminal."""
    from rich.cells import cell_len

    return [max(map(cell_len, column)) for column in zip(*rows, strict=True)]


def names_width(wide: list[int], width: int) -> int:
    """How wide the columns of names are together."""
    whole = sum(wide) + GAP * (len(wide) - 1) if wide else 0
    return min(whole, max(int(width * NAMES), len(wide) * (GAP + 1)))


def parts(wide: list[int], keys: int, width: int) -> Iterator[list[int]]:
    """The columns of each part of the table, without those of names; as many as there is room."""
    room = width - names_width(wide[:keys], width)
    if sum(wide) + GAP * (len(wide) - 1) <= width:
        room = width
    part, used = [], 0
    for i in range(keys, len(wide)):
        if part and used + GAP + wide[i] > room:
            yield part
            part, used = [], 0
        part.append(i)
        used += GAP + wide[i]
    if part or keys == len(wide):
        yield part


def drawn(
    rows: Rows,
    left: Collection[int],
    folded: Collection[int],
    width: int,
    wide: list[int] | None = None,
) -> list[str]:
    """The lines of a table. left: the columns that begin below one another, where others end so;
    folded: those that are continued in the next line; wide: the columns' widths, if they are not
    those of their cells."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, GAP, 0, 0))
    for i in range(len(rows[0])):
        table.add_column(
            justify="left" if i in left else "right",
            no_wrap=i not in folded,
            overflow="fold",  # a long word, too: nothing is cut
            width=wide[i] if wide else None,
        )
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=width, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as caught:
        console.print(table)
    return [line.rstrip() for line in caught.get().splitlines()]


def aligned(
    rows: Rows,
    heads: int = 1,
    keys: int = 1,
    width: int | None = None,
    words: Collection[int] = (),
) -> list[str]:
    """The lines of a table. heads: how many rows are its head; keys: how many columns name a row;
    width: if it is not the terminal's; words: other columns that are no figures."""
    width = width or printing.width()
    wide = [min(n, LEAST_WORDS) if i in words else n for i, n in enumerate(widths(rows))]
    lines: list[str] = []
    for part in parts(wide, keys, width):
        kept = [
            row[:keys] + [row[i] for i in part]
            for at, row in enumerate(rows)
            if any(row[i] for i in part) or (any(row[:keys]) if at < heads else not part)
        ]
        left = {*range(keys), *(keys + at for at, i in enumerate(part) if i in words)}
        lines += [*([""] if lines else []), *drawn(kept, left, left, width)]
    return lines


@dataclass(frozen=True)
class Growing:
    """A table whose rows are printed when they are measured. A terminal that is too narrow for it
    has the figures of a row below its name, each behind its head.

    heads: of all columns but the first, which names the row; wide: the widths of all columns.
    """

    heads: list[str]
    wide: list[int]
    words: Collection[int] = ()

    def fits(self) -> bool:
        """True if the terminal is wide enough."""
        return sum(self.wide) + GAP * (len(self.wide) - 1) <= printing.width()

    def head(self) -> list[str]:
        """The lines of the head: none if the figures stand below the rows' names."""
        return self.drawn(["", *self.heads]) if self.fits() else []

    def row(self, *cells: str) -> list[str]:
        """The lines of a row."""
        if self.fits():
            return self.drawn(list(cells))
        name, *others = cells
        pairs = zip(self.heads, others, strict=True)
        figures = ", ".join(f"{head} {cell}".strip() for head, cell in pairs if cell)
        room = printing.width()
        return [
            *drawn([[name]], {0}, {0}, room),
            *drawn([["", figures]], {0, 1}, {1}, room, [0, room - INDENT]),
        ]

    def drawn(self, row: list[str]) -> list[str]:
        """The lines of a row beside whose columns there is room."""
        left = {0, *self.words}
        return drawn([row], left, left, printing.width(), self.wide)
