"""Cut the power at every write, and judge what is left.

The crash laboratory (sluice/crash) makes the cuts: the disk as it was after some of the writes, if
the drive's cache had brought all, none or some of the writes since the last flush onto the
platters; or with a write that is torn. e2fsck, which knows nothing of this kernel, replays the log
and repairs without a question; then it has nothing to say; and the names and contents are those of
one moment since the last fsync or sync. The simplest cut that loses something is told as a story.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from grade.engine.assertions import Wrong
from sluice.crash.checker import Checker
from sluice.crash.cuts import Base, Cut, Image, follow_events
from sluice.crash.disk_events import Event
from sluice.crash.ext2 import Damaged, Reader, read_tree
from sluice.crash.log_faults import COMMIT, DESCRIPTOR, REVOKE, SUPERBLOCK, find_sequence, find_type
from sluice.crash.logwriter import HEAD, LAST, SAME_UUID, TAG
from sluice.crash.machine import memory_folder
from sluice.crash.operations import Operation
from sluice.crash.oracle import FoundTree, Promise

from .operations import Recording

JOURNALLED = Promise("prefix", stale=False)
JOURNAL_INODE = 8
MOST_KNOWN = 20_000  # verdicts
MOST_LINES, MOST_FOUND = 12, 300  # lines of a story, and letters of what was found
EXPECTED = "every cut to leave a disk that e2fsck -p repairs without a question, with all that was \
fsynced, and each operation whole or not at all"


@dataclass
class Verdict:
    """The verdict of e2fsck and a reader of ext2 on a cut: the tree of files, or the faults."""

    wrong: list[str] = field(default_factory=list)
    tree: FoundTree | None = None


@lru_cache(maxsize=1)
def known_verdicts() -> dict[tuple[bytes, int], Verdict]:
    """Return the verdicts of all images so far, by the image's hash."""
    return {}


class Judge:
    """Judges images in a folder. Equal images are judged once."""

    def __init__(self, folder: Path) -> None:
        self.checker = Checker(folder)

    def judge_cut(self, base: bytes, image: Image) -> Verdict:
        """Return the verdict on what a cut left. base: the digest of the disk before."""
        known, key = known_verdicts(), (base, image.hash)
        if key not in known:
            while len(known) >= MOST_KNOWN:
                known.pop(next(iter(known)))
            known[key] = self.judge(image.bytes())
        return known[key]

    def judge(self, image: bytes) -> Verdict:
        """Return the verdict on an image."""
        if asked := self.checker.preen(image, "e2fsck"):
            return Verdict([asked])
        if status := self.checker.run("-fn"):
            said = self.checker.message()
            return Verdict([f"e2fsck -p, then e2fsck -fn: status {status}: {said}"])
        return read_verdict(self.checker.path.read_bytes())


def read_verdict(image: bytes) -> Verdict:
    """Return the tree on an image, as it is."""
    try:
        return Verdict([], read_tree(image))
    except Damaged as error:
        return Verdict([str(error)])


Way = tuple[tuple[int, ...], int, tuple[int, ...]]  # the fields chosen, torn and sectors of a Cut


def list_ways(events: Sequence[Event], after: int, pending: list[int]) -> list[Way]:
    """Return the ways that are tried in which the power may go just after an event.

    pending: the numbers of the writes in the disk's cache. Of the many ways in which the cache may
    lose writes beside the last one, these are tried: it lost all others, none, only the oldest, or
    only the youngest. Then the last write is torn in the middle, and none other is lost.

    A way is the numbers of the writes that are there; the torn one, or -1; and its sectors.
    """
    kind = events[after].kind
    if kind not in ("write", "returned"):
        return []
    last = (after,) if kind == "write" else ()
    others = tuple(number for number in pending if number != after)
    ways: dict[Way, None] = {}  # as a set that keeps the order
    for kept in ((), others, others[1:], others[:-1]):
        ways[(*kept, *last), -1, ()] = None
    if kind == "write" and (count := events[after].sectors()) > 1:
        first_half = tuple(range((count + 1) // 2))
        ways[(*others, after), after, first_half] = None
    return list(ways)


def iterate_cuts(
    recording: Recording, wanted: "Range", volatile: bool
) -> Iterator[tuple[Cut, Image]]:
    """Yield the cuts of a recording that are wanted, each with what it leaves."""
    base = Base(recording.before)
    for _, now, platters in follow_events(base, recording.events, volatile):
        ways = list_ways(recording.events, now.after, list(platters.pending))
        for chosen, torn, sectors in ways:
            cut = replace(now, chosen=chosen, torn=torn, sectors=sectors)
            if wanted(cut):
                yield cut, platters.image(cut)


Range = Callable[[Cut], bool]  # True for the cuts of a recording that a test judges


def before(operations: Sequence[Operation], name: str) -> Range:
    """Return a range: the cuts before the last operation of this name begins."""
    place = max(i for i, op in enumerate(operations) if op.name == name)
    return lambda cut: cut.returned < place or (cut.returned == place and not cut.under_way)


def ends_fsync(recording: Recording, event: Event) -> bool:
    """Return True if an fsync returned with this event."""
    return event.kind == "returned" and recording.operations[event.mark].name == "fsync"


def around_checkpoint(recording: Recording) -> Range:
    """Return a range: the cuts of the first checkpoint, and those when later fsyncs have returned.

    The first ones are those after each write until the next transaction begins.
    Raises Wrong if the log's superblock is not written meanwhile.
    """
    events = recording.events
    began = next(i for i, event in enumerate(events) if event.kind == "began")
    written = (i for i in range(began, len(events)) if find_type(events[i]) == SUPERBLOCK)
    checkpoint = next(written, None)
    if checkpoint is None:
        raise Wrong(
            "the log to be emptied when half of it is used", "its superblock is not written"
        )
    later = range(checkpoint, len(events))
    end = next((i for i in later if find_type(events[i]) in (DESCRIPTOR, REVOKE)), len(events))
    fsyncs = {i for i in range(end, len(events)) if ends_fsync(recording, events[i])}
    return lambda cut: checkpoint <= cut.after < end or cut.after in fsyncs


@dataclass(frozen=True)
class Loss:
    """A cut that lost something, and what was found. volatile: the drive lost its cache, too."""

    cut: Cut
    wrong: str
    volatile: bool


def judge_cuts(
    recording: Recording, wanted: Range, volatile: bool = True
) -> tuple[int, list[Loss]]:
    """Judge the cuts of a recording.

    Returns how many, and those that lost something. volatile: the drive's cache is lost with the
    power; otherwise each write that has ended is durable.
    """
    losses, count = [], 0
    base = blake2b(recording.before, digest_size=16).digest()
    with memory_folder() as name:
        judge = Judge(Path(name))
        for cut, image in each_cut(recording, wanted, volatile):
            count += 1
            if wrong := find_wrong(judge.judge_cut(base, image), recording, cut):
                losses.append(Loss(cut, wrong, volatile))
    return count, losses


def each_cut(recording: Recording, wanted: Range, volatile: bool) -> Iterator[tuple[Cut, Image]]:
    """Yield the cuts that are judged, each with what it leaves. Equal cuts come once."""
    seen = set()
    for cut, image in iterate_cuts(recording, wanted, volatile):
        key = (image.hash, cut.returned, cut.under_way)
        if key not in seen:
            seen.add(key)
            yield cut, image


def find_wrong(verdict: Verdict, recording: Recording, cut: Cut) -> str:
    """Return what is wrong with what a cut left, or an empty text."""
    if verdict.tree is None:
        return "; ".join(verdict.wrong)
    found, _ = recording.history.check(verdict.tree, cut.returned, cut.under_way, JOURNALLED)
    return "; ".join(found)


def expect_no_loss(recording: Recording, least: int, wanted: Range, volatile: bool = True) -> None:
    """Raise Wrong, with the story of the simplest cut, if a cut lost something.

    There must be at least `least` cuts.
    """
    count, losses = judge_cuts(recording, wanted, volatile)
    if losses:
        loss = min(losses, key=lambda one: (one.cut.torn >= 0, one.cut.after, len(one.cut.chosen)))
        raise Wrong(
            EXPECTED, f"{len(losses)} of {count} cuts lose something. {tell(recording, loss)}"
        )
    if count < least:
        raise Wrong(f"writes for at least {least} cuts", f"writes for {count} cuts")


# ---- revokes ----


def list_needless(recording: Recording) -> list[int]:
    """Return the blocks that are revoked although the log has no copy of them that counts.

    A block of revokes has, behind its head, the bytes that are in use, and then block numbers.
    """
    logged: set[int] = set()  # blocks with a copy in the log, since it was last emptied
    needless: list[int] = []
    for event in recording.events:
        kind = find_type(event) if event.kind == "write" else 0
        if kind == SUPERBLOCK:
            logged.clear()
        elif kind == DESCRIPTOR:
            logged.update(list_homes(event.data))
        elif kind == REVOKE:
            (end,) = struct.unpack_from(">I", event.data, HEAD.size)
            revoked = struct.unpack_from(
                f">{(end - HEAD.size - 4) // 4}I", event.data, HEAD.size + 4
            )
            needless += [block for block in revoked if block not in logged]
            logged.difference_update(revoked)
    return needless


def list_homes(descriptor: bytes) -> list[int]:
    """Return the homes of the copies behind a descriptor."""
    at, flags, homes = HEAD.size, 0, []
    while not flags & LAST and at + TAG.size <= len(descriptor):
        home, _, flags = TAG.unpack_from(descriptor, at)
        homes.append(home)
        at += TAG.size + (0 if flags & SAME_UUID else 16)
    return homes


# ---- in words ----


def log_blocks(image: bytes) -> dict[int, int]:
    """Return the numbers in the log of its blocks, by their numbers on the disk."""
    reader = Reader(image)
    inode = reader.inode(JOURNAL_INODE)
    first = min(reader.blocks_of(inode))
    count = inode.size // reader.block_bytes
    skipped = 1 + (count - 12 > 1024)  # blocks of pointers lie among them
    return {first + i: i for i in range(count + skipped)}


KINDS = {
    DESCRIPTOR: "log: descriptor of transaction {}",
    COMMIT: "log: commit block of transaction {}",
    REVOKE: "log: revokes of transaction {}",
    SUPERBLOCK: "log: its superblock",
}


def describe_write(event: Event, log: dict[int, int], block_bytes: int) -> str:
    """Say what a write is."""
    block = event.at // block_bytes
    if block not in log:
        return "the superblock" if not block else f"block {block}, at its home"
    return KINDS.get(find_type(event), "log: copy of a block").format(find_sequence(event))


def list_lines(recording: Recording, loss: Loss) -> list[str]:
    """Return a line for each event until a cut."""
    log, size = log_blocks(recording.before), Reader(recording.before).block_bytes
    lines = []
    for i, event in enumerate(recording.events[: loss.cut.after + 1]):
        if event.kind == "began":
            lines.append(str(recording.operations[event.mark]))
        elif event.kind == "returned":
            lines.append("  returned")
        elif event.kind == "flush":
            lines.append("    flush of the drive's cache")
        elif event.kind == "write":
            said = describe_write(event, log, size)
            lines.append(f"    write: {said}{describe_fate(recording, loss, i)}")
    return lines


def number_writes(recording: Recording) -> list[str]:
    """Return a line for each operation, and one with the numbers of writes of one kind in a row."""
    log, size = log_blocks(recording.before), Reader(recording.before).block_bytes
    lines, writes, first, kind = [], 0, 0, ""
    for event in recording.events:
        if event.kind == "began":
            lines.append(str(recording.operations[event.mark]))
            kind = ""
        elif event.kind == "write":
            writes += 1
            said = "at home" if event.at // size not in log else describe_write(event, log, size)
            if said == kind:
                lines.pop()
            else:
                first, kind = writes, said
            lines.append(f"  {first}{f' to {writes}' if writes > first else ''}: {said}")
    return lines


def describe_fate(recording: Recording, loss: Loss, number: int) -> str:
    """Say what became of a write that was torn, or in the drive's cache."""
    if number == loss.cut.torn:
        return "  <- torn: only its first half is there"
    if not loss.volatile or number in loss.cut.chosen:
        return ""
    flushes = (i for i in range(loss.cut.after) if recording.events[i].kind == "flush")
    flushed = number < max(flushes, default=0)
    return "" if flushed else "  <- was still in the drive's cache: lost"


def tell(recording: Recording, loss: Loss) -> str:
    """Return the story of a cut: what was found, and what had happened."""
    lines = list_lines(recording, loss)
    left_out = [f"    ({len(lines) - MOST_LINES} lines before are left out)"]
    shown = lines if len(lines) <= MOST_LINES else [*left_out, *lines[-MOST_LINES:]]
    found = f"In the simplest, found: {loss.wrong[:MOST_FOUND]}"
    return "\n".join([found, *shown, "    *** here the power goes ***"])
