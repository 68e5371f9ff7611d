"""The file system that all workloads of a comparison begin with.

It is what our mkfs and our kernel make: ext2, or ext3 with the smallest journal. Linux's drivers
mount it as ext2, ext3 and ext4. So one reader reads all of it, and the features of ext4 that are on
the disk (extents, checksums) are left out; what ext4 does in memory (delayed allocation) is not.

Each free block is filled with bytes that no workload writes: who sees them sees a removed file.
"""

from pathlib import Path

from sluice.crash.ext2 import Reader
from sluice.crash.machine import CrashMachine, Setup, apply_writes, memory_folder
from sluice.crash.workloads import SETUP
from sluice.system import image
from sluice.system.image import Content

SIZE = "8M"  # blocks of 4 KiB, of which the journal needs 1,024
JOURNAL = ("--journal", "4M")
STALE = b"#"


def make_base(has_journal: bool) -> bytes:
    """Return the file system."""
    with memory_folder() as name:
        content = Content(programs=False, size=SIZE, options=JOURNAL if has_journal else ())
        empty = image.make_image(Path(name) / "empty", content).read_bytes()
    with CrashMachine(Setup(), empty) as machine:
        disk = bytearray(apply_writes(empty, machine.record(SETUP)))
    fill_free(disk)
    return bytes(disk)


def fill_free(disk: bytearray) -> None:
    """Fill each free block of a disk of one group with the byte STALE."""
    reader = Reader(disk)
    bitmap, size = reader.block_bitmap_place(0), reader.block_bytes
    for block in range(reader.first_block, reader.blocks):
        bit = block - reader.first_block
        is_used = disk[bitmap + bit // 8] >> bit % 8 & 1
        if not is_used:
            disk[block * size : (block + 1) * size] = STALE * size
