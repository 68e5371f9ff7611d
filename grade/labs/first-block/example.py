"""A book like yours, but smaller: it lies behind one block of pointers. Two bytes of it are read,
one after the other, as in the lab."""

import re

from grade.engine.example import format_columns
from grade.engine.scenario import BLOCK_BYTES, BLOCK_SECTORS, Run, Scenario
from sluice.system import image

BOOK, SHELF = "/attic/manual", "/attic"
FIRST, AGAIN = 200 * BLOCK_BYTES, 300 * BLOCK_BYTES
DD = "dd if=/data/attic/manual of=/dev/null bs=1 count=1 2> /dev/null"
SCENARIO = Scenario(
    name="example",
    script=f"beacon 1\n{DD} skip={FIRST}\nbeacon 2\n{DD} skip={AGAIN}\nbeacon 3\n",
    args="update=none nbuf=1000",
    data=((BOOK, "2M"), ("/attic/poems", "40K")),
    size="16M",
    varied=False,
)
TABLE = re.compile(r"Inode table at (\d+)-(\d+)")


def names(run: Run) -> dict[int, str]:
    """Return what some blocks of the disk are."""
    disk = run.folder / "data.img"
    spans = TABLE.findall(image.run_command("dumpe2fs", disk).stdout.decode())
    found = {
        n: "a block of the table of inodes" for a, b in spans for n in range(int(a), int(b) + 1)
    }
    found[int(image.debugfs(disk, "bmap / 0"))] = "the directory /: its names"
    found[int(image.debugfs(disk, f"bmap {SHELF} 0"))] = f"the directory {SHELF}: its names"
    stat = image.debugfs(disk, f"stat {BOOK}")
    found[int(re.search(r"\(IND\):(\d+)", stat)[1])] = "the block of pointers"
    for byte in (FIRST, AGAIN):
        block = byte // BLOCK_BYTES
        found[int(image.debugfs(disk, f"bmap {BOOK} {block}"))] = f"block {block} of the book"
    return found


def describe_run(run: Run) -> str:
    """Return the reads of the data disk that each command caused, in order."""
    known, rows = names(run), []
    for command in (1, 2):
        begins, ends = run.beacon(command), run.beacon(command + 1)
        for request in run.data(write=False):
            if begins < request.queued_ns < ends:
                block = request.sector // BLOCK_SECTORS
                rows.append([command, block, request.sector, known.get(block, "something else")])
    return format_columns(["command", "block", "sector", "what it is"], rows)
