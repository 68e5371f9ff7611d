"""The common table of requests.

A table is a NumPy array of the type REQUEST, one element a request, shape (requests,), in the order
of time.
"""

import numpy as np

REQUEST = np.dtype(
    [
        ("time_ns", "<u8"),  # when it came, after any first moment
        ("offset", "<u8"),  # where it begins on the disk, in bytes
        ("bytes", "<u4"),  # how long it is, from 1 on
        ("write", "<u4"),  # 0: a read, 1: a write
    ]
)
SECTOR = 512


def build_table(rows: list[tuple[int, int, int, int]]) -> np.ndarray:
    """Return the table of rows (time_ns, offset, bytes, write). Raises OverflowError for numbers
    that REQUEST cannot hold."""
    return np.array(rows, REQUEST)


def empty_table() -> np.ndarray:
    """Return a table without requests."""
    return np.zeros(0, REQUEST)
