"""Reads lines of five numbers, as simulators of disks and SSDs do (formats/mqsim_ns.py and the
like).

    938944000 13 93230992 32 0
    time, device, first sector, sectors, 0 for a write or 1 for a read

A file does not tell the unit of its times. In MQSim the file of the workload tells it. So each unit
is a format of its own, and --format has to name it. But MQSim's times are whole, so that a file
whose first time has a fraction is of DiskSim.
Devices are disks of their own, laid one after another as the units of SPC are, in the order of
their numbers.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import SECTOR
from sluice.trace.stream import (
    NUMBER,
    LeftOut,
    Row,
    is_readable_as,
    parse_whole,
    split_spaces,
    tables_of_lines,
)
from sluice.trace.units import disk_place

SOURCE = "MQSim, README, and ASCII_Trace_Definition.h: Time_Unit of the workload"
WRITE, READ = 0, 1


def parse_row(line: str, unit_ps: int) -> Row:
    """Return a line's request. unit_ps: the unit of its time, in ps. Raises ValueError."""
    time, device, first, sectors, type_ = split_spaces(line, (5,))
    if not NUMBER.fullmatch(time):
        raise ValueError(f"the time {time!r}: must be a number")
    kind = parse_whole(type_, "the type")
    if kind not in (WRITE, READ):
        raise ValueError(f"the type {kind}: neither {WRITE}, a write, nor {READ}, a read")
    time_ns = int(Decimal(time) * unit_ps / 1000)
    size = parse_whole(sectors, "the sectors") * SECTOR
    at = parse_whole(first, "the first sector") * SECTOR
    return (
        time_ns,
        disk_place(parse_whole(device, "the device"), at, size),
        size,
        int(kind == WRITE),
    )


def make_looks_like(unit_ps: int, fractions: bool = False) -> Callable[[str, bytes], bool]:
    """Return the function looks_like of a format with this unit. fractions: whether its times may
    have them."""

    def parse_likely(line: str) -> Row:
        """Return the request of a line; raise ValueError for a time that this simulator does not
        write."""
        if not fractions and "." in line.split()[0]:
            raise ValueError("a time with a fraction")
        return parse_row(line, unit_ps)

    return lambda name, head: is_readable_as(head, parse_likely)


def make_reader(unit_ps: int) -> Callable[[Path, BinaryIO, LeftOut], Iterator[np.ndarray]]:
    """Return the function read of a format with this unit."""
    return lambda path, stream, left: tables_of_lines(
        path, stream, left, lambda line: parse_row(line, unit_ps)
    )
