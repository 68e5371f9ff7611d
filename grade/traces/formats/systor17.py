"""SYSTOR '17: a head, then a line for each request, with its time in seconds.

    Timestamp,Response,IOType,LUN,Offset,Size
    1455592800.005208015,0.000172,R,4,2147483648,4096
    time and response time in s, R or W, logical unit, offset and size in bytes

A response time may be missing. All requests of a file are taken, of whatever unit.
"""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import BinaryIO

import numpy as np

from grade.traces.stream import Row, of_lines

ABOUT = "SYSTOR '17, CSV"
SOURCE = "C. Lee et al., Understanding Storage Traffic Characteristics, SYSTOR 2017"
HEAD = "Timestamp,Response,IOType,LUN,Offset,Size"
WRITES = {"R": 0, "W": 1}


def looks_like(name: str, head: bytes) -> bool:
    return head.startswith(HEAD.encode())


def seconds(text: str) -> int:
    """A time in ns, exactly: a binary fraction of a date in seconds is 240 ns off."""
    try:
        return int(Decimal(text).scaleb(9))
    except InvalidOperation:
        raise ValueError(f"not a time: {text!r}") from None


def row_of(line: str) -> Row | None:
    """A line's request."""
    if not line or line == HEAD:
        return None
    words = line.split(",")
    if len(words) != 6:
        raise ValueError(f"{len(words)} fields, not 6")
    if words[2] not in WRITES:
        raise ValueError(f"neither R nor W but {words[2]!r}")
    return seconds(words[0]), int(words[4]), int(words[5]), WRITES[words[2]]


def read(path: Path, stream: BinaryIO) -> Iterator[np.ndarray]:
    return of_lines(path, stream, row_of)
