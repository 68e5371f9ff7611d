"""The disks of a trace that has several.

While it is read, they are PLACE bytes apart (`place`). What was read of it is then laid down one
disk after another, in the order of their numbers (`side_by_side`).
"""

import numpy as np

from sluice.trace.stream import MOST_BYTES, expect_in

PLACE = 1 << 48  # of a disk among the bytes of all
UNITS = 1 << 14  # as many have room below 2^62
ROUND = 1 << 20  # bytes: each disk begins at a multiple


def place(unit: int, offset: int, size: int) -> int:
    """Where a request to the disk of this number begins among the bytes of all disks. One of size 0
    is left out, so that its place may be any (-1 in a flush): then 0. Raises ValueError if there is
    no such place."""
    if not size:
        return 0
    expect_in("the unit", unit, 0, UNITS - 1)
    expect_in("the size", size, 0, MOST_BYTES, " bytes")
    expect_in("the offset", offset, 0, PLACE - size, " bytes")
    return unit * PLACE + offset


def side_by_side(requests: np.ndarray) -> np.ndarray:
    """The requests with their disks one after another, each as long as they use it."""
    found = requests.copy()
    unit, offset = np.divmod(requests["offset"], np.uint64(PLACE))
    start = 0
    for number in np.unique(unit):
        here = unit == number
        found["offset"][here] = offset[here] + np.uint64(start)
        start += -(-int((offset[here] + requests["bytes"][here]).max()) // ROUND) * ROUND
    return found
