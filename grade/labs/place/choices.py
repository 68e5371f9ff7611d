"""Compute which free slot the head would have reached first, at each write in the trace."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from tempfile import TemporaryFile

from grade.engine import log_disk
from grade.engine.assertions import HALF, Tally, Wrong, expect
from grade.engine.log_disk import SECTORS, Command
from grade.engine.moments import Fault, Moment
from grade.engine.scenario import FOR_EVER, Run
from sluice.host.paths import NATIVE
from sluice.system.virtual_log import ENTRIES, Log

from .disks import PARTS, nslots

SAME_NS = 2000  # a place of 8 sectors takes a hundred times as long
NONE = -1

Patience = Callable[[int], int]  # of the arm at a time; both in ns
# About a track: when the arm is there, when the track's first free slot comes, and which slot.
Answer = tuple[int, int, int]
Answers = Callable[[int], Answer | None]  # by the track's number; None: no place of it is free


class Kind(Enum):
    """The subject of a choice: where the head may write."""

    HERE = auto()  # a place of the track under the head
    BESIDE = auto()  # another track of the cylinder is right or was chosen
    AWAY = auto()  # another cylinder is right or was chosen


@dataclass(frozen=True)
class Choice:
    """A chosen place. Times are when the head begins to write there."""

    command: Command
    wanted: int  # the first sector of the nearest free slot
    wanted_ns: int
    came_ns: int
    kind: Kind
    looked: bool  # should the arm look at the track where it went?
    patience_ns: int
    fault: Fault | None  # a fault of the policy, after which the kernel chose

    @property
    def right(self) -> bool:
        """True if no place comes earlier, where the arm should look."""
        on_time = self.came_ns <= self.wanted_ns + SAME_NS
        return not self.fault and self.looked and on_time


def follow_commands(log: Log, commands: list[Command]) -> Iterator[Command]:
    """Yield the commands; the log is as it was when each was given to the drive.

    A write of data takes a place, and a write of the map then tells it: of the piece that is due.
    """
    told: dict[int, int] = {}  # the new places that no sector of the map has yet, by block
    for command in commands:
        yield command
        place = command.sector // SECTORS
        if command.kind is log_disk.Kind.DATA and command.write:
            log.free.discard(place)
            told[command.block] = place
        elif command.kind is log_disk.Kind.MAP:
            if not told:
                continue  # a tree that was recovered wrongly has other pieces due
            piece = next(iter(told)) // ENTRIES
            due = log.next_due_piece(piece)
            here = {b: at for b, at in told.items() if b // ENTRIES == due} if due == piece else {}
            log.commit(log.build_sector(due, place, here))
            told = {block: at for block, at in told.items() if block not in here}


def find_tracks(answer: Answers, head: int, drive: str, patience_ns: int) -> dict[int, Answer]:
    """Return the tracks with a free slot that the arm looks at, in order.

    The arm looks at the tracks of its cylinder, then at the next cylinder's, and so on. It stops at
    a track that it would reach only when the best slot so far has come; for other cylinders than
    its own, patience_ns is added to the time of arrival. After the last cylinder comes the first,
    if no place was found on the way.
    """
    sectors, heads, cylinders = PARTS[drive]
    cylinder, first = head // sectors // heads, head // sectors % heads
    looked: dict[int, Answer] = {}
    best, best_ns = NONE, FOR_EVER  # the track with the best slot, and when that slot begins
    for i in range(heads * cylinders):
        at = (cylinder + i // heads) % cylinders
        track = at * heads + (first + i) % heads
        # The arm has gone round to the first cylinders, and has found a place before.
        if best != NONE and at < cylinder and at != best // heads:
            break
        if not (of_track := answer(track)):
            continue
        there_ns, begin_ns, _ = of_track
        if there_ns + (patience_ns if at != cylinder else 0) >= best_ns:
            break
        looked[track] = of_track
        if begin_ns < best_ns:
            best, best_ns = track, begin_ns
    return looked


def questions(run: Run, drive: str) -> tuple[list[Command], str]:
    """Return the commands that chose a place, and the input of places_tool.

    A line of the input adds (+) or removes (-) a free place, asks what a write would choose (?), or
    gives the drive a read or a write (R, W).
    """
    log = Log.read_log((run.folder / "data.img").read_bytes())
    asked, lines, known = [], [], set()
    commands = run.commands
    for c in follow_commands(log, [c for c in commands if c.kind is not log_disk.Kind.NOTHING]):
        if c.write and c.kind in (log_disk.Kind.DATA, log_disk.Kind.MAP):
            lines += [f"+ {place}" for place in log.free - known]
            lines += [f"- {place}" for place in known - log.free]
            known = set(log.free)
            lines.append(f"? {c.issued_ns} {c.sectors} {c.sector}")
            asked.append(c)
        lines.append(f"{'RW'[c.write]} {c.issued_ns} {c.sector} {c.sectors}")
    return asked, "\n".join(lines)


def ask_places_tool(told: str, drive: str) -> Iterator[bytes]:
    """Yield the output of places_tool for this input, line by line: each has some kilobytes."""
    line = [NATIVE / "places_tool", drive, str(nslots(drive))]
    with TemporaryFile("w+", encoding="utf-8") as asked:
        asked.write(told)
        asked.seek(0)
        with subprocess.Popen(line, stdin=asked, stdout=subprocess.PIPE, bufsize=1 << 20) as tool:
            yield from tool.stdout
        assert tool.returncode == 0, line


def read_answer(words: list[bytes], track: int) -> Answer | None:
    """Return the tool's answer about a track, or None. Most tracks are not needed."""
    word = words[track]
    return None if word == b"-" else tuple(map(int, word.split(b":")))


def begins_ns(answer: tuple[int, Answer]) -> int:
    """Return when the first free slot of a track comes."""
    return answer[1][1]


def choices(run: Run, drive: str, patience: Patience) -> Iterator[Choice]:
    """Yield all choices of places on the data disk since the first beacon, in order."""
    asked, told = questions(run, drive)
    sectors, heads, _ = PARTS[drive]
    before, start_ns = [0, *(c.number for c in asked)], run.beacon(1)
    for last, c, answer in zip(before, asked, ask_places_tool(told, drive), strict=False):
        if c.issued_ns < start_ns:
            continue
        if c.head >= nslots(drive) * SECTORS:
            continue  # the head is past the last track, so that is no track of the disk
        came, *words = answer.split()
        patience_ns = patience(c.issued_ns)
        looked = find_tracks(partial(read_answer, words), c.head, drive, patience_ns)
        track, (_, wanted_ns, wanted) = min(looked.items(), key=begins_ns)
        tracks = {c.head // sectors, track, c.sector // sectors}
        kind = Kind.AWAY if len({at // heads for at in tracks}) > 1 else Kind.BESIDE
        yield Choice(
            c,
            wanted,
            wanted_ns,
            int(came),
            Kind.HERE if len(tracks) == 1 else kind,
            c.sector // sectors in looked,
            patience_ns,
            next((fault for fault in run.faults if last < fault.number < c.number), None),
        )


def format_place(sector: int, drive: str) -> str:
    """Return a place, for a message."""
    sectors, heads, _ = PARTS[drive]
    track = sector // sectors
    return f"sector {sector} (cylinder {track // heads}, head {track % heads})"


def choice_error(run: Run, choice: Choice, drive: str) -> Wrong:
    """Return the error about a wrong choice."""
    if choice.fault:
        return run.fault_error(choice.fault)
    c = choice.command
    what = "a sector of the map" if c.kind is log_disk.Kind.MAP else f"block {c.block}"
    begin_ms, came_ms = ((ns - c.issued_ns) / 1e6 for ns in (choice.wanted_ns, choice.came_ns))
    wanted = format_place(choice.wanted, drive)
    rule = f", where the arm does not look with a patience of {choice.patience_ns / 1e6:.3f} ms"
    return Wrong(
        f"{what} to go to {wanted}, which begins after {begin_ms:.3f} ms, "
        f"with the head at {format_place(c.head, drive)}",
        f"it went to {format_place(c.sector, drive)}, which begins after {came_ms:.3f} ms"
        + (rule if came_ms < begin_ms else ""),
        Moment(run.folder.name, c.number, run.events[c.number]),
    )


def check(
    run: Run,
    drive: str,
    patience: Patience,
    kinds: set[Kind],
    least: int,
    none: float = HALF,
) -> Tally:
    """Return how many writes did not go to the nearest free slot. Raises Wrong.

    kinds: the kinds of choices that count. least: how many such choices there must be. none: the
    share of wrong choices from which on there are no points.
    """
    seen, wrong, first = 0, 0, None
    for choice in choices(run, drive, patience):
        if choice.kind in kinds:
            seen += 1
            if not choice.right:
                wrong += 1
                first = first or choice_error(run, choice, drive)
    expect(seen >= least, f"at least {least} such choices", f"{seen}")
    return Tally(wrong, seen, first, none)
