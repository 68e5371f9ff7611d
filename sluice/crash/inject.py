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
- A read that succeeds gives the file's data; a checksum tells what a program has read. ext2 has no
  checksums, so a rotten bit may go unseen, but only in the file that it belongs to:

    data                the file. Nothing sees it
    a size              the file. Nothing sees it, because each size may be right
    a pointer to a block of the file's size, in the inode or in a block of pointers
                        the file. e2fsck finds that a block has two owners, none, or another count
    the inode of a name the name. e2fsck finds that the count of links is wrong
    a bit of a bitmap that calls a block or an inode in use free
                        its file, when a new one gets it. e2fsck finds that the bitmap is wrong
    a log               any file: recovery writes what the log has

  All else in these structures is checked, or decides nothing that a file shows: a superblock; a
  descriptor (a block that is taken for a bitmap has a clear bit for a block of the system); a mode,
  times, counts and owners; pointers behind a file's end; names and lengths in a directory; bits of
  what the system has, and of directories. There each read that succeeds gives the right data.
- A new file's own data are right, whatever rots before it is made.
"""

import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from sluice.crash.checker import E2FSCK
from sluice.crash.cuts import Cut, iterate_cuts
from sluice.crash.disk_events import Event
from sluice.crash.ext2 import Damaged, Inode, Reader, read_tree
from sluice.crash.laboratory import Laboratory
from sluice.crash.logwriter import Image
from sluice.crash.machine import CrashMachine, Done, Setup, apply_writes, difference
from sluice.crash.operations import Operation, parse_operations, pattern
from sluice.crash.oracle import DIRECT, FoundTree, History
from sluice.crash.replayed_disk import LogLaboratory, fit_setup
from sluice.crash.workloads import SETUP
from sluice.twin.engine import TWIN

ENOENT = 2  # of names that the disk does not have
ALWAYS = 1_000_000  # a fault that stays
MOST = 60  # commands of a kind, of which each is to meet the fault
CUTS = 40  # of a recording with a flush that lies
SIZE_AT, POINTERS_AT, SIZE_HIGH_AT = 4, 40, 108  # in an inode
KINDS = ("read", "write", "flush", "vanish")
WORK = (
    "creat /n; write /n 0 6000 10; fsync /n; append /h 3000 11; write /f 60000 100 12;"
    "rename /d/g /e/n; mkdir /e/m; unlink /d/hard; read /f; read /h; sync; umount /"
)
SYNCED, SYNCED_DATA = "/n", pattern(0, 6000, 10)
MORE = parse_operations("mount /; write /f 20000 3000 8; umount /")  # by a block of pointers
READS = ("/f", "/h", "/d/g")
READ_ALL = "".join(f"read {path};" for path in READS)
USE = parse_operations(
    f"mount /; {READ_ALL} creat /n; append /n 3000 25; sync; umount /; mount /; {READ_ALL}"
    "read /n; umount /"
)
NEW, NEW_DATA = "/n", pattern(0, 3000, 25)
MAKES_NEW = range(len(READS) + 1, len(READS) + 6)  # the operations of USE up to the second mount


@dataclass
class Row:
    """The results of one kind of fault."""

    what: str  # the kind, in words
    tries: int = 0
    told: int = 0  # tries in which a program got an error
    refused: int = 0  # tries in which the mount was refused
    silent: int = 0  # reads that gave wrong data without an error
    wrong: list[str] = field(default_factory=list)  # broken promises, in words


def name_cut(cut: Cut, pending: int) -> str:
    """Return LazyFS's word for a cut. pending: the number of writes that were pending there."""
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
    """Let e2fsck repair a disk. Return the disk, and "" or the damage that is left."""
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
        judge_use(laboratory, row, image.bytes(), "a flush that lies", LIED, True)
    row.silent = 0  # files may be older or newer: the drive has promised nothing
    return row


# ---- rotten bits ----


@dataclass(frozen=True)
class Limit:
    """The harm that a rotten bit may do unseen. files: whose reads may give wrong data without an
    error. unchecked: e2fsck need not find the damage either, even if it is run before anybody uses
    the disk."""

    files: tuple[str, ...] = ()
    unchecked: bool = False


NOTHING, ANYTHING = Limit(), Limit(READS, unchecked=True)
LIED = Limit((*READS, NEW), unchecked=True)  # a drive that lies has promised nothing
F_POINTER, F_SILENT = Limit(("/f",)), Limit(("/f",), unchecked=True)


@dataclass(frozen=True)
class Structure:
    """A structure, and its bytes on the disk. limit: returns the harm that a bit may do unseen, by
    the bit's byte in the structure and its number in the byte. repairable: e2fsck must be able to
    repair the disk."""

    name: str
    at: int
    size: int
    limit: Callable[[int, int], Limit] = lambda _byte, _bit: NOTHING
    repairable: bool = True


def limit_of_inode(size: int, block_bytes: int) -> Callable[[int, int], Limit]:
    """Return what the bits of the inode of /f may do. size: of the file, in bytes."""
    blocks = -(-size // block_bytes)  # rounded up
    pointers = min(blocks, DIRECT) + (blocks > DIRECT)
    # Of the size's upper half, only the bits that the largest file needs can be set unseen.
    high_bits = max_file_bytes(block_bytes).bit_length() - 32

    def limit(byte: int, bit: int) -> Limit:
        """Return the harm that a flip of this bit may do unseen."""
        in_size = SIZE_AT <= byte < SIZE_AT + 4 or (byte == SIZE_HIGH_AT and bit < high_bits)
        in_used_pointer = POINTERS_AT <= byte < POINTERS_AT + 4 * pointers
        if in_size:
            return F_SILENT
        return F_POINTER if in_used_pointer else NOTHING

    return limit


def max_file_bytes(block_bytes: int) -> int:
    """Return the size of the largest file that an inode's pointers can lead to."""
    each = block_bytes // 4
    return (DIRECT + each + each**2 + each**3) * block_bytes


def limit_of_bitmap(disk: bytes, at: int, owners: dict[int, str]) -> Callable[[int, int], Limit]:
    """Return what the bits of a bitmap may do. at: its first byte on the disk. owners: by a bit's
    number, the file whose block or inode it stands for."""

    def limit(byte: int, bit: int) -> Limit:
        """Return the harm that a flip of this bit may do unseen."""
        owner = owners.get(8 * byte + bit)
        is_set = disk[at + byte] >> bit & 1  # the flip says that what is in use is free
        return Limit((owner,)) if owner and is_set else NOTHING

    return limit


def limit_of_entry(data: bytes, name: bytes, path: str) -> Callable[[int, int], Limit]:
    """Return what a flipped bit of a directory's block may damage: a bit of the number of a name's
    inode may damage the file `path`, any other bit nothing."""
    at, found = 0, -1
    while at < len(data):
        _inode, entry_bytes, name_bytes = struct.unpack_from("<IHB", data, at)
        if data[at + 8 : at + 8 + name_bytes] == name:
            found = at  # where the entry has its inode's number, in 4 bytes
        at += entry_bytes
    return lambda byte, _bit: Limit((path,)) if found <= byte < found + 4 else NOTHING


def data_blocks(reader: Reader, inode: Inode) -> list[int]:
    """Return the numbers of a file's blocks of data; those that are holes are 0."""
    *numbers, table = struct.unpack(f"<{DIRECT + 1}I", inode.block[: 4 * (DIRECT + 1)])
    if table:
        block = reader.block(table, "the pointers of a file")
        numbers += struct.unpack(f"<{reader.block_bytes // 4}I", block)
    blocks = -(-inode.size // reader.block_bytes)  # rounded up
    return numbers[:blocks]


def list_structures(disk: bytes) -> Iterator[Structure]:
    """Yield the structures of a disk of files, of each kind one."""
    reader, tree = Reader(disk), read_tree(disk)
    size = reader.block_bytes
    yield Structure("superblock", 1024, 104, repairable=False)
    yield Structure("descriptors", (reader.first_block + 1) * size, 32, repairable=False)

    files = {path: reader.inode(tree[path].inode) for path in READS}
    owners_of_blocks = {
        number - reader.first_block: path
        for path, inode in files.items()
        for number in data_blocks(reader, inode)
        if number
    }
    owners_of_inodes = {inode.number - 1: path for path, inode in files.items()}
    blocks_at, inodes_at, _ = (number * size for number in reader.descriptor(0))
    limit = limit_of_bitmap(disk, blocks_at, owners_of_blocks)
    yield Structure("bitmap of blocks", blocks_at, reader.blocks // 8, limit)
    limit = limit_of_bitmap(disk, inodes_at, owners_of_inodes)
    yield Structure("bitmap of inodes", inodes_at, reader.inodes // 8, limit)

    f, d = (reader.inode(tree[path].inode) for path in ("/f", "/d"))
    data, *_, table = struct.unpack_from(f"<{DIRECT + 1}I", f.block)
    yield Structure("inode of /f", reader.inode_place(f.number), 128, limit_of_inode(f.size, size))
    used = -(-f.size // size) - DIRECT  # pointers in the table
    limit = lambda byte, _bit: F_POINTER if byte < 4 * used else NOTHING  # noqa: E731
    yield Structure("block of pointers of /f", table * size, size, limit)
    (directory,) = struct.unpack_from("<I", d.block)
    limit = limit_of_entry(reader.block(directory, "/d"), b"g", "/d/g")
    yield Structure("directory /d", directory * size, size, limit)
    yield Structure("data of /f", data * size, size, lambda _byte, _bit: F_SILENT)


def list_log_structures(disk: bytes, folder: Path) -> Iterator[Structure]:
    """Yield the structures of a log that has to be replayed."""
    path = folder / "log"
    path.write_bytes(disk)
    log = Image(path)
    size, start = log.block_bytes, log.get("start")
    for name, block, length in (
        ("superblock", 0, 256),
        ("descriptor", start, 128),
        ("logged block", start + 1, size),
    ):
        at = log.where[block] * size
        yield Structure(f"log: {name}", at, length, lambda _byte, _bit: ANYTHING, False)


def judge_use(
    laboratory: Laboratory, row: Row, disk: bytes, what: str, limit: Limit, repairable: bool
) -> None:
    """Mount a disk, read its files, write one, mount it again and read all, and repair it. Add what
    was found to the row.

    what: the damage in words; limit: the harm that it may do; repairable: e2fsck must repair it.
    """
    row.tries += 1
    puts = difference(laboratory.machine.start_disk(), disk)
    done = laboratory.machine.run_operations(USE, puts)
    wrong, told = expect_end(done), errors_of(done.events)
    row.told += any(error != ENOENT for error in told.values())
    row.refused += 0 in told
    _, failed = repair(laboratory, apply_writes(disk, done.events))
    wrong += [failed] * bool(failed and repairable)
    silent = wrong_reads(laboratory.start, done.events)
    row.silent += bool(silent)
    wrong += [f"{path}: wrong data, no error" for path in silent if path not in limit.files]
    if silent and not limit.unchecked and not is_damage_found(laboratory, disk):
        wrong.append(f"{', '.join(silent)}: wrong data, and e2fsck finds nothing")
    row.wrong += [f"{what}: {text}" for text in wrong]


def is_damage_found(laboratory: Laboratory, disk: bytes) -> bool:
    """Return whether e2fsck finds something wrong on a disk."""
    path = laboratory.machine.folder / "damaged"
    path.write_bytes(disk)
    return run_e2fsck(path, "-fn")[0] != 0


def checksum(data: bytes) -> int:
    """Return the checksum that crashops has for what it read."""
    total = 0
    for byte in data:
        total = (total * 31 + byte) & 0xFFFFFFFF
    return total & 0x7FFFFFFF


def wrong_reads(start: History, events: Sequence[Event]) -> list[str]:
    """Return the files that a program has read without an error, and got other data than theirs.
    The new file counts if making it gave no error."""
    names = start.names[-1].at
    right: dict[str, int] = {}  # by path: the checksum of the file's contents
    for path in READS:
        if path in names:
            _, node = names[path]
            _, contents = start.files[node].data[-1]
            right[path] = checksum(contents)
    returned = {event.mark: event for event in events if event.kind == "returned"}
    if all(i in returned and not returned[i].error for i in MAKES_NEW):
        right[NEW] = checksum(NEW_DATA)
    wrong = set()
    for i, event in returned.items():
        operation = USE[i]
        path = operation.words[0] if operation.name == "read" else ""
        if path in right and not event.error and event.value != right[path]:
            wrong.add(path)
    return sorted(wrong)


def try_rot(laboratory: Laboratory, structure: Structure, flips: int) -> Row:
    """Try flipped bits of a structure, each alone on a copy of the disk, and return what came of
    them. flips: how many bits are drawn at random; all are tried if it is 0 or exceeds their
    number."""
    row, rng = Row(structure.name), Random(structure.name)
    bits = range(8 * structure.size)
    for place in sorted(rng.sample(bits, flips)) if 0 < flips < len(bits) else bits:
        try_flip(laboratory, row, structure, *divmod(place, 8))
    return row


def try_flip(laboratory: Laboratory, row: Row, structure: Structure, byte: int, bit: int) -> None:
    """Flip one bit of a structure."""
    disk = bytearray(laboratory.base.disk)
    disk[structure.at + byte] ^= 1 << bit
    what = f"{structure.name}, byte {byte}, bit {bit}"
    limit = structure.limit(byte, bit)
    judge_use(laboratory, row, bytes(disk), what, limit, structure.repairable)


# ---- all of it ----


class RotLaboratory(Laboratory):
    """A laboratory whose disk has a file with a block of pointers."""

    def make_start(self) -> tuple[bytes, History]:
        """Make the disk by the tree's kernel: a twin that is tried may be wrong. Returns the disk,
        and how it came to be."""
        with CrashMachine(replace(self.setup, twin=TWIN)) as maker:
            made = maker.record((*SETUP, *MORE))
            return apply_writes(maker.start_disk(), made), History((*SETUP, *MORE))


def try_all(flips: int, step: int = 1) -> Iterator[Row]:
    """Yield a row for each kind of fault."""
    setup = Setup(block="1K", size="512K")
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
