"""Eight blocks of a file are written, one after the other, to a disk of which three quarters are in
use. After each of them goes the sector of the map that tells where it is."""

from dataclasses import replace
from itertools import pairwise

from grade.engine import log_disk
from grade.engine.example import format_columns
from grade.engine.parameters import PLAIN
from grade.engine.scenario import Run

from .disks import DRIVE, PARTS, Fresh, machine

BLOCKS = (100, 31, 77, 5, 140, 62, 118, 9)
DD = "bs=4k count=1 conv=notrunc 2> /dev/null"
SCENARIO = replace(
    machine(
        "example",
        DRIVE,
        Fresh(DRIVE, 1),
        [
            "beacon 1",
            *(f"dd if=/data/f of=/data/g seek={block} skip={block} {DD}" for block in BLOCKS),
        ],
        data=(("/f", "1800K"), ("/g", "640K")),
        pattern=1,
        varied=False,
    ),
    setting=replace(PLAIN, drives=("fixed", DRIVE, "fixed")),
)


def format_place(sector: int) -> str:
    """Return a sector's cylinder, head, and place on the track."""
    sectors, heads, _ = PARTS[DRIVE]
    track = sector // sectors
    return f"{track // heads}/{track % heads}/{sector % sectors}"


def describe_run(run: Run) -> str:
    """Return each write with the time that it took the drive."""
    numbers = run.sectors("/g")
    commands = run.commands
    rows, total = [], 0.0
    for data, of_map in pairwise(commands):
        block = numbers.get(data.block * log_disk.SECTORS)
        if block is None or data.kind is not log_disk.Kind.DATA or not data.write:
            continue
        took = [(c.done_ns - c.issued_ns) / 1e6 for c in (data, of_map)]
        total += sum(took)
        cells = [format_place(data.head), format_place(data.sector), f"{took[0]:.1f}"]
        rows.append(
            [block, *cells, format_place(of_map.sector), f"{took[1]:.1f}", f"{total:.1f} ms"]
        )
    return format_columns(["block", "head at", "data to", "ms", "map to", "ms", "in all"], rows)
