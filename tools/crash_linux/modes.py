"""The modes that are tried, and what is expected of each: set before the first comparison.

A mode is a file system and how it is mounted. `must` are the kinds of findings
(sluice/crash/cut_findings.py) that are known of it: judges that find none of them are wrong.
`never` are the kinds of findings that the mode promises to prevent. Other kinds may come or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sluice.crash.workloads import Workload, all_workloads, find_workload, random_workload
from tools.crash_linux.linux_guest import Mount, parse_mount

KEPT = ("asks", "unclean", "names", "synced", "size")  # what a journal with barriers prevents
# Files are replaced, extended and confirmed in these ways by programs; the exhaustive workloads of
# one operation have none of them.
CLASSIC = (
    "creat /n; write /n 0 6000 10; rename /n /f",
    "creat /n; write /n 0 6000 10; fsync /n; rename /n /f",
    "truncate /f 0; write /f 0 5000 10",
    "append /f 6000 10; creat /n; fsync /n",
    "creat /n; write /n 0 9000 10; fsync /f",
    "append /d/g 3000 10; creat /n; fsync /n",
    "write /f 0 5000 10; fsync /f; append /f 9000 11",
    "unlink /h; unlink /d/hard; creat /n; write /n 0 9000 10; fsync /n",
    "rename /f /h; fsync /h; creat /f",
    "creat /n; link /n /d/n; fsync /n; unlink /n",
)


@dataclass(frozen=True)
class Mode:
    """A file system and its mount, with what is expected. why: the causes, in words."""

    mount: Mount
    must: tuple[str, ...]
    never: tuple[str, ...]
    why: str


def mode(mount: str, must: str, never: Sequence[str], why: str) -> Mode:
    """Return a mode."""
    return Mode(parse_mount(mount), tuple(must.split()), tuple(never), why)


APPENDS = (
    "a size can reach the disk before the data, if these go to a block that the file has already"
)
MODES = (
    mode(
        "sluice -o order=sync",
        "",
        ("unclean", "names", "synced", "size", "replaced"),
        "each step of a change of names is on the disk before the next one; data are delayed, but "
        "for those of a file that replaces another one",
    ),
    mode("sluice -o order=none", "asks names", (), "metadata is written in any order"),
    mode("ext2", "asks names", (), "metadata is written in any order"),
    mode("ext3", "zeros", (*KEPT, "stale", "replaced"), f"new blocks are ordered; {APPENDS}"),
    mode(
        "ext3 -o data=writeback",
        "zeros stale",
        KEPT,
        "the number of a new block is committed after 5 s, and its data are written after 30 s",
    ),
    mode(
        "ext4",
        "zeros",
        (*KEPT, "stale", "replaced"),
        f"a block is allocated when its data are written, and a rename has them written; {APPENDS}",
    ),
    mode(
        "ext4 -o noauto_da_alloc",
        "zeros replaced",
        (*KEPT, "stale"),
        "the rename is committed after 5 s; the new file's data are allocated after 30 s",
    ),
    mode(
        "ext4 -o data=writeback",
        "zeros",
        KEPT,
        "delayed allocation writes data shortly before their block's number is committed",
    ),
    mode(
        "ext4 -o data=writeback,nodelalloc",
        "zeros stale",
        KEPT,
        "as ext3 with data=writeback",
    ),
    mode(
        "ext4 -o barrier=0",
        "synced",
        (),
        "the drive is told of no order: a commit may be there without what it confirms",
    ),
)


def find_mode(mount: Mount) -> Mode:
    """Return the mode of a mount. A mode that MODES lacks has no expectations."""
    return next((one for one in MODES if one.mount == mount), Mode(mount, (), (), ""))


def list_workloads(seeds: int) -> list[Workload]:
    """Return the workloads: all of one operation, the classic ones, and random ones of three."""
    classic = [find_workload(text) for text in CLASSIC]
    return [*all_workloads(1), *classic, *(random_workload(seed) for seed in range(seeds))]
