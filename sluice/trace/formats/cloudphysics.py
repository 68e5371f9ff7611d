"""CloudPhysics' traces as libCacheSim has them in CSV: a line for each SCSI command.

    version,time,op,size,lbn
    1,86400,2a,512,13700410
    version of vscsi, time in whole s, operation code in hexadecimal, size in bytes, first sector

Its binary forms are the formats vscsi, oraclegeneral and lcs. The requests of a second are spread
evenly over it. Commands that neither read nor write are left out, as in vscsi.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import SECTOR
from sluice.trace.formats.vscsi import OTHERS, READS, VERSIONS, WRITES
from sluice.trace.seconds import spread_seconds
from sluice.trace.stream import (
    LeftOut,
    Line,
    begins_with_head,
    is_readable_as,
    is_table_head,
    parse_whole,
    split_commas,
    tables_of_lines,
)

ABOUT = "CloudPhysics' traces, CSV, as libCacheSim has them"
SOURCE = "libCacheSim, data/trace.csv; C. Waldspurger et al., SHARDS, FAST 2015"
HEAD = "version,time,op,size,lbn"
SECOND_NS = 10**9


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return begins_with_head(head, HEAD) or is_readable_as(head, parse_row)


def parse_row(line: str) -> Line:
    """Return a line's request, why it is left out, or None for the head. Raises ValueError."""
    if is_table_head(line, HEAD):
        return None
    version, time, op, size, sector = split_commas(line, 5, 5)
    if parse_whole(version, "the version") not in VERSIONS:
        raise ValueError(f"the version {version}: must be {' or '.join(map(str, VERSIONS))}")
    if len(op) != 2:
        raise ValueError(f"the operation code {op!r}: must be two hexadecimal digits")
    code = int(op, 16)
    if code not in READS + WRITES:
        return OTHERS.format(code)
    at = parse_whole(sector, "the first sector") * SECTOR
    return (
        parse_whole(time, "the time") * SECOND_NS,
        at,
        parse_whole(size, "the size"),
        int(code in WRITES),
    )


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from spread_seconds(tables_of_lines(path, stream, left, parse_row))
