"""MSR Cambridge: a line for each request, with its time in 100 ns since the year 1601.

128166372003061629,usr,0,Read,7014609920,24576,41286
timestamp, host, disk, Read or Write, offset and size in bytes, response time
"""

import re
from functools import partial

from grade.traces.stream import Row, fields, kind, of_lines

ABOUT = "MSR Cambridge, CSV"
SOURCE = (
    "D. Narayanan, A. Donnelly and A. Rowstron, Write Off-Loading, FAST 2008; README of the traces"
)
TICK_NS = 100
EPOCH_S = 11644473600  # from 1601 to 1970: less is left of a time, and it fits 64 bits in ns
LINE = re.compile(rb"\d{15,},[^,\n]*,\d+,(?:Read|Write),\d+,\d+(?:,\d*)?\r?$", re.M)
WRITES = {"Read": 0, "Write": 1}


def looks_like(name: str, head: bytes) -> bool:
    return bool(LINE.match(head))


def row_of(line: str) -> Row:
    """A line's request."""
    words = fields(line, 6, 7)
    write = kind(words[3].capitalize(), WRITES)
    ticks = int(words[0]) - EPOCH_S * 10**7
    return ticks * TICK_NS, int(words[4]), int(words[5]), write


read = partial(of_lines, row_of=row_of)
