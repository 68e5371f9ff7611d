"""Write blktrace's binary format: a file `diskN.blktrace.0` for each disk.

Records as Linux's include/uapi/linux/blktrace_api.h lays them out, version 7, in the machine's byte
order. A request is queued (Q) and inserted (I) at one instant. When a command is issued (D), its
other requests merge (M) with its first request. Each request completes (C) separately. The file
begins with the names of all processes. Disk N is the device 8,16N.
"""

import struct
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from sluice.export.recording import Recording
from sluice.system.requests import Request

ABOUT = "blktrace binary, for blkparse, btt, iowatcher"
RECORD = struct.Struct("=IIQQIIIIIHH")
MAGIC_VERSION = 0x65617407
SECTOR_BYTES = 512
EIO = 5

# Categories, in the upper half of an action.
READ, WRITE, QUEUE, ISSUE, COMPLETE, NOTIFY = (
    1 << bit + 16 for bit in (0, 1, 4, 6, 7, 10)
)  # fmt: skip
# Actions, in the lower half.
Q = 1 | QUEUE
M = 2 | QUEUE  # a back merge
D = 7 | ISSUE
C = 8 | COMPLETE
I = 12 | QUEUE  # noqa: E741
PROCESS = 0 | NOTIFY

Step = tuple[int, int, int, Request, int]  # time, rank, action, request, sectors


def device_number(disk: int) -> int:
    """Return the device number of a disk, in Linux's numbering of sda, sdb and so on."""
    return 8 << 20 | disk * 16


def steps_of_command(members: list[Request]) -> Iterator[Step]:
    """Yield the steps of requests that were issued in one command."""
    first = members[0]
    sectors = sum(r.sectors for r in members)
    for r in members:
        yield r.queued_ns, 0, Q, r, r.sectors
        yield r.queued_ns, 1, I, r, r.sectors
        if r is not first:
            yield r.issued_ns, 2, M, r, r.sectors
        yield r.completed_ns, 4, C, r, r.sectors
    yield first.issued_ns, 3, D, first, sectors


def request_steps(requests: Iterable[Request]) -> list[Step]:
    """Return all steps of a disk's requests, in the order of time."""
    ordered = sorted(requests, key=lambda r: (r.command, r.sector))
    found: list[Step] = []
    for _, members in groupby(ordered, key=lambda r: r.command):
        found += steps_of_command(list(members))
    return sorted(found, key=lambda step: step[:2])


def name_records(recording: Recording, disk: int, time_ns: int) -> Iterator[bytes]:
    """Yield the records that name the processes, each followed by a name of 16 bytes."""
    for pid in sorted({r.pid for r in recording.requests if r.disk == disk}):
        name = recording.process(pid).encode()[:15].ljust(16, b"\0")
        yield (
            RECORD.pack(
                MAGIC_VERSION, 0, time_ns, 0, 0, PROCESS, pid, device_number(disk), 0, 0, len(name)
            )
            + name
        )


def encode_steps(ordered: list[Step]) -> Iterator[bytes]:
    """Yield the records of steps."""
    for sequence, (time_ns, _, action, r, sectors) in enumerate(ordered, 1):
        yield RECORD.pack(
            MAGIC_VERSION,
            sequence,
            time_ns,
            r.sector,
            sectors * SECTOR_BYTES,
            action | (WRITE if r.write else READ),
            r.pid,
            device_number(r.disk),
            0,
            EIO if r.failed and action == C else 0,
            0,
        )


def write(recording: Recording, folder: Path) -> list[str]:
    """Write a file for each disk that had requests. Returns commands that open the files."""
    commands = []
    for disk in sorted({r.disk for r in recording.requests}):
        ordered = request_steps(r for r in recording.requests if r.disk == disk)
        data = [*name_records(recording, disk, ordered[0][0]), *encode_steps(ordered)]
        (folder / f"disk{disk}.blktrace.0").write_bytes(b"".join(data))
        commands += [
            f"blkparse -i disk{disk}",
            f"blkparse -i disk{disk} -d disk{disk}.bin -O && btt -i disk{disk}.bin",
            f"iowatcher -t disk{disk} -o disk{disk}.svg",
        ]
    return commands
