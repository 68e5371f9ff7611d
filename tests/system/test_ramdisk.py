"""RAM disks: disks in the machine's memory, whose data machine mode moves.

The kernel, in supervisor mode, cannot reach that memory. It asks machine mode for each move between
a buffer and a disk, and machine mode logs the moves. The host puts images into the memory before
the boot (class Guest), takes them back afterwards, and checks that only logged moves have changed
them.
"""

import os
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from conftest import MakeImage
from kernel_with import kernel_with

from grade.code import elf
from grade.engine import evidence
from grade.engine.assertions import Wrong
from grade.trust import linked_kernel
from sluice.host.paths import KERNEL
from sluice.system import guest, image
from sluice.system.guest import MEMORY_START, Guest, Move
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine, run_rc

ARGS = "drive=rz58 check=1"
SCRIPT = """set -e
mkdir /d
cp /bin/sh /d/copy
iogen name=w rw=randwrite filename=/data bs=4k nr=200
sync
iogen name=r rw=randread filename=/data bs=4k nr=200
rm /d/copy
sync
"""
TABLE = MEMORY_START + guest.LEAST  # of the disks; the log of moves and the first disk follow
FIRST = TABLE + guest.PAGE + guest.round_to_pages(guest.MOVES_KEPT * guest.MOVE.size)  # disk
DIRECT_MAP = 0xFFFFFFC000000000

# A scheduler that tries what only machine mode may do, at its first question.
PROBE = f"""#include "kernel/policy/policy.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/print.h"
#include "kernel/machine/riscv.h"

static u64 words[64], tries;

static void move(const char *what, u64 to, u64 disk, u64 bytes)
{{
    i64 said = machine_call(to, disk, bytes, 0, DISKS_MOVE);
    kprintf("%s: %d\\n", what, (int)said);
}}

static struct request *next(struct queue *q, u64 now_ns)
{{
    (void)now_ns;
    if (tries++)
        return queue_oldest(q, BOTH);
    u64 mine = (u64)words, disk = {FIRST:#x}, table = {TABLE:#x};
    move("a sector", mine, disk, 512);
    move("the table", mine, table, 512);
    move("past the end", mine, disk + {4 << 30:#x}, 512);
    move("over the end", mine, disk, 1UL << 31);
    move("without end", mine, disk, ~0UL - 511);
    move("into the code", (u64)queue_oldest, disk, 512);
    move("into machine mode", {DIRECT_MAP + MEMORY_START:#x}, disk, 512);
    move("into the trace", {DIRECT_MAP:#x} + 0, disk, 512);
    move("into a disk", {DIRECT_MAP:#x} + disk + 4096, disk, 512);
    move("a part of a sector", mine, disk, 8);
    move("nothing", mine, disk, 0);
    move("from within a sector", mine, disk + 8, 512);
    move("to a byte", mine + 1, disk, 512);
    kprintf("in a third direction: %d\\n", (int)machine_call(mine, disk, 512, 2, DISKS_MOVE));
    kprintf("to the end of time: %d\\n", (int)machine_call(~0UL, 0, 0, 0, CLOCK_JUMP));
    kprintf("disks anew: %d\\n", (int)machine_call(disk, disk + 4096, disk, disk, DISKS_BEGIN));
    kprintf("a trace anew: %d\\n", (int)machine_call(mine, mine + 4096, 0, 0, TRACE_BEGIN));
    kprintf("a seventh call: %d\\n", (int)machine_call(0, 0, 0, 0, 6));
    u64 before = csr_read(time);
    machine_call(1, 0, 0, 0, CLOCK_JUMP);
    kprintf("back in time: %d\\n", csr_read(time) < before);
    before = csr_read(time);
    for (u32 i = 0; i < 1000; i++)
        machine_call(mine, disk, 512, 0, DISKS_MOVE);
    kprintf("time stands still: %d\\n", csr_read(time) < before + 1000);
    kprintf("it reads %lu\\n", *(volatile u64 *)({DIRECT_MAP:#x} + disk));
    return NULL;
}}

static const struct policy probe = {{
    .kind = POLICY_SCHED, .name = "probe", .about = "tries", .sched = {{next}}}};
POLICY(probe);
"""


def test_the_supervisor_reaches_neither_the_disks_nor_what_is_not_its_own(
    tmp_path: Path, make_image: MakeImage
) -> None:
    kernel = kernel_with(tmp_path, {"policies/sched/probe.c": PROBE})
    disk = Disk(make_image(rc="true", damaged=True))
    args = "drive=fixed sched=probe trace_k=1"
    result = run_rc(Config((disk,), args=args, kernel=kernel, lab=True))
    said = dict(re.findall(r"^([\w ]+): (-?\d+)$", result.console, re.M))
    # Only the move of a sector is made. All others are refused by -1, and time goes on forward.
    assert said.pop("a sector") == "0"
    assert said.pop("back in time") == said.pop("time stands still") == "0"
    assert len(said) == 17 and set(said.values()) == {"-1"}, result.console
    assert "it reads" not in result.console
    assert result.status == 101 and "load access fault" in result.console


def left_by(make_image: MakeImage, device: str) -> tuple[str, bytes]:
    """Run SCRIPT on a disk with this property of QEMU's device, or on a RAM disk if it is "".
    Returns the counters that it shows, and the bytes of the disk."""
    counters = "grep '^disk\\.[a-z_]* ' /dev/stat\n"
    path = make_image(rc=SCRIPT + counters, options=("--file", "/data=4M"))
    result = run_rc(Config((Disk(path, device=device),), args=ARGS, lab=True))
    assert result.status == 0, result.console
    return result.console, path.read_bytes()


def test_a_ram_disk_is_left_as_qemus_device_leaves_its_file(make_image: MakeImage) -> None:
    """The same script runs with a RAM disk, and with QEMU's device (an option makes it one)."""
    counters, ram = left_by(make_image, "")
    assert "disk.writes" in counters
    _, virtio = left_by(make_image, "queue-size=64")
    assert ram == virtio


def test_an_image_is_as_the_machine_left_it_however_it_ended(make_image: MakeImage) -> None:
    """While the machine runs, its image stays as it was. The machine is then killed, and the image
    has what was written through the cache."""
    path = make_image(damaged=True)
    fresh = path.read_bytes()
    with Machine(Config((Disk(path),), args="drive=fixed write=through", lab=True)) as machine:
        machine.wait_prompt()
        machine.check("echo kept > /kept")
        assert path.read_bytes() == fresh
    assert image.read_file(path, "/kept") == b"kept\n"


def test_without_a_drive_a_ram_disk_takes_no_time(run_script) -> None:
    result = run_script("cp /bin/sh /copy; sync; cmp /bin/sh /copy; uptime", lab=True)
    assert result.status == 0
    assert re.search(r"^up 00:00:0[0-2]\.", result.console, re.M)


@pytest.mark.parametrize("at", ["5", str(MEMORY_START + (64 << 20)), str(200 << 30)])
def test_a_place_without_a_table_is_an_error_that_names_it(make_image: MakeImage, at: str) -> None:
    result = run_rc(Config((Disk(make_image()),), args=f"ramdisks={at}"))
    assert result.status != 0
    assert f"boot: ramdisks={at}: there is no table of RAM disks" in result.console


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"lab": False}, "live"),
        ({"disks": (Disk(Path("a"), device="queue-size=64"),)}, "a property of QEMU's device"),
        ({"disks": (Disk(drive="driver=null-co"),)}, "no image"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_disk_that_cannot_be_a_ram_disk_is_a_virtio_device(config: dict, why: str) -> None:
    machine = Config(**({"disks": (Disk(Path("a")),), "lab": True} | config))
    assert machine.ram_disks() == (), why
    assert "virtio-blk-device" in " ".join(machine.command())


def test_a_place_that_the_kernel_does_not_see_is_an_error(make_image: MakeImage) -> None:
    result = run_rc(Config((Disk(make_image()),), args=f"ramdisks={1 << 40}"))
    assert result.status != 0
    assert f"boot: argument ramdisks={1 << 40}: not in 0 to {(255 << 30) - 1}" in result.console


def test_a_kernel_whose_device_tree_is_in_a_disk_does_not_boot(
    make_image: MakeImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """QEMU puts its device tree, which describes the machine, at the end of memory if that has less
    than 3 GiB. The disks are put there, too."""
    monkeypatch.setattr(guest, "LEAST", 256 << 20)
    monkeypatch.setattr(guest, "TREE", 0)
    result = run_rc(Config((Disk(make_image(rc="true")),), lab=True))
    assert result.status == 100
    assert re.fullmatch(
        r"boot: the device tree, at 0x\w+, is in the RAM disks, 0x\w+ to 0x\w+: they need another "
        r"place\n",
        result.console,
    )


@pytest.mark.parametrize("behind", [False, True])
def test_a_device_tree_beside_the_disks_leaves_them_alone(
    make_image: MakeImage, monkeypatch: pytest.MonkeyPatch, behind: bool
) -> None:
    """The device tree begins with the word d00dfeed. QEMU 7.2 and QEMU 10 put it into different
    places: below 3 GiB, or at the end of memory. Neither place is among the disks."""
    if behind:
        monkeypatch.setattr(guest, "LEAST", 256 << 20)
    path = make_image(rc="true", size="4M")
    with Machine(Config((Disk(path),), args="drive=fixed", lab=True)) as machine:
        assert machine.wait().status == 0
        trees = [
            at
            for start, size in guest.data_ranges(machine.guest.file, 0, machine.guest.size)
            for at in range(start, start + size, guest.PAGE - start % guest.PAGE or guest.PAGE)
            if os.pread(machine.guest.file, 4, at) == bytes.fromhex("d00dfeed")
        ]
    assert trees and all(at < machine.guest.table or at >= machine.guest.end for at in trees)


def test_a_run_is_the_same_whether_its_log_of_moves_has_room(make_image: MakeImage) -> None:
    """Machine mode takes as many instructions to log a move as to leave it out."""
    consoles = set()
    for log in (0, 100, guest.MOVES_KEPT):
        path = make_image(rc=SCRIPT + "cat /dev/hist /dev/trace", options=("--file", "/data=4M"))
        with Machine(Config((Disk(path),), args=f"{ARGS} trace_k=2", lab=True), log=log) as machine:
            if log < guest.MOVES_KEPT:
                with pytest.warns(UserWarning, match=f"log of moves is full .{log}.: the disks"):
                    assert machine.wait().status == 0
            else:
                assert machine.wait().status == 0
                assert len(machine.guest.moves()) > 100
            consoles.add(machine.console)
    assert len(consoles) == 1


# ---- the host's side ----


def sparse(path: Path, size: int, pieces: dict[int, bytes]) -> Path:
    """Return a file of that size with these pieces."""
    with path.open("wb") as file:
        file.truncate(size)
        for at, data in pieces.items():
            file.seek(at)
            file.write(data)
    return path


def test_images_come_into_memory_and_back_and_holes_stay_holes(tmp_path: Path) -> None:
    """Two sparse images are loaded; the guest's memory has their bytes, and is sparse, too: holes
    take no blocks of the host. What changes in memory is saved by the first save() only."""
    a = sparse(tmp_path / "a", 64 << 20, {0: b"begin", (64 << 20) - 3: b"end"})
    b = sparse(tmp_path / "b", 3 << 20, {1 << 20: b"middle"})
    with Guest("128M", (a, b)) as memory:
        (at_a, _), (at_b, size) = memory.places
        assert size == 3 << 20 and at_b - at_a == 64 << 20
        assert os.pread(memory.file, 5, at_a) == b"begin"
        assert os.pread(memory.file, 3, at_a + (64 << 20) - 3) == b"end"
        assert os.pread(memory.file, 6, at_b + (1 << 20)) == b"middle"
        assert memory.path.stat().st_blocks * 512 < 1 << 20
        os.pwrite(memory.file, b"new", at_b + (2 << 20))
        memory.save()
        os.pwrite(memory.file, b"late", at_b)
        memory.save()
    assert b.read_bytes()[2 << 20 :][:3] == b"new"
    assert b.read_bytes()[:4] == bytes(4)  # the second save did nothing
    assert a.stat().st_blocks * 512 < 1 << 20


def test_moves_are_told_by_disk_and_sector(tmp_path: Path) -> None:
    """A record has an address and a number of bytes; bit 0 of the address says that the move was a
    write. A Move has the disk, the sector, the number of sectors, and whether it was a write."""
    disks = [sparse(tmp_path / name, 4 << 20, {}) for name in "ab"]
    with Guest("64M", tuple(disks), log=4) as memory:
        at = [MEMORY_START + place for place, _ in memory.places]
        log = [(at[1] + 512, 4096), (at[0] | 1, 512)]
        os.pwrite(memory.file, b"".join(guest.MOVE.pack(*move) for move in log), memory.log)
        assert memory.moves() == [Move(1, 1, 8, False), Move(0, 0, 1, True)]


KEPT = 4  # moves that the log below has room for
LOG_START = MEMORY_START + guest.LEAST + guest.PAGE
FIRST_DISK = LOG_START + guest.PAGE
DISK = (4 << 20) - 4096  # the next one begins at a whole PAGE
ODD = {  # addresses and bytes of moves that machine mode refuses
    "nothing": (FIRST_DISK + 512, 0),
    "a part of a sector": (FIRST_DISK, 8),
    "from within a sector": (FIRST_DISK + 8, 512),
    "in a third direction": (FIRST_DISK | 2, 512),
    "before all disks": (FIRST_DISK - 512, 512),
    "past the end of a disk": (FIRST_DISK + DISK - 512, 1024),
    "between two disks": (FIRST_DISK + DISK + 512, 512),
    "past all disks": (FIRST_DISK + (8 << 20), 512),
}


def evidence_of(moves: list[tuple[int, int]], end: int, folder: Path) -> list[Move]:
    """Return the moves that the grader takes from a log with these records, whose end machine mode
    puts at `end`."""
    disks = [sparse(folder / name, size, {}) for name, size in (("a", DISK), ("b", 2 << 20))]
    word = linked_kernel.move_log_end(elf.read(KERNEL)) - MEMORY_START
    with Guest("64M", tuple(disks), log=KEPT, kept=folder / "memory") as memory:
        os.pwrite(memory.file, b"".join(guest.MOVE.pack(*move) for move in moves), memory.log)
        os.pwrite(memory.file, end.to_bytes(8, "little"), word)
        return evidence.machine_transfers(KERNEL, memory)


@pytest.mark.parametrize("why", ODD)
def test_a_log_with_a_move_that_machine_mode_does_not_make_is_no_evidence(
    why: str, tmp_path: Path
) -> None:
    good = (FIRST_DISK, 512)
    with pytest.raises(Wrong, match="as machine mode keeps it"):
        evidence_of([good, ODD[why], good], LOG_START + 3 * guest.MOVE.size, tmp_path)


# end: where the log ends, in records. It has room for 4.
@pytest.mark.parametrize(("end", "why"), [(5, "and there were 5"), (-1, "ends at"), (2.5, "ends")])
def test_a_log_that_lost_moves_is_no_evidence(end: float, why: str, tmp_path: Path) -> None:
    good = [(FIRST_DISK + 1024 * i, 512) for i in range(KEPT)]
    assert len(evidence_of(good, LOG_START + KEPT * guest.MOVE.size, tmp_path)[0]) == KEPT
    with pytest.raises(Wrong, match=why):
        evidence_of(good, LOG_START + int(end * guest.MOVE.size), tmp_path)


SECTORS = 4 << 11  # of a disk of 4 MiB


def verify_moves(tmp_path: Path, moves: list[Move], change: dict[int, bytes]) -> str:
    """Return what `verify` says of the second of two disks after these moves, if bytes in it have
    changed, by sector; empty if nothing."""
    disks = [sparse(tmp_path / name, 4 << 20, {1 << 20: b"here" * 1000}) for name in "ab"]
    with Guest("64M", tuple(disks), log=100) as memory:
        # An entry of the log: the address, whose lowest bit says that it is a write; bytes.
        log = [
            (MEMORY_START + memory.places[m.disk][0] + m.sector * 512 | m.write, m.sectors * 512)
            for m in moves
        ]
        os.pwrite(memory.file, b"".join(guest.MOVE.pack(*move) for move in log), memory.log)
        for sector, new in change.items():
            os.pwrite(memory.file, new, memory.places[1][0] + sector * 512)
        try:
            memory.verify()
        except guest.DiskChanged as error:
            return str(error)
        return ""


@pytest.mark.parametrize("sector", [0, 2047, 2048, 2050, SECTORS - 1])
def test_a_sector_that_no_move_wrote_must_be_as_in_the_image(tmp_path: Path, sector: int) -> None:
    """Writes of its neighbours, writes to the other disk, and reads do not allow the sector to
    change. A write of the sector itself does."""
    near = [Move(1, sector - 1, 1, True)] if sector > 0 else []
    near += [Move(1, sector + 1, 3, True)] if sector < SECTORS - 4 else []
    others = [Move(0, sector, 1, True), Move(1, sector, 1, False)]
    assert verify_moves(tmp_path, [], {}) == ""
    assert verify_moves(tmp_path, near + others, {}) == ""
    said = verify_moves(tmp_path, near + others, {sector: bytes(511) + b"x"})
    assert said.startswith(f"disk1: sector {sector} has changed, and the machine has not written")
    assert verify_moves(tmp_path, [*near, Move(1, sector, 1, True)], {sector: b"new"}) == ""


def test_moves_that_overlap_are_one_range(tmp_path: Path) -> None:
    moves = [Move(1, 100, 50, True), Move(1, 110, 2, True), Move(1, 150, 8, True)]
    for sector, known in ((99, False), (100, True), (130, True), (157, True), (158, False)):
        assert (verify_moves(tmp_path, moves, {sector: b"x"}) == "") == known, sector


@pytest.mark.parametrize("kept", [1 << 16, 3])
def test_machine_mode_logs_each_move_while_there_is_room(tmp_path: Path, kept: int) -> None:
    """kept: how many moves the log has room for. With 3 of them the host warns that it is full."""
    path = image.make_image(tmp_path / "disk.img", Content(rc="sync"))
    with Machine(Config((Disk(path),), args="drive=fixed", lab=True), log=kept) as machine:
        with pytest.warns(UserWarning, match="is full") if kept == 3 else nullcontext():
            assert machine.wait().status == 0
        moves = machine.guest.moves()
    assert moves[0] == Move(0, 2, 2, False), "the superblock is read first"
    assert len(moves) == 3 if kept == 3 else any(move.write for move in moves)
