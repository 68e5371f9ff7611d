"""The log that QEMU writes of a disk: its writes and flushes, in order, as events.

QEMU's driver `blklogwrites` writes the format of Linux's dm-log-writes, version 1 (the kernel's
documentation has it, admin-guide/device-mapper/log-writes): a sector with the log's superblock,
then for each command a sector with four little-endian numbers, and the data.

- The log of a disk with cache=unsafe has no flushes, and its superblock stays empty: use
  cache=writeback.
- The superblock counts entries only now and then, so a log is read to its end.
- A discard is an entry without data. Nothing here knows what a disk reads there afterwards, so it
  is refused.
- A flush is logged only if something was written since the last one. It is in the log where QEMU
  began it, so a write that had not ended by then counts as flushed.
"""

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from sluice.crash.disk_events import SECTOR, BadRecording, Event
from sluice.host.quoting import quote_qemu
from sluice.system.qemu import Disk

ENTRY = struct.Struct("<4Q")  # sector, sectors, flags, bytes of data in the entry's own sector
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8  # flags
KNOWN = FLUSH | FUA | DISCARD | MARK
HEAD = struct.Struct("<3QI")  # magic number, version, entries, size of a sector
MAGIC, VERSION = 0x6A736677736872, 1


def logged_disk(image: Path, log: Path) -> Disk:
    """Return a disk of a machine whose commands QEMU logs, each by itself. Makes the log empty."""
    log.write_bytes(b"")
    files = f"file.driver=file,file.filename={quote_qemu(image)}"
    files += f",log.driver=file,log.filename={quote_qemu(log)}"
    return Disk(
        drive=f"driver=blklogwrites,{files}", cache="writeback", device="request-merging=off"
    )


def parse_log(data: bytes) -> list[Event]:
    """Return the events of a log; a last entry that is not whole is left out. Raises BadRecording,
    which says what is wrong, and where."""
    if len(data) < SECTOR:
        raise BadRecording("the log of writes is empty")
    magic, version, _, sector_bytes = HEAD.unpack_from(data)
    if (magic, version) not in ((MAGIC, VERSION), (0, 0)):
        raise BadRecording("the log of writes does not begin with the superblock of such a log")
    if magic and sector_bytes != SECTOR:
        raise BadRecording(f"the log has sectors of {sector_bytes} bytes; {SECTOR} are wanted")
    return list(_iterate_entries(data))


def _iterate_entries(data: bytes) -> Iterator[Event]:
    """Yield the events of a log's entries."""
    at = SECTOR
    while at + SECTOR <= len(data):
        sector, sectors, flags, own = ENTRY.unpack_from(data, at)
        if flags & ~KNOWN or flags & (DISCARD | MARK) or own:
            raise BadRecording(f"the log's entry at byte {at} has flags {flags:#x}: not understood")
        at += SECTOR
        end = at + sectors * SECTOR
        if end > len(data):
            return
        if flags & FLUSH:
            yield Event("flush")
        if sectors:
            yield Event("write", 0, sector * SECTOR, data[at:end])
        if flags & FUA:
            yield Event("flush")
        at = end


def format_log(events: Iterable[Event]) -> bytes:
    """Return a write log with the writes and flushes of these events."""
    parts = [fill_sector(HEAD.pack(MAGIC, VERSION, 0, SECTOR))]
    for event in events:
        if event.kind in ("write", "flush"):
            flags = FLUSH if event.kind == "flush" else 0
            head = ENTRY.pack(event.at // SECTOR, event.sectors(), flags, 0)
            parts.append(fill_sector(head) + event.data)
    return b"".join(parts)


def fill_sector(data: bytes) -> bytes:
    """Return data with zeros behind it, as a whole sector."""
    return data + bytes(SECTOR - len(data))
