"""Tables that fit the terminal. Columns for which there is no room are printed below the others,
with the names of the rows again.

- No figure is broken. A name that is too long is continued in the next line.
- A row without a figure in a part of the table is left out of the part.
- Output that is no terminal is 80 columns wide, whatever wrote to it and whatever reads it.

rich (https://rich.readthedocs.io) measures and folds the cells.
"""

from collections.abc import Iterator

from grade.host import printing

GAP = 2  # blanks between columns
NAMES = 0.5  # of the width, at most, for the columns of names

Rows = list[list[str]]


def widths(rows: Rows) -> list[int]:
    """The width of each column, in characters of a terminal."""
    from rich.cells import cell_len

    return [max(map(cell_len, column)) for column in zip(*rows, strict=True)]


def names_width(wide: list[int], width: int) -> int:
    """How wide the columns of names are together."""
    whole = sum(wide) + GAP * (len(wide) - 1)
    return min(whole, max(int(width * NAMES), len(wide) * (GAP + 1)))


def parts(wide: list[int], keys: int, width: int) -> Iterator[list[int]]:
    """The columns of each part of the table, without those of names; as many as there is room."""
    room = width - names_width(wide[:keys], width)
    if sum(wide[:keys]) + GAP * (keys - 1) + sum(n + GAP for n in wide[keys:]) <= width:
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


def drawn(rows: Rows, keys: int, width: int) -> list[str]:
    """The lines of one part of the table: the names to the left, the others to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, GAP, 0, 0))
    for i in range(len(rows[0])):
        table.add_column(justify="right" if i >= keys else "left", no_wrap=i >= keys)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=width, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as caught:
        console.print(table)
    return [line.rstrip() for line in caught.get().splitlines()]


def aligned(rows: Rows, heads: int = 1, keys: int = 1, width: int | None = None) -> list[str]:
    """The lines of a table. heads: how many rows are its head; keys: how many columns name a row;
    width: if it is not the terminal's."""
    width = width or printing.width()
    lines: list[str] = []
    for part in parts(widths(rows), keys, width):
        kept = [
            row[:keys] + [row[i] for i in part]
            for at, row in enumerate(rows)
            if any(row[i] for i in part) or (any(row[:keys]) if at < heads else not part)
        ]
        lines += [*([""] if lines else []), *drawn(kept, keys, width)]
    return lines
