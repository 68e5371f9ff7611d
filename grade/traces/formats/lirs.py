"""LIRS: a block's number a line, in the order in which a program read them.

    560
    *
    561

The traces of the LIRS paper have it, and many of other cache studies. A line with an asterisk
begins another part of the trace, and is left out. Blocks are taken to have 4 KiB. There are no
times and no writes.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from grade.traces.stream import Row, of_lines, whole

ABOUT = "LIRS: a block's number a line"
SOURCE = "S. Jiang and X. Zhang, LIRS, SIGMETRICS 2002: its traces"
TIMELESS = True
BLOCK = 4096
PART = "*"
LINE = re.compile(rb"(?:\d+|\*)[ \t]*\r?\n(?:\d+|\*)[ \t]*(?:\r?\n|$)")


def looks_like(name: str, head: bytes) -> bool:
    return bool(LINE.match(head))


def row_of(line: str) -> Row | None:
    """A line's request."""
    return None if line == PART else (0, whole(line, "the block") * BLOCK, BLOCK, 0)


def read(path: Path, stream: BinaryIO) -> Iterator[np.ndarray]:
    yield from of_lines(path, stream, row_of)
