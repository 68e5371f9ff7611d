"""The traces of the authors of ARC (*.lis): a line for each request, without times and writes.

1049 4 0 12
first block of 512 bytes, blocks, a number without meaning, the request's number
"""

from functools import partial

from sluice.trace.stream import Row, is_readable_as, parse_whole, split_spaces, tables_of_lines

ABOUT = "ARC: first block and number of blocks a line (.lis)"
SOURCE = "N. Megiddo and D. Modha, ARC, FAST 2003: its traces"
TIMELESS = True
BLOCK = 512


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return is_readable_as(head, parse_row)


def parse_row(line: str) -> Row:
    """Return a line's request. Raises ValueError."""
    first, count, *others = split_spaces(line, (4,))
    for word in others:
        parse_whole(word, "the number")
    at, size = parse_whole(first, "the first block"), parse_whole(count, "the blocks")
    return 0, at * BLOCK, size * BLOCK, 0


read = partial(tables_of_lines, row_of=parse_row)
