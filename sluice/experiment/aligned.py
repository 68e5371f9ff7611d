"""Tables that fit the terminal. Columns for which there is no room are printed below the others,
with the names of the rows again.

- No number is split over two lines. Names and words that are too long go on in the next line.
- A row without a figure in a part of the table is left out of the part.
- Output that is no terminal is 80 columns wide, whatever wrote to it and whatever reads it.
- Every table that a command prints is made here (tests/tools/test_tables.py).

rich (https://rich.readthedocs.io) measures and folds the cells.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sluice.host import printing

GAP = 2  # blanks between columns
NAMES = 0.5  # largest share of the line for the columns of names
LEAST_WORDS = 16  # of a column of words: with less room the column is printed below the others
INDENT = 2  # of figures that stand below their row's name

Rows = list[list[str]]


def column_widths(rows: Rows) -> list[int]:
    """Return the width of each column, in characters of a terminal."""
    from rich.cells import cell_len

    return [max(map(cell_len, column)) for column in zip(*rows, strict=True)]


def name_columns_width(wide: list[int], width: int) -> int:
    """Return the width that the columns which name a row have together: as much as they need, but
    no more than the share NAMES of the terminal, unless each had less than a letter.

    wide: what each column needs, in letters; width: the terminal's.
    """
    needed = sum(wide) + GAP * (len(wide) - 1) if wide else 0
    return min(needed, max(int(width * NAMES), len(wide) * (GAP + 1)))


def split_columns(wide: list[int], keys: int, width: int) -> Iterator[list[int]]:
    """Yield the parts of a table that is wider than `width`: for each, the indices of its columns
    without those that name a row."""
    room = width - name_columns_width(wide[:keys], width)
    if sum(wide) + GAP * (len(wide) - 1) <= width:
        room = width
    part: list[int] = []
    used = 0
    for i in range(keys, len(wide)):
        if part and used + GAP + wide[i] > room:
            yield part
            part, used = [], 0
        part.append(i)
        used += GAP + wide[i]
    if part or keys == len(wide):
        yield part


def format_rows(
    rows: Rows,
    left: Collection[int],
    folded: Collection[int],
    width: int,
    wide: list[int] | None = None,
) -> list[str]:
    """Return the lines of a table. left: indices of the left-aligned columns; folded: indices of
    the columns whose cells may be continued in the next line; wide: the columns' widths, if their
    cells do not decide."""
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


def format_table(
    rows: Rows,
    heads: int = 1,
    keys: int = 1,
    width: int | None = None,
    words: Collection[int] = (),
) -> list[str]:
    """Return the lines of a table, split into parts if the terminal is too narrow.

    heads: how many rows are its head; keys: how many columns name a row; width: the terminal's, if
    None; words: indices of other columns that hold words.
    """
    width = width or printing.line_width()
    wide = [min(n, LEAST_WORDS) if i in words else n for i, n in enumerate(column_widths(rows))]
    lines: list[str] = []
    for part in split_columns(wide, keys, width):
        kept = []
        for at, row in enumerate(rows):
            cells = [row[i] for i in part]
            # A row without cells here is left out, except a head that names the keys.
            if any(cells) or (any(row[:keys]) if at < heads else not part):
                kept.append(row[:keys] + cells)
        left = {*range(keys), *(keys + at for at, i in enumerate(part) if i in words)}
        lines += [*([""] if lines else []), *format_rows(kept, left, left, width)]
    return lines


@dataclass(frozen=True)
class Growing:
    """A table whose rows are printed one by one, as they are measured.

    On a terminal that is too narrow, the figures of a row stand below its name, each after its
    column's head. heads: of all columns except the first, which names the row; wide: the widths of
    all columns.
    """

    heads: list[str]
    wide: list[int]
    words: Collection[int] = ()

    def fits_terminal(self) -> bool:
        """Return whether the terminal is wide enough for the whole table."""
        return sum(self.wide) + GAP * (len(self.wide) - 1) <= printing.line_width()

    def format_head(self) -> list[str]:
        """Return the lines of the head; none if figures stand below the rows' names."""
        return self.format_cells(["", *self.heads]) if self.fits_terminal() else []

    def format_row(self, *cells: str) -> list[str]:
        """Return the lines of a row."""
        if self.fits_terminal():
            return self.format_cells(list(cells))
        name, *others = cells
        pairs = zip(self.heads, others, strict=True)
        figures = ", ".join(f"{head} {cell}".strip() for head, cell in pairs if cell)
        room = printing.line_width()
        return [
            *format_rows([[name]], {0}, {0}, room),
            *format_rows([["", figures]], {0, 1}, {1}, room, [0, room - INDENT]),
        ]

    def format_cells(self, row: list[str]) -> list[str]:
        """Return the lines of a row on a terminal that is wide enough."""
        left = {0, *self.words}
        return format_rows([row], left, left, printing.line_width(), self.wide)
