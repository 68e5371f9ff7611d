"""cacheMon's io-tracer, block layer (ds_*.csv): a line for each request, when it is done.

    2024-01-15 10:30:45.123456,1234,python3,2048000,write,8192,1.234,1235,16,0,1233
    local time of the end, process, command, first sector, operation, size in bytes, latency in ms,
    thread, sectors, CPU, parent

A request is where it was issued: its latency before its end. Only `read` and `write` are taken;
discards are left out, and what has no data. The file names no device, so all requests are of one.
"""

from functools import partial

from sluice.trace.common import SECTOR
from sluice.trace.iolog import DISCARDS
from sluice.trace.stream import (
    NO_DATA,
    Line,
    begins_with_head,
    is_readable_as,
    is_table_head,
    parse_date,
    parse_kind,
    parse_seconds,
    parse_whole,
    split_commas,
    tables_of_lines,
)

ABOUT = "cacheMon's io-tracer, block layer, CSV"
SOURCE = "github.com/cacheMon/io-tracer, docs/TRACE_FORMAT.md, section 2"
HEAD = "timestamp,pid,command,sector,operation,size,latency_ms,tid,nr_sectors,cpu_id,ppid"
WRITES = {"read": 0, "write": 1}
LEFT = {"flush": NO_DATA, "none": NO_DATA, "discard": DISCARDS, "secure_erase": DISCARDS}
FIELDS = 11
MS_IN_S = 1000


def looks_like(name: str, head: bytes) -> bool:
    return begins_with_head(head, HEAD) or is_readable_as(head, parse_row)


def parse_row(line: str) -> Line:
    """Return a line's request, why it is left out, or None for the head. The command may have
    commas in its name. Raises ValueError."""
    if is_table_head(line, HEAD):
        return None
    words = split_commas(line, FIELDS)
    sector, operation, size, latency = words[-8:-4]
    if why := LEFT.get(operation.lower()):
        return why
    write = parse_kind(operation, WRITES)
    took_ns = parse_seconds(latency) // MS_IN_S
    at = parse_whole(sector, "the sector") * SECTOR
    return parse_date(words[0]) - took_ns, at, parse_whole(size, "the size"), write


read = partial(tables_of_lines, row_of=parse_row)
