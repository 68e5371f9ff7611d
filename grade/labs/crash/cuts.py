"""The disk as a power cut would have left it, after each write that it did and in the midst of it.

QEMU keeps the writes of the data disk in their order. So for every n the disk can be made as it
was after the first n writes. A drive writes the sectors of a command one after the other, each
whole or not at all; so the next write may be torn, which leaves the first of its sectors new and
the others old. e2fsck must be able to repair each of these disks without asking (-p),
and the files must then be what a program may expect. A disk of the same bytes comes again in
another test of the same run, and in the runs of other solutions: it is repaired and read once.

Source of the log's format: the kernel documentation's "dm-log-writes", which QEMU's
blklogwrites follows: a superblock, then entries, each a sector and its data.
"""

import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from grade.engine.assertions import expect
from grade.engine.scenario import BLOCK_BYTES, FOR_EVER, Request, Run, Scenario
from grade.engine.workbench import WRITE_LOG
from sluice.host.fault import HostFault
from sluice.host.quoting import folder_and_name
from sluice.system import image

SECTOR = 512
ENTRY = struct.Struct("<QQQQ")  # sector, sectors, flags, bytes of data
FLUSH, DISCARD, MARK = 1, 4, 8
E2FSCK_FAILED = 16  # from this status on e2fsck itself failed: arguments, a signal, libraries
REPAIRED = (0, 1)  # e2fsck: nothing to do; done
MOST_KNOWN = 8000  # disks; a grading has some 300
MOST_CONTENTS = 200

SOON = (
    "write=delayed update=aipu aipu.age_ms=60 aipu.scan_ms=20 nbuf=300"  # blocks are written soon
)
ON_DEMAND = "write=delayed update=none nbuf=300"  # blocks are written when they must be

IN_IT = "first"  # a file in each folder that is there from the start

Files = dict[str, bytes | None]  # None: there is no file of that name


def scenario(
    name: str,
    lines: list[str],
    files: dict[str, bytes],
    args: str = SOON,
    folders: tuple[str, ...] = (),
) -> Scenario:
    """Return a machine whose writes are logged.

    The files are in / of the root disk. The folders are on the data disk from the start, so that a
    fault in making them is only that test's concern.
    """
    return Scenario(
        name,
        "\n".join(lines),
        args,
        files=tuple(files.items()),
        data=tuple((f"{folder}/{IN_IT}", "4K") for folder in folders),
        size="2M",
        logged=True,
    )


class Disk:
    """The bytes of a disk.

    The hash of each block is kept, so that a hash of the whole costs little.
    """

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        self.hashes = [self._hash(block) for block in range(len(data) // BLOCK_BYTES)]

    def _hash(self, block: int) -> bytes:
        return sha256(self.data[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]).digest()

    def write(self, at: int, data: bytes) -> None:
        """Put data at this place, in bytes."""
        self.data[at : at + len(data)] = data
        for block in range(at // BLOCK_BYTES, -(-(at + len(data)) // BLOCK_BYTES)):
            self.hashes[block] = self._hash(block)

    def hash(self) -> bytes:
        """Return the hash of the whole disk."""
        return sha256(b"".join(self.hashes)).digest()


@dataclass
class Known:
    """The results for a repaired disk.

    They are e2fsck's status and output, and what debugfs found there, by path.
    """

    status: int
    said: str
    files: Files = field(default_factory=dict)
    stats: dict[str, str] = field(default_factory=dict)


@lru_cache(maxsize=1)
def repair_cache() -> dict[bytes, Known]:
    """Return the results of all repaired disks so far, by the disk's hash."""
    return {}


@dataclass
class Repaired:
    """A disk, and a file in which it is repaired when a test needs that."""

    disk: Disk
    path: Path
    laid: bool = False

    def results(self) -> Known:
        """Return the results so far; e2fsck has run."""
        hash_ = self.disk.hash()
        if hash_ not in repair_cache():
            while len(repair_cache()) >= MOST_KNOWN:
                repair_cache().pop(next(iter(repair_cache())))
            repair_cache()[hash_] = Known(*self._repair())
        return repair_cache()[hash_]

    def _repair(self) -> tuple[int, str]:
        """Repair the disk with e2fsck, in a file. Returns its status and what it printed."""
        self.path.write_bytes(self.disk.data)
        self.laid = True
        return run_e2fsck(self.path, "-fp")

    def image(self) -> Path:
        """Return the file with the repaired disk."""
        if not self.laid:
            self._repair()
        return self.path


@dataclass(frozen=True)
class Cut:
    """The disk after some of the writes, repaired."""

    run: Run
    writes: int
    last: Request  # the last of these writes
    until_ns: int  # when the next write was done: until then the disk was so
    repaired: Repaired
    known: Known
    torn: int = 0  # how many sectors of the next write are there, too

    @property
    def e2fsck_output(self) -> str:
        """The output of e2fsck when it repaired the disk."""
        return self.known.said

    @property
    def place(self) -> str:
        """The write after which the power went, in words."""
        after = f"write {self.writes}"
        if not self.torn:
            return after
        return f"{after} and the first {self.torn * SECTOR} bytes of the next one"

    def expect(self, condition: bool, expected: str, came: str) -> None:
        """Raise Wrong, with the moment of the cut, unless the condition holds."""
        self.run.expect(
            condition,
            expected,
            f"after {self.place} of the data disk: {came}",
            self.last,
            "completed",
        )

    def files(self, paths: list[str]) -> Files:
        """Return the contents of these files."""
        inside = {path: self.run.scenario.setting.rename_parts(path) for path in paths}
        missing = [name for name in inside.values() if name not in self.known.files]
        if missing:
            self.known.files |= dump_files(self.repaired.image(), missing)
        return {path: self.known.files[name] for path, name in inside.items()}

    def stat(self, path: str) -> str:
        """Return debugfs's lines about the file's inode, or why there is none."""
        name, found = self.run.scenario.setting.rename_parts(path), self.known.stats
        if name not in found:
            found[name] = image.debugfs(self.repaired.image(), f"stat {name}")
        return found[name]


Check = Callable[[Cut], None]


@lru_cache(maxsize=MOST_CONTENTS)
def intern_bytes(contents: bytes) -> bytes:
    """Return the same bytes, so that equal contents are in memory once."""
    return contents


def dump_files(disk: Path, paths: list[str]) -> Files:
    """Return the contents of these files of a disk."""
    with tempfile.TemporaryDirectory() as name:
        outs = {path: Path(name) / str(i) for i, path in enumerate(paths)}
        image.dump_files(disk, outs)
        return {
            p: intern_bytes(out.read_bytes()) if out.exists() else None for p, out in outs.items()
        }


def read_log(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the writes in a log: the place in bytes, and the data.

    The log's first sector is its head. Behind it come entries: a sector that says what is written
    where, and then the data.
    """
    data = path.read_bytes()
    at = SECTOR
    while at + ENTRY.size <= len(data):
        sector, sectors, flags, _ = ENTRY.unpack_from(data, at)
        at += SECTOR
        if not flags & (DISCARD | MARK) and sectors:
            yield sector * SECTOR, data[at : at + sectors * SECTOR]
            at += sectors * SECTOR


@dataclass(frozen=True)
class Write:
    """A write: its place in bytes, its data, and its request in the trace."""

    at: int
    data: bytes
    request: Request

    @property
    def done_ns(self) -> int:
        """The time when it was done."""
        return self.request.completed_ns


def list_writes(run: Run) -> list[Write]:
    """Return the writes of the run."""
    done = run.data(write=True)
    found = list(read_log(run.folder / WRITE_LOG))
    places = [r.sector * SECTOR for r in done]
    expect(
        [at for at, _ in found] == places, "the disk's writes to be those of the trace", "others"
    )
    return [Write(at, data, r) for (at, data), r in zip(found, done, strict=True)]


def run_e2fsck(path: Path, how: str) -> tuple[int, str]:
    """Run e2fsck and return its status, and its output about the disk's faults, on one line.

    Raises HostFault if it did not understand its arguments, or was stopped.
    """
    done = image.run_command("e2fsck", how, path, check=False)
    named = folder_and_name(path)[1]
    said = done.stdout.decode(errors="replace").replace(f"{named}: ", "")
    if done.returncode >= E2FSCK_FAILED:
        raise HostFault(f"e2fsck, which checks disks here: status {done.returncode}: {said}")
    lines = [line for line in said.splitlines() if not line.startswith("Pass ")]
    return done.returncode, " ".join(" ".join(lines).split())


def expect_repaired(cut: Cut) -> None:
    """Raise Wrong unless e2fsck could repair the disk without asking."""
    wanted = "e2fsck -p to repair the disk without asking, after a power cut at any time"
    cut.expect(cut.known.status in REPAIRED, wanted, f"e2fsck says: {cut.e2fsck_output[:200]}")


def expect_clean(run: Run) -> None:
    """Raise Wrong if there was something to repair after the last sync.

    All counts must have been written, too.
    """
    status, said = run_e2fsck(run.folder / "data.after.img", "-fn")
    wanted = "a disk without faults after the last sync"
    expect(status == 0, wanted, f"e2fsck says: {said[:300]}")


def tear_points(disk: Disk, write: Write) -> list[int]:
    """Return after how many of its sectors to tear a write to the disk.

    It is torn after the first sector that it changes, and after the last but one. A write that
    changes fewer than two sectors is not torn.
    """
    starts = range(0, len(write.data), SECTOR)
    old = disk.data[write.at : write.at + len(write.data)]
    changed = [  # the numbers of the sectors, counted from the write's first one
        at // SECTOR for at in starts if old[at : at + SECTOR] != write.data[at : at + SECTOR]
    ]
    return sorted({changed[0] + 1, changed[-2] + 1}) if len(changed) > 1 else []


def tear_write(disk: Disk, write: Write) -> Iterator[int]:
    """Tear a write to the disk in each of these ways, and take it back.

    Yields the number of sectors that were written, while the disk is torn.
    """
    old = bytes(disk.data[write.at : write.at + len(write.data)])
    for sectors in tear_points(disk, write):
        disk.write(write.at, write.data[: sectors * SECTOR])
        yield sectors
        disk.write(write.at, old)


def each_cut(run: Run, start_ns: int, least: int, check: Check) -> None:
    """Cut the power after each write and within the next one, repair the disk, and check it.

    Only writes count that end the disk's state at or after start_ns. There must be at least `least`
    of them.
    """
    disk = Disk((run.folder / "data.img").read_bytes())
    path = run.folder / "cut.img"
    done = list_writes(run)
    nexts: list[Write | None] = [*done[1:], None]
    for count, (write, then) in enumerate(zip(done, nexts, strict=True), 1):
        disk.write(write.at, write.data)
        until_ns = then.done_ns if then else FOR_EVER
        if until_ns < start_ns:
            continue
        for sectors in (0, *(tear_write(disk, then) if then else ())):
            left = Repaired(disk, path)
            cut = Cut(run, count, write.request, until_ns, left, left.results(), sectors)
            expect_repaired(cut)
            check(cut)
    expect(len(done) >= least, f"at least {least} writes of the data disk", f"{len(done)}")
