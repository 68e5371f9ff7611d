"""Faults of a disk, and rotten bits: what must hold, and what was found.

Words of LazyFS (M. Ramos et al., "When Amnesia Strikes", VLDB 2024): `clear` loses all that was not
flushed, `torn-seq` some of several writes, `torn-op` a part of one. Each cut of a campaign is one
of them (`name_cut`). The others are here: a read, a write or a flush that fails, once or always; a
flush that lies; a disk that vanishes; and bits that rot in each structure.

What must hold, stated before it was measured:

- The machine does not panic. Each operation returns.
- If a command failed, a program gets an error, or the disk ends as it would have without the fault.
- A file whose fsync has succeeded is there, with its data; only a flush that lies may lose it.
- `e2fsck -fy` repairs the disk. Only a rotten superblock, of which so small a disk has no copy, a
  rotten descriptor, and a rotten log may be more than it can repair. (Of a log's superblock this
  was learned by measuring: e2fsck 1.47 gives up where it has features that e2fsck does not know.)
- A read that succeeds gives the file's data. ext2 has no checksums, so rotten data are not seen;
  nor is a rotten bit that makes a pointer, a size, a name's inode or a logged block another one
  that may be right; nor a bitmap that calls a block free: `Structure.unseen` has these.
"""

import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from sluice.crash.checker import E2FSCK
from sluice.crash.cuts import Cut, iterate_cuts
from sluice.crash.disk_events import Event
from sluice.crash.ext2 import Damaged, Reader, read_tree
from sluice.crash.laboratory import Laboratory
from sluice.crash.logwriter import Image
from sluice.crash.machine import CrashMachine, Done, Setup, apply_writes, difference
from sluice.crash.operations import Operation, parse_operations, pattern
from sluice.crash.oracle import FoundTree, History
from sluice.crash.replayed_disk import LogLaboratory, fit_setup
from sluice.crash.workloads import SETUP

ENOENT = 2  # of names that the disk does not have
ALWAYS = 1_000_000  # a fault that stays
MOST = 60  # commands of a kind, of which each is to meet the fault
CUTS = 40  # of a recording with a flush that lies
KINDS = ("read", "write", "flush", "vanish")
WORK = (
    "creat /n; write /n 0 6000 10; fsync /n; append /h 3000 11; write /f 60000 100 12;"
    "rename /d/g /e/n; mkdir /e/m; unlink /d/hard; read /f; read /h; sync; umount /"
)
SYNCED, SYNCED_DATA = "/n", pattern(0, 6000, 10)
MORE = parse_operations("mount /; write /f 20000 3000 8; umount /")  # by a block of pointers
READS = ("/f", "/h", "/d/g")
USE = parse_operations(
    "mount /;" + "".join(f"read {path};" for path in READS) + "creat /n; append /n 3000 25;"
    "sync; umount /"
)


@dataclass
class Row:
    """What came of one kind of fault: tries, those in which a program got an error, those whose
    mount was refused, reads that gave wrong data without an error, and what must not be."""

    what: str
    tries: int = 0
    told: int = 0
    refused: int = 0
    silent: int = 0
    wrong: list[str] = field(default_factory=list)


def name_cut(cut: Cut, pending: int) -> str:
    """Return LazyFS's word for a cut that so many writes were pending at."""
    if cut.torn >= 0:
        return "torn-op"
    if not cut.chosen:
        return "clear"
    return "torn-seq" if len(cut.chosen) < pending else "whole"


# ---- judging ----


def run_e2fsck(path: Path, options: str) -> tuple[int, str]:
    """Run e2fsck. Returns its status and what it said."""
    line = [E2FSCK, options, str(path)]
    done = subprocess.run(line, capture_output=True, encoding="utf-8", timeout=60, check=False)
    return done.returncode, " ".join(done.stdout.split())[-150:]


def repair(laboratory: Laboratory, disk: bytes) -> tuple[bytes, str]:
    """Have e2fsck repair a disk. Returns it, and "" or what is left to repair."""
    path = laboratory.machine.folder / "repaired"
    path.write_bytes(disk)
    run_e2fsck(path, "-fy")
    status, said = run_e2fsck(path, "-fn")
    with path.open("rb") as file:
        repaired = file.read(len(disk))  # a rotten size may have made the file longer
    return repaired, f"e2fsck -fy cannot repair it: {said}" if status else ""


def expect_end(done: Done) -> list[str]:
    """Return what is wrong if the machine did not come to the end of its operations."""
    if done.status or not done.events or done.events[-1].kind != "end":
        return [f"the machine ended with status {done.status}: {done.console.strip()[-150:]}"]
    return []


def errors_of(events: Sequence[Event]) -> dict[int, int]:
    """Return the errors of operations, by their numbers."""
    return {event.mark: event.error for event in events if event.kind == "returned" and event.error}


def tree_or_none(disk: bytes) -> FoundTree | None:
    """Return the tree on a disk, or None if it cannot be read."""
    try:
        return read_tree(disk)
    except Damaged:
        return None


def list_contents(tree: FoundTree | None) -> dict[str, tuple[str, bytes]]:
    """Return a tree's names, kinds and data."""
    return {path: (one.kind, one.data) for path, one in (tree or {}).items()}


# ---- a device that fails ----


def faulty_work(kind: str, after: int, count: int) -> tuple[Operation, ...]:
    """Return the operations, with a fault of the disk that may come from the mount on."""
    return parse_operations(f"fault {kind} {after} {count}; mount /; {WORK}")


def judge_device(
    laboratory: Laboratory, row: Row, kind: str, after: int, count: int, whole: FoundTree
) -> bool:
    """Try a fault at a command. Returns whether a command met it."""
    operations = faulty_work(kind, after, count)
    done = laboratory.machine.run_operations(operations)
    if not any(event.kind == "faulted" for event in done.events):
        return False
    row.tries += 1
    wrong = expect_end(done)
    told = errors_of(done.events)
    row.told += bool(told)
    disk = apply_writes(laboratory.base.disk, done.events)
    if not wrong and not told and list_contents(tree_or_none(disk)) != list_contents(whole):
        wrong.append("no program got an error, and the disk is not as it should be")
    repaired, left = repair(laboratory, disk)
    wrong += [left] * bool(left)
    needed = {i for i, op in enumerate(operations) if op.name == "mount" or SYNCED in op.words}
    returned = {event.mark for event in done.events if event.kind == "returned"}
    if needed <= returned - told.keys():
        found = (tree_or_none(repaired) or {}).get(SYNCED)
        if found is None or found.data != SYNCED_DATA:
            wrong.append(f"fsync {SYNCED} succeeded, and it is not there")
    row.wrong += [f"fault {kind} {after} {count}: {text}" for text in wrong]
    return True


def try_device(laboratory: Laboratory, kind: str, count: int, step: int = 1) -> Row:
    """Try a fault at each command, or at each step-th."""
    times = "once" if count == 1 else "always"
    row = Row(f"a {kind} that fails, {times}" if kind != "vanish" else "the disk vanishes")
    clean = laboratory.machine.run_operations(faulty_work(kind, 1, 0))
    whole = read_tree(apply_writes(laboratory.base.disk, clean.events))
    for after in range(1, MOST, step):
        if not judge_device(laboratory, row, kind, after, count, whole):
            break
    return row


def try_lies(laboratory: Laboratory, most: int = CUTS) -> Row:
    """Try flushes that lie: any disk that a cut leaves can be mounted or is refused, and e2fsck
    repairs it."""
    row = Row("flushes that lie, and a cut")
    events = laboratory.machine.run_operations(faulty_work("lie", 1, ALWAYS)).events
    cuts = list(iterate_cuts(laboratory.base, events))
    for _, image in Random(0).sample(cuts, min(most, len(cuts))):
        judge_use(laboratory, row, image.bytes(), "a flush that lies", READS, True)
    row.silent = 0  # files may be older or newer: the drive has promised nothing
    return row


# ---- rotten bits ----


@dataclass(frozen=True)
class Structure:
    """A structure, the bytes of the disk that it has, the files whose data may be wrong without an
    error when a bit of it rots, and whether e2fsck must repair the disk then."""

    name: str
    at: int
    size: int
    unseen: tuple[str, ...] = ()
    repairable: bool = True


def list_structures(disk: bytes) -> Iterator[Structure]:
    """Yield the structures of a disk of files."""
    reader = Reader(disk)
    size = reader.block_bytes
    f, d = (reader.inode(read_tree(disk)[path].inode) for path in ("/f", "/d"))
    first, table = (struct.unpack_from("<I", f.block, at)[0] for at in (0, 48))
    directory = struct.unpack_from("<I", d.block)[0]
    blocks, inodes, _ = reader.descriptor(0)
    yield Structure("superblock", 1024, 104, repairable=False)
    yield Structure("descriptors", (reader.first_block + 1) * size, 32, READS, False)
    yield Structure("bitmap of blocks", blocks * size, reader.blocks // 8, READS)
    yield Structure("bitmap of inodes", inodes * size, reader.inodes // 8, READS)
    yield Structure("inode of /f", reader.inode_place(f.number), 128, READS)
    yield Structure("block of pointers of /f", table * size, size, READS)
    yield Structure("directory /d", directory * size, size, ("/d/g",))
    yield Structure("data of /f", first * size, size, ("/f",))


def list_log_structures(disk: bytes, folder: Path) -> Iterator[Structure]:
    """Yield the structures of a log that has to be replayed."""
    path = folder / "log"
    path.write_bytes(disk)
    log = Image(path)
    size, start = log.block_bytes, log.get("start")
    yield Structure("log: superblock", log.where[0] * size, 256, READS, False)
    yield Structure("log: descriptor", log.where[start] * size, 128, READS, False)
    yield Structure("log: logged block", log.where[start + 1] * size, size, READS, False)


def judge_use(
    laboratory: Laboratory,
    row: Row,
    disk: bytes,
    what: str,
    unseen: Sequence[str],
    repairable: bool,
) -> None:
    """Mount a disk, read its files, write one, unmount it, and repair it."""
    row.tries += 1
    puts = difference(laboratory.machine.start_disk(), disk)
    done = laboratory.machine.run_operations(USE, puts)
    wrong, told = expect_end(done), errors_of(done.events)
    row.told += any(error != ENOENT for error in told.values())
    row.refused += 0 in told
    _, failed = repair(laboratory, apply_writes(disk, done.events))
    wrong += [failed] * bool(failed and repairable)
    if 0 not in told and not wrong:
        silent = wrong_reads(laboratory, told, apply_writes(disk, done.events))
        row.silent += bool(silent)
        wrong += [f"{path}: wrong data, no error" for path in silent if path not in unseen]
    row.wrong += [f"{what}: {text}" for text in wrong]


def wrong_reads(laboratory: Laboratory, told: dict[int, int], disk: bytes) -> list[str]:
    """Return the files whose read succeeded although the disk has other data in them."""
    expected = laboratory.start.names[-1].at
    found = list_contents(tree_or_none(disk))
    silent = []
    for number, path in enumerate(READS, 1):
        if number in told or path not in expected or not found:
            continue
        data = laboratory.start.files[expected[path][1]].data[-1][1]
        if found.get(path, ("f", data)) != ("f", data):
            silent.append(path)
    return silent


def try_rot(laboratory: Laboratory, structure: Structure, flips: int) -> Row:
    """Flip a random bit of a structure, so many times, each on the whole disk."""
    row, rng = Row(structure.name), Random(structure.name)
    for _ in range(flips):
        at, bit = structure.at + rng.randrange(structure.size), rng.randrange(8)
        disk = bytearray(laboratory.base.disk)
        disk[at] ^= 1 << bit
        what = f"{structure.name}, byte {at - structure.at}, bit {bit}"
        judge_use(laboratory, row, bytes(disk), what, structure.unseen, structure.repairable)
    return row


# ---- all of it ----


class RotLaboratory(Laboratory):
    """A laboratory whose disk has a file with a block of pointers."""

    def make_start(self) -> tuple[bytes, History]:
        """Make the disk. Returns it, and how it came to be."""
        with CrashMachine(self.setup) as maker:
            made = maker.record((*SETUP, *MORE))
            return apply_writes(maker.start_disk(), made), History((*SETUP, *MORE))


def try_all(flips: int, step: int = 1) -> Iterator[Row]:
    """Yield a row for each kind of fault."""
    setup = Setup(block="1K")
    with Laboratory(setup) as laboratory:
        for kind in KINDS:
            for count in (1, ALWAYS) if kind != "vanish" else (ALWAYS,):
                yield try_device(laboratory, kind, count, step)
        yield try_lies(laboratory)
    with RotLaboratory(setup) as laboratory:
        for structure in list_structures(laboratory.base.disk):
            yield try_rot(laboratory, structure, flips)
    with LogLaboratory(fit_setup(setup)) as log:
        for structure in list_log_structures(log.base.disk, log.machine.folder):
            yield try_rot(log, structure, flips)


def format_row(row: Row) -> str:
    """Return a row of the table."""
    cells = (row.tries, row.told, row.refused, row.silent, len(row.wrong))
    return f"| {row.what} | " + " | ".join(map(str, cells)) + " |"


def run_injection(flips: int) -> bool:
    """Try all faults of disks, and print a table. Returns whether all held that must hold."""
    print("| fault | tries | error told | mount refused | wrong data, no error | must not be |")
    print("| --- | --- | --- | --- | --- | --- |")
    wrong = []
    for row in try_all(flips):
        print(format_row(row), flush=True)
        wrong += row.wrong
    for text in wrong:
        print(f"WRONG: {text}")
    return not wrong
