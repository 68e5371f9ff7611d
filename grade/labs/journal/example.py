"""A program makes the directory /d and syncs, on a disk with a journal. The power is cut after each
write of the disk in turn, and e2fsck replays the log and looks at what is left."""

from pathlib import Path

from grade.engine.example import format_columns
from grade.engine.scenario import Run
from sluice.crash.checker import Checker
from sluice.crash.ext2 import Damaged, Reader, read_tree
from sluice.crash.machine import apply_writes, memory_folder

from .judging import describe_write, log_blocks
from .operations import ON_DEMAND, list_events, parse, scenario

OPERATIONS = parse("mkdir /d; sync")
SCENARIO = scenario("example", OPERATIONS, ON_DEMAND, varied=False)


def verdict(checker: Checker, disk: bytes) -> str:
    """Return the verdict of e2fsck, which replays the log, and whether /d is there then."""
    if checker.preen(disk, "e2fsck"):
        return "a PERSON must decide"
    status = checker.run("-fn")
    try:
        there = "there" if "/d" in read_tree(checker.path.read_bytes()) else "not there"
    except Damaged:
        return "damaged"
    return f"/d is {there}{'; and there are FAULTS' if status else ''}"


def describe_run(run: Run) -> str:
    """Return each write of the disk since the program began, and the verdict after it."""
    before = (run.folder / "data.img").read_bytes()
    events = list_events(run, OPERATIONS)
    log, size = log_blocks(before), Reader(before).block_bytes
    rows, when = [], ""
    with memory_folder() as name:
        checker = Checker(Path(name))
        for i, event in enumerate(events):
            if event.kind in ("began", "returned"):
                when = OPERATIONS[event.mark].name if event.kind == "began" else "later"
            elif event.kind == "flush" and when:
                rows.append(["", when, "flush", ""])
            elif event.kind == "write" and when:
                number = sum(bool(row[0]) for row in rows) + 1
                what = describe_write(event, log, size)
                rows.append(
                    [number, when, what, verdict(checker, apply_writes(before, events[: i + 1]))]
                )
    return format_columns(["write", "during", "of", "after a power cut here"], rows)
