"""Lines of five numbers, as simulators of disks and of SSDs read them (formats/mqsim_ns.py and the
like).

    938944000 13 93230992 32 0
    time, device, first sector, sectors, 0 for a write or 1 for a read

A file does not tell the unit of its times. In MQSim the file of the workload tells it. So each unit
is a format of its own, and FORMAT= has to name it.
Devices are disks of their own, laid one after another as the units of SPC are, in the order of
their numbers.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import SECTOR
from sluice.trace.stream import NUMBER, LeftOut, Row, of_lines, reads_as, spaced, whole
from sluice.trace.units import place

SOURCE = "MQSim, README, and ASCII_Trace_Definition.h: Time_Unit of the workload"
WRITE, READ = 0, 1


def row_of(line: str, unit_ps: int) -> Row:
    """A line's request. unit_ps: of its time, in ps."""
    time, device, first, sectors, type_ = spaced(line, (5,))
    if not NUMBER.fullmatch(time):
        raise ValueError(f"the time {time!r}: must be a number")
    kind = whole(type_, "the type")
    if kind not in (WRITE, READ):
        raise ValueError(f"the type {kind}: neither {WRITE}, a write, nor {READ}, a read")
    time_ns = int(Decimal(time) * unit_ps / 1000)
    size = whole(sectors, "the sectors") * SECTOR
    at = whole(first, "the first sector") * SECTOR
    return time_ns, place(whole(device, "the device"), at, size), size, int(kind == WRITE)


def looks(unit_ps: int) -> Callable[[str, bytes], bool]:
    """Return looks_like of a format with this unit."""
    return lambda name, head: reads_as(head, lambda line: row_of(line, unit_ps))


def reader(unit_ps: int) -> Callable[[Path, BinaryIO, LeftOut], Iterator[np.ndarray]]:
    """Return read of a format with this unit."""
    return lambda path, stream, left: of_lines(
        path, stream, left, lambda line: row_of(line, unit_ps)
    )
