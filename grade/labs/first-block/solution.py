"""Compute the right answers, and the usual wrong ones: from the image, the trace and gdb."""

import os
import re
import shlex
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from grade.definition.lab import BadLab
from grade.engine.scenario import BLOCK_BYTES, BLOCK_SECTORS, Request, Run
from grade.engine.workbench import Workbench, make_images, make_machine
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.system import image

from .scene import Task, run, scenario, task

TRACK_SECTORS, HEADS = 96, 15  # drives/rz58.c, the first of its zones
NAMED_BLOCK = re.compile(r"\((D?IND)\):(\d+)")
FRAME = re.compile(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+) ", re.M)
INODE = re.compile(r"Inode: (\d+)")


def first_bytes(disk: Path, block: int) -> bytes:
    """Return the first four bytes of a block of the disk."""
    with disk.open("rb") as file:
        file.seek(block * BLOCK_BYTES)
        return file.read(4)


def image_facts(seen: Run, mine: Task) -> dict[str, int]:
    """Return the facts about the file, its blocks of pointers, and its block with the byte."""
    disk = seen.folder / "data.img"
    told = image.debugfs(disk, f"stat {mine.book}")
    pointers = [(kind, int(number)) for kind, number in NAMED_BLOCK.findall(told)]
    double = pointers.index(next(row for row in pointers if row[0] == "DIND"))
    block = mine.byte // BLOCK_BYTES
    data_block = int(image.debugfs(disk, f"bmap {mine.book} {block}"))
    folder = Path(mine.book).parent
    word = first_bytes(disk, data_block)
    return {
        "inode": int(INODE.search(told)[1]),
        "folder_inode": int(INODE.search(image.debugfs(disk, f"stat {folder}"))[1]),
        "generation": int(re.search(r"Generation: (\d+)", told)[1]),
        "block": block,
        "block_from_one": block + 1,
        "double_indirect": pointers[double][1],
        "indirect": pointers[double + 1][1],
        "first_indirect": pointers[0][1],
        "data_block": data_block,
        "word": int.from_bytes(word, "little"),
        "word_reversed": int.from_bytes(word, "big"),
        "directory": int(image.debugfs(disk, f"bmap {folder} 0")),
    }


def drive_facts(data_block: int) -> dict[str, int]:
    """Return the place on the platters at which the block with the byte begins."""
    sector = data_block * BLOCK_SECTORS
    track = sector // TRACK_SECTORS
    return {
        "sector": sector,
        "track": track,
        "cylinder": track // HEADS,
        "head": track % HEADS,
        "sector_in_track": sector % TRACK_SECTORS,
    }


def trace_facts(seen: Run, sector: int) -> dict[str, int]:
    """Return how many requests the two reads of the book made, and how long they took.

    The first read is between beacons 1 and 2, the second one between 2 and 3. sector: that of the
    first read's data. Some facts are those of usual mistakes, as counting from the boot on.
    """

    def reads(start_ns: int, end_ns: int) -> list[Request]:
        return [r for r in seen.data(write=False) if start_ns <= r.queued_ns < end_ns]

    before, between, after = map(seen.beacon, (1, 2, 3))
    first, again = reads(before, between), reads(between, after)
    data = next(r for r in first if r.sector == sector)
    responses = {
        e.block: e.argument
        for e in seen.events
        if e.name == "completed" and e.disk == seen.data_disk and before <= e.time_ns < after
    }
    waited_ns, waited_again_ns = (sum(responses[r.sector] for r in part) for part in (first, again))
    return {
        "requests": len(first),
        "requests_since_boot": len(reads(0, between)),
        "requests_again": len(again),
        "requests_of_both": len(first) + len(again),
        "response_ns": responses[sector],
        "service_ns": data.completed_ns - data.issued_ns,
        "waited_ns": waited_ns,
        "waited_again_ns": waited_again_ns,
        "waited_for_both_ns": waited_ns + waited_again_ns,
    }


def gdb(attach: str, kernel: Path, *commands: str) -> str:
    """Run gdb and return its output. It starts the machine itself, by the command in `attach`."""
    lines = (ROOT / "tools/gdb/attach.gdb").read_text(encoding="utf-8").splitlines()
    ours = [f"connect {attach}" if x.startswith("connect ") else x for x in lines]
    words = [word for line in (*ours, *commands) for word in ("-ex", line) if line[:1] != "#"]
    program = os.environ.get("GDB", "gdb-multiarch")
    done = subprocess.run(
        [program, "-q", "-batch", "-nx", *words, kernel],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        encoding="utf-8",
    )
    return done.stdout


def calls(bench: Workbench, student: str, block: int) -> list[str]:
    """Return the functions that are active when the block's read enters the disk's queue."""
    kernel, sector = bench.reference_kernel, block * BLOCK_SECTORS
    unlimited = replace(scenario(student), virtual_s=0)
    disk = unlimited.setting.data
    with tempfile.TemporaryDirectory(prefix="sluice-") as name:
        disks = make_images(unlimited, Path(name))
        line = make_machine(unlimited, kernel, disks, "-S", "-gdb", "stdio").command()
        line[line.index("-serial") + 1] = "null"
        said = gdb(
            f"| exec timeout {HANG_S} {shlex.join(line)}",
            kernel,
            f"hbreak disk_submit if d->id == {disk} && io->request.sector == {sector}",
            "continue",
            "backtrace",
            "kill",
        )
    found = FRAME.findall(said)
    if "syscall" not in found:
        raise BadLab(f"gdb shows no call of block {block}'s read:\n{said[-2000:]}")
    return found


def facts(bench: Workbench, student: str) -> dict[str, int]:
    """Return all right answers, and the usual wrong ones, by name."""
    seen, mine = run(bench, student), task(student)
    known = image_facts(seen, mine)
    known |= drive_facts(known["data_block"])
    known |= trace_facts(seen, known["sector"])
    called = calls(bench, student, known[mine.followed])
    depth = called.index("syscall") + 1
    return known | {"calls": depth, "callers": depth - 1, "frames": len(called)}
