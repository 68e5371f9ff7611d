"""A program makes the directory /d. The power is cut after each write of the disk in turn, and
e2fsck -p looks at what is left."""

import re
from dataclasses import replace
from pathlib import Path

from grade.engine.example import format_columns
from grade.engine.scenario import BLOCK_BYTES, Run
from sluice.system import image

from .cuts import list_writes, scenario

SCENARIO = replace(
    scenario("example", ["beacon 1", "mkdir /data/d", "beacon 2", "sync", "beacon 3"], {}),
    varied=False,
)
AREAS = re.compile(r"(Inode table|Block bitmap|Inode bitmap|Group descriptors) at (\d+)(?:-(\d+))?")


def areas(disk: Path) -> dict[int, str]:
    """Return what the blocks of the file system's metadata are for."""
    told = image.run_command("dumpe2fs", disk).stdout.decode()
    found = {0: "super block"}
    for name, first, last in AREAS.findall(told):
        found |= dict.fromkeys(range(int(first), int(last or first) + 1), name.lower())
    found[int(image.debugfs(disk, "bmap / 0"))] = "the parent: names"
    return found


VERDICTS = {0: "nothing to repair", 1: "repaired without asking"}


def verdict(disk: Path) -> str:
    """Return the output of e2fsck -p, which repairs the disk, and whether /d is there then."""
    status = image.run_command("e2fsck", "-fp", disk, check=False).returncode
    if status not in VERDICTS:
        return "a PERSON must decide"
    there = "Type: directory" in image.debugfs(disk, "stat /d")
    return f"{VERDICTS[status]}; /d is {'there' if there else 'not there'}"


def describe_run(run: Run) -> str:
    """Return each write of the disk since the program began, and e2fsck's verdict after it."""
    disk = bytearray((run.folder / "data.img").read_bytes())
    path, names, rows = run.folder / "cut.img", areas(run.folder / "data.img"), []
    for write in list_writes(run):
        disk[write.at : write.at + len(write.data)] = write.data
        if write.done_ns >= run.beacon(1):
            path.write_bytes(disk)
            what = names.get(write.at // BLOCK_BYTES, "the directory's block")
            when = "mkdir" if write.done_ns < run.beacon(2) else "later"
            rows.append([len(rows) + 1, when, what, verdict(path)])
    return format_columns(["write", "during", "of", "after a power cut here"], rows)
