"""LIRS: a block's number a line, in the order in which a program read them.

    560
    *
    561

The traces of the LIRS paper have it, and many of other cache studies. A line with an asterisk
begins another part of the trace, and is left out. Blocks are taken to have 4 KiB. There are no
times and no writes.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.stream import LeftOut, Row, is_readable_as, parse_whole, tables_of_lines

ABOUT = "LIRS: a block's number a line"
SOURCE = "S. Jiang and X. Zhang, LIRS, SIGMETRICS 2002: its traces"
TIMELESS = True
BLOCK = 4096
PART = "*"


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return is_readable_as(head, parse_row)


def parse_row(line: str) -> Row | None:
    """Return a line's request, or None for a line that begins another part."""
    return None if line == PART else (0, parse_whole(line, "the block") * BLOCK, BLOCK, 0)


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from tables_of_lines(path, stream, left, parse_row)
