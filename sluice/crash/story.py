"""A failure, reduced and told: the shortest workload and cut that show it, as a story."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.crash.certainty import Certainty, find_certainty, format_certainty
from sluice.crash.cuts import Cut
from sluice.crash.debugger import last_command
from sluice.crash.disk_events import SECTOR, Event
from sluice.crash.ext2 import Reader
from sluice.crash.laboratory import Failure, Laboratory, Outcome, Plant
from sluice.crash.log_faults import JOURNAL_INODE
from sluice.crash.operations import BadOperation, Operation, describe
from sluice.crash.oracle import FoundTree
from sluice.crash.workloads import Workload
from sluice.twin.engine import TWIN


@dataclass(frozen=True)
class Story:
    """A cut that failed, with its recording and the image that it left."""

    failure: Failure
    events: list[Event]  # the recording
    image: bytes
    certain: Certainty | None  # from which event on a loss was certain
    cuts: int  # of the workload
    failed: int  # cuts of the workload that failed
    repeatable: bool  # this tree's kernel writes the same, so gdb can show it


def shorter(workload: Workload) -> Iterator[Workload]:
    """Yield a workload without each of its operations."""
    operations = workload.operations
    for i in range(len(operations)):
        less = operations[:i] + operations[i + 1 :]
        if less:
            yield Workload(describe(less), less)


def reduce_workload(laboratory: Laboratory, workload: Workload, plant: Plant | None) -> Workload:
    """Return the shortest workload that still fails: without one more operation none does."""
    for less in shorter(workload):
        if laboratory.try_workload(less, plant, most=1).failures:
            return reduce_workload(laboratory, less, plant)
    return workload


def simplicity(failure: Failure) -> tuple[int, int, int]:
    """Return what makes a cut easy to tell: nothing is torn, few writes are pending, it is
    early."""
    cut = failure.cut
    return cut.torn >= 0, len(cut.chosen), cut.after


def tell(laboratory: Laboratory, workload: Workload, plant: Plant | None = None) -> Story | None:
    """Return the story of a workload's simplest failure, or None if there is none."""
    outcome = laboratory.try_workload(workload, plant, keep_cuts=True)
    if not outcome.failures:
        return None
    failure = min(outcome.failures, key=simplicity)
    return make_story(laboratory, outcome, failure, plant)


def tell_cut(
    laboratory: Laboratory, workload: Workload, number: int, plant: Plant | None = None
) -> Story:
    """Return the story of one cut, also of one that loses nothing. Raises BadOperation if the
    workload has no such cut."""
    outcome = laboratory.try_workload(workload, plant, keep_cuts=True)
    if not 0 <= number < len(outcome.tried):
        raise BadOperation(f"--cut {number}: the workload has cuts 0 to {len(outcome.tried) - 1}")
    none = Failure(workload, outcome.tried[number], ())
    found = (failure for failure in outcome.failures if failure.cut.number == number)
    return make_story(laboratory, outcome, next(found, none), plant)


def make_story(
    laboratory: Laboratory, outcome: Outcome, failure: Failure, plant: Plant | None
) -> Story:
    """Return the story of one of an outcome's cuts."""
    events = laboratory.record(failure.workload)
    events = plant(events) if plant else events
    cuts = laboratory.iterate_cuts(events)
    image = next((image for cut, image in cuts if cut == failure.cut), None)
    certain = find_certainty(laboratory, failure, events) if failure.wrong else None
    disk = image.bytes() if image else laboratory.base.disk
    repeatable = plant is None and laboratory.setup.twin == TWIN
    counts = (outcome.cuts, len(outcome.failures))
    return Story(failure, events, disk, certain, *counts, repeatable)


# ---- in words ----


class Places:
    """The disk's layout in words: what each block holds."""

    def __init__(self, disk: bytes, tree: FoundTree) -> None:
        """Find what each block is: first the blocks of the groups, then those of the journal, then
        those of files, directories and links."""
        self.reader = reader = Reader(disk)
        # By block: what it is, in words.
        self.at: dict[int, str] = {reader.first_block + 1: "the group descriptors"}
        for group in range(-(-reader.inodes // reader.inodes_each)):
            bitmap, inodes, table = reader.descriptor(group)
            self.at |= {bitmap: "the bitmap of blocks", inodes: "the bitmap of inodes"}
            nblocks = reader.inodes_each * reader.inode_bytes // reader.block_bytes
            self.at |= {table + i: "a block of inodes" for i in range(nblocks)}
        journal = reader.inode(JOURNAL_INODE)  # its blocks are one run
        nblocks = journal.sectors * SECTOR // reader.block_bytes
        first = min(reader.blocks_of(journal), default=0)
        self.at |= {first + i: "the journal" for i in range(nblocks)}
        names = {"f": "data of {}", "d": "directory {}", "l": "the link {}"}
        for path, found in {"/": None, **tree}.items():
            inode = reader.inode(found.inode if found else 2)
            kind = found.kind if found else "d"
            for block in reader.blocks_of(inode):
                self.at.setdefault(block, names[kind].format(short(path)))

    def describe(self, event: Event) -> str:
        """Say what a write changes."""
        size = self.reader.block_bytes
        blocks = range(event.at // size, (event.at + len(event.data) - 1) // size + 1)
        if blocks.start == 0:
            return "the superblock"
        said = [self.at.get(block, "a block that was free") for block in blocks]
        return ", ".join(dict.fromkeys(said))


def short(path: str) -> str:
    """Return a path, without the middle of a long one."""
    return path if len(path) <= 40 else f"{path[:20]}...{path[-8:]}"


def describe_event(event: Event, operations: Sequence[Operation], places: Places) -> str:
    """Say what happened."""
    if event.kind == "write":
        return f"    write of {event.sectors()} sectors: {places.describe(event)}"
    if event.kind in ("flush", "faulted"):
        return f"    {event.kind}"
    if event.kind == "end":
        return "end"
    if event.kind == "began":
        return " ".join(short(word) for word in str(operations[event.mark]).split())
    return f"  returned{f', error {event.error}' if event.error else ''}"


def describe_fate(cut: Cut, number: int, events: Sequence[Event], volatile: bool) -> str:
    """Say what became of a write in the drive's cache."""
    flushes = (i for i in range(cut.after) if events[i].kind == "flush" or not volatile)
    flushed = max(flushes, default=-1)
    if number <= flushed or number > cut.after or events[number].kind != "write":
        return ""
    if number == cut.torn:
        return f"  <- torn: only sectors {', '.join(map(str, cut.sectors))} of it are there"
    return "" if number in cut.chosen else "  <- was still in the drive's cache: lost"


def list_events(
    cut: Cut,
    events: Sequence[Event],
    operations: Sequence[Operation],
    places: Places,
    volatile: bool,
) -> list[str]:
    """Return a line for each event until the cut, and for the cut."""
    lines = []
    for i, event in enumerate(events[: cut.after + 1]):
        said = describe_event(event, operations, places)
        lines.append(f"  {i:3} {said}{describe_fate(cut, i, events, volatile)}")
    return [*lines, "      *** here the power goes ***"]


def format_story(story: Story, laboratory: Laboratory, more: str = "") -> str:
    """Return a story as text. more: further options of the command that replays it."""
    failure, events = story.failure, story.events
    cut, workload = failure.cut, failure.workload
    operations = workload.all_operations()
    places = Places(laboratory.base.disk, laboratory.start_tree())
    title = "Lost" if failure.wrong else "Kept"

    lines = [f"{title}: {describe(workload.operations)}", "", "What reached the drive, in order:"]
    lines += list_events(cut, events, operations, places, laboratory.volatile)
    lines += ["", "What was found:"]
    lines += [f"  {text}" for text in failure.wrong or ["all that should be there"]]
    lines += ["", "What should be there: " + describe_expected(cut, operations)]
    lines += describe_certainty(story, operations, places)
    lines.append(f"{story.failed} of the workload's {story.cuts} cuts fail. This one again:")
    return "\n".join([*lines, *list_commands(story, more)])


def list_commands(story: Story, more: str) -> list[str]:
    """Return the lines that say how to see a cut again. more: further options of the commands."""
    cut = story.failure.cut
    again = f"'{story.failure.workload.name}' --cut {cut.number}{more}"
    lines = [f"  sluice crash show {again}", "Step by step, as a page:"]
    lines.append(f"  sluice crash theatre {again}")
    if story.repeatable and last_command(story.events, cut.after) >= 0:
        lines += ["The kernel at its last write or flush, in gdb:", f"  sluice crash debug {again}"]
    return lines


def describe_certainty(story: Story, operations: Sequence[Operation], places: Places) -> list[str]:
    """Return the lines that say from which event on a loss was certain; none if nothing is lost."""
    if not story.certain:
        return []

    def describe_number(number: int) -> str:
        """Return the words for the event with this number."""
        return describe_numbered(number, story.events, operations, places)

    return format_certainty(story.certain, story.failure.cut, describe_number)


def describe_numbered(
    number: int, events: Sequence[Event], operations: Sequence[Operation], places: Places
) -> str:
    """Say which event has this number, within a sentence."""
    event = events[number]
    said = describe_event(event, operations, places).strip()
    if event.kind == "returned":
        said = f"{operations[event.mark].name} {said}"
    return f"event {number} ({said})"


def describe_expected(cut: Cut, operations: Sequence[Operation]) -> str:
    """Say what a cut should leave."""
    if any(operation.worker for operation in operations):
        return "what each process has confirmed, and names that an fsync of any has confirmed"
    done = operations[: cut.returned]
    said = f"what is there after {done[-1]}" if done else "what was there at first"
    return f"{said}, or after {operations[cut.returned]}" if cut.under_way else said
