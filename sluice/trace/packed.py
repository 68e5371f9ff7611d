r"""The file of requests that the program ioplay replays, which is also our own format of traces.

All is little-endian: 16 bytes "sluice requests\n", u64 the form (1), u64 how many requests follow;
the requests, as REQUEST of common.py has them; zeros up to a whole sector, because the file is the
image of a disk. Requests are in the order of time.
"""

import struct

import numpy as np

from sluice.trace.common import REQUEST, SECTOR

MAGIC = b"sluice requests\n"
FORM = 1
HEAD = struct.Struct("<16sQQ")
LONGEST = 1 << 20  # bytes of a request, REQUEST_MAX in ioplay.c


def packed_bytes(count: int) -> int:
    """Return the length in bytes of the file of this many requests."""
    data = HEAD.size + count * REQUEST.itemsize
    return data + -data % SECTOR


def pack_requests(requests: np.ndarray) -> bytes:
    """Return the file of these requests, shape (requests,), dtype REQUEST."""
    data = HEAD.pack(MAGIC, FORM, len(requests)) + requests.astype(REQUEST).tobytes()
    return data.ljust(packed_bytes(len(requests)), b"\0")
