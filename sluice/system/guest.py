"""Keeps the memory of a machine, with its RAM disks (kernel/driver/ramdisk.h), in a file.

QEMU maps the file, so what the machine has in memory can be read here, however the machine ended.
In virtual time the disks are in memory as well. Then a run waits neither for QEMU's devices nor for
the threads that do their work.

From the kernel's memory on the file holds, each at a whole PAGE: the console's text, if it is kept
in memory (kernel/machine/uart.c); the table, as struct table in kernel/driver/ramdisk.c has it; the
log of moves, as machine mode writes it (kernel/entry.S); the disks; a page that nobody uses.

QEMU chooses where the device tree lies, and writes it into this file. Its place is 2 MiB-aligned
and as high as the tree fits: below 3 GiB in version 7.2, below the end of memory in version 10.
Both places are kept free here, the kernel does not boot if the tree is in a disk, and after a run
`verify` finds what was written to a disk by anything but the machine.
"""

import os
import struct
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from sluice.host.closing import Closing
from sluice.host.quoting import descriptor_path, quote_qemu

MEMORY_START = 0x80000000  # physical, of QEMU's virt machine
PAGE = 2 << 20
LEAST = 1 << 30  # where disks begin: QEMU 7.2 puts the device tree below
TREE = PAGE  # behind the disks: newer ones put it there
MOVES_KEPT = 4 << 20  # of the log: more than any experiment makes
CHUNK = 1 << 20  # bytes that are compared at a time
NONE = (1 << 63, 1 << 63)  # behind all ranges
MOST_DISKS = 6 << 30  # of disks: with the memory, the kernel's direct map has room for 8 GiB
SECTOR = 512
RAMDISKS = 8
TABLE = struct.Struct(f"<8s7Q{2 * RAMDISKS}Q")
MOVE = struct.Struct("<QQ")
UNITS = {"K": 10, "M": 20, "G": 30}


class Move(NamedTuple):
    """A transfer of a RAM disk's data by machine mode."""

    disk: int
    sector: int
    sectors: int
    write: bool


def parse_size(memory: str) -> int:
    """Return the bytes of a memory size as QEMU's option -m takes it."""
    unit = memory[-1:].upper()
    return int(memory[:-1]) << UNITS[unit] if unit in UNITS else int(memory) << 20


def round_to_pages(size: int) -> int:
    """Return a size rounded up to whole pages."""
    return -(-size // PAGE) * PAGE


def data_ranges(file: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the offset and size of each piece of a sparse file's range that is not a hole."""
    at = start
    while at < end:
        try:
            at = os.lseek(file, at, os.SEEK_DATA)
        except OSError:  # there are only holes from here on
            return
        hole = min(os.lseek(file, at, os.SEEK_HOLE), end)
        if at < hole:
            yield at, hole - at
        at = hole


def copy_range(source: int, start: int, target: int, to: int, size: int) -> None:
    """Copy a range of a sparse file to another file. Holes are left out."""
    for at, left in data_ranges(source, start, start + size):
        os.lseek(target, to + at - start, os.SEEK_SET)
        while left:
            done = os.sendfile(target, source, at, left)
            at, left = at + done, left - done


class DiskChanged(RuntimeError):
    """The error for a disk that something other than the machine wrote to."""


def subtract_ranges(
    pieces: Iterable[tuple[int, int]], taken: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the rest of `pieces` (offset and size) after the ranges `taken` (start and end) are
    removed.

    It is yielded as start and end, at most CHUNK at a time. Both arguments are in order.
    """
    of = iter(taken)
    start, end = next(of, NONE)
    for at, size in pieces:
        piece_end = at + size
        while at < piece_end:
            while end <= at:
                start, end = next(of, NONE)
            if start <= at:
                at = end
                continue
            to = min(start, piece_end, at + CHUNK)
            yield at, to
            at = to


class Guest(Closing):
    """A machine's memory; a context manager that releases it.

    images: the disks that are to be RAM disks, in order; log: how many moves are kept; kept: a file
    to use, if the memory is to exist afterwards; console: whether the console's text is to be in
    the memory, which needs RAM disks. QEMU then takes 10 to 20 % less time.
    """

    def __init__(
        self,
        memory: str,
        images: tuple[Path, ...] = (),
        log: int = MOVES_KEPT,
        kept: Path | None = None,
        console: bool = False,
    ) -> None:
        """Make the file. The parts that the disks need lie behind the machine's own memory, one
        after the other: the console's text, the table of disks, the log of moves, the images, and
        a page in which a new QEMU puts the device tree."""
        self.memory, self.images, self.moves_kept = memory, images, log if images else 0
        end = parse_size(memory)  # of the parts so far
        self.places: list[tuple[int, int]] = []  # of each disk: offset and size
        self.saved = not images  # whether the disks' images have what the machine wrote
        self.console = 0  # where the text is; 0: not in the memory
        if images:
            end = max(LEAST, round_to_pages(end))
            if console:
                self.console = end
                end += PAGE
            self.table = end
            self.log = self.table + PAGE
            end = self.log + round_to_pages(log * MOVE.size)
        for image in images:
            size = image.stat().st_size
            self.places.append((end, size))
            end += round_to_pages(size)
        self.end = end  # of the disks
        self.size = end + (TREE if images else 0)
        if kept:
            self.file = os.open(kept, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
        else:
            self.file = os.memfd_create("memory of a machine")
        self.path = kept or Path(descriptor_path(self.file))
        os.truncate(self.file, self.size)
        if images:
            self._lay_out()

    def __enter__(self) -> "Guest":
        return self

    def close(self) -> None:
        """Release the memory. A second call does nothing."""
        if self.file >= 0:
            os.close(self.file)
        self.file = -1

    def _lay_out(self) -> None:
        """Write the table of disks, and copy the images into memory."""
        memory_end = parse_size(self.memory)
        text = (self.console or self.table, self.table)
        disks = [n for at, size in self.places for n in (MEMORY_START + at, size // SECTOR)]
        table = TABLE.pack(
            b"ramdisks",
            MEMORY_START + memory_end,
            MEMORY_START + self.log,
            MEMORY_START + self.log + self.moves_kept * MOVE.size,
            *(MEMORY_START + at for at in text),
            MEMORY_START + self.end,
            len(self.places),
            *disks,
            *[0] * (2 * RAMDISKS - len(disks)),
        )
        os.pwrite(self.file, table, self.table)
        for image, (place, size) in zip(self.images, self.places, strict=True):
            with image.open("rb", buffering=0) as source:
                copy_range(source.fileno(), 0, self.file, place, size)

    def options(self) -> list[str]:
        """Return QEMU's options for this memory."""
        file = quote_qemu(self.path)
        backend = f"memory-backend-file,id=memory,size={self.size},mem-path={file},share=on"
        line = ["-m", f"{self.size >> 10}K", "-object", backend]
        return [*line, "-machine", "memory-backend=memory"]

    def argument(self) -> str:
        """Return the boot argument with the RAM disks' table; "" without RAM disks."""
        return f"ramdisks={MEMORY_START + self.table}" if self.images else ""

    def console_text(self) -> bytes:
        """Return what the memory has of the console: its first PAGE bytes, or all."""
        if not self.console:
            return b""
        pieces = data_ranges(self.file, self.console, self.console + PAGE)
        return b"".join(os.pread(self.file, size, at) for at, size in pieces).rstrip(b"\0")

    def save(self) -> None:
        """Write the disks back to their images, once. The machine must have ended."""
        if self.saved:
            return
        self.saved = True
        for image, (place, size) in zip(self.images, self.places, strict=True):
            with image.open("r+b", buffering=0) as target:
                copy_range(self.file, place, target.fileno(), 0, size)

    def verify(self) -> None:
        """Compare the parts of the disks that no move wrote to with their images. Raises
        DiskChanged if they differ.

        The machine must have ended, and not in the middle of a move.
        """
        if not self.images:
            return
        if len(self.records()) == self.moves_kept:
            warnings.warn(
                f"the log of moves is full ({self.moves_kept}): the disks were not compared "
                "with their images",
                stacklevel=2,
            )
            return
        written = self._written_ranges()
        for disk, (image, (place, size)) in enumerate(zip(self.images, self.places, strict=True)):
            with image.open("rb", buffering=0) as source:
                for at, end in subtract_ranges(
                    data_ranges(self.file, place, place + size), written
                ):
                    now = os.pread(self.file, end - at, at)
                    if now != (was := os.pread(source.fileno(), end - at, at - place)):
                        other = next(i for i, byte in enumerate(was) if byte != now[i])
                        sector = (at - place + other) // SECTOR
                        raise DiskChanged(
                            f"disk{disk}: sector {sector} has changed, and the machine has not "
                            "written to it: something else uses its memory, perhaps QEMU"
                        )

    def _written_ranges(self) -> list[tuple[int, int]]:
        """Return the ranges of the file that moves wrote to, as start and end, the lowest first."""
        found: list[tuple[int, int]] = []
        # The lowest bit of an address says that the move wrote.
        writes = ((at - 1 - MEMORY_START, size) for at, size in self.records() if at & 1)
        for start, size in sorted(writes):
            end = start + size
            if found and start <= found[-1][1]:  # it touches the range before: join them
                start, end_before = found.pop()
                end = max(end, end_before)
            found.append((start, end))
        return found

    def records(self) -> list[tuple[int, int]]:
        """Return the log of moves as machine mode wrote it: address and size, in bytes.

        The lowest bit of an address is set if the move wrote to the disk.
        """
        log = b"".join(
            os.pread(self.file, size, at)
            for at, size in data_ranges(self.file, self.log, self.log + self.moves_kept * MOVE.size)
        )
        found = list(MOVE.iter_unpack(log))
        while found and not found[-1][1]:
            found.pop()
        return found

    def moves(self, end: int | None = None) -> list[Move]:
        """Return the transfers that machine mode has done, the oldest first, as far as they are
        kept.

        end: the physical address where the log's next record goes, from machine mode; without it,
        the last record is the log's end. Raises ValueError for an end that the log cannot have, and
        for a record that machine mode cannot have written.
        """
        if end is None:
            records = self.records()
        else:
            used = end - MEMORY_START - self.log
            if used < 0 or used % MOVE.size:
                raise ValueError(f"the log of moves ends at {end:#x}")
            if used > self.moves_kept * MOVE.size:
                most = f"the log has room for {self.moves_kept} moves"
                raise ValueError(f"{most}, and there were {used // MOVE.size}")
            records = list(MOVE.iter_unpack(os.pread(self.file, used, self.log)))
        return [self._parse_move(start, size) for start, size in records]

    def _parse_move(self, start: int, size: int) -> Move:
        """Return the transfer of a record of the log. Raises ValueError if no disk can have it."""
        at = (start & ~1) - MEMORY_START
        for disk, (place, most) in enumerate(self.places):
            sector, odd = divmod(at - place, SECTOR)
            whole = size and not odd and not size % SECTOR
            if whole and place <= at <= at + size <= place + most:
                return Move(disk, sector, size // SECTOR, bool(start & 1))
        raise ValueError(f"the log has a move of {size} bytes at {start:#x}, which is no disk's")
