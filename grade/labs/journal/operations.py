"""Do operations in a machine, and list what reached the data disk, in order.

The operations are those of the crash laboratory (sluice/crash/operations.py). Here the shell does
them, with a beacon before and after each: so of each write it is known whether an operation had
returned. Of directories that one command makes, all but the last count as made when it begins: what
is not synced may be lost, so this is no promise. QEMU keeps the disk's writes and flushes in their
order, and the trace has the times of the writes. A flush has no time of its own: it counts from the
write before it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grade.engine.assertions import expect
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import WRITE_LOG, Workbench
from sluice.crash.disk_events import SECTOR, Event
from sluice.crash.logwriter import Image
from sluice.crash.machine import memory_folder
from sluice.crash.operations import Operation, parse_operations, pattern
from sluice.crash.oracle import History
from sluice.crash.write_log import parse_log

JOURNAL, SIZE = "4M", "5M"  # the shortest log that Linux takes; of the disk, it included
KERNEL = "order=journal write=delayed nbuf=300"
VOLATILE = f"{KERNEL} drive_volatile=1"  # the drive's cache is lost with the power
# Blocks are written soon, and a write is durable.
AT_ONCE = f"{KERNEL} update=aipu aipu.age_ms=20 aipu.scan_ms=10"
ON_DEMAND = f"{VOLATILE} update=none"  # blocks are written when they must be
COMMANDS = {
    "creat": "touch /data{0}",
    "append": "dd if={data} bs=128k 2> /dev/null >> /data{0}",
    "mkdir": "mkdir /data{0}",
    "rmdir": "rmdir /data{0}",
    "unlink": "rm /data{0}",
    "link": "ln /data{0} /data{1}",
    "rename": "mv /data{0} /data{1}",
    "fsync": "sync /data{0}",
    "sync": "sync",
    "umount": "umount /data",
}


@dataclass(frozen=True)
class Replaced:
    """A change of an image: it becomes these bytes."""

    data: bytes

    def __call__(self, _: bytes) -> bytes:
        return self.data


@dataclass(frozen=True)
class ShortRing:
    """A change of an image: the ring of its log begins in the middle, as e2fsck and Linux allow."""

    def __call__(self, image: bytes) -> bytes:
        with memory_folder() as name:
            path = Path(name) / "disk"
            path.write_bytes(image)
            log = Image(path)
            log.set(first=log.get("blocks") // 2)
            return bytes(log.data)


def appended(history: History, i: int) -> bytes:
    """Return what the i-th operation of a history appends."""
    op = history.operations[i]
    return pattern(length_at(history, op.words[0], i), op.number(1), op.number(2))


def length_at(history: History, path: str, moment: int) -> int:
    """Return the length of a file at a moment: 0 if there is no file of this path."""
    kind, node = history.names[moment].at.get(path, ("", 0))
    if kind != "f":
        return 0
    versions = [data for begin, data in history.files[node].data if begin <= moment]
    return len(versions[-1]) if versions else 0


def command(op: Operation, data: str) -> str:
    """Return the shell's command for an operation. data: the file of what it appends."""
    return COMMANDS[op.name].format(*(w.rstrip("/") for w in op.words), data=data)


def group_operations(operations: tuple[Operation, ...]) -> list[list[int]]:
    """Return the places of operations, those together that one command does: mkdir in a row."""
    groups: list[list[int]] = []
    for i, op in enumerate(operations):
        if i and op.name == operations[i - 1].name == "mkdir":
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def scenario(
    name: str,
    operations: tuple[Operation, ...],
    args: str,
    image: bytes | None = None,
    like: str = "",
    more: str = "",
    varied: bool = True,
) -> Scenario:
    """Return a machine that does operations on the data disk, which is mounted.

    image: the data disk, if it is not to be new; more: commands behind the operations.
    """
    history = History(operations)
    lines, inputs = [], {}
    for number, places in enumerate(group_operations(operations)):
        i, op = places[0], operations[places[0]]
        if op.name == "append":
            inputs[f"/in{i}"] = appended(history, i)
        more_paths = [f"/data{operations[other].words[0]}" for other in places[1:]]
        words = " ".join([command(op, f"/in{i}"), *more_paths])
        lines.append(f"beacon {2 * number + 1}\n{words}\nbeacon {2 * number + 2}")
    return Scenario(
        name,
        "\n".join([*lines, more]),
        args,
        files=tuple(inputs.items()),
        size=SIZE,
        logged=True,
        flushes=True,
        journal=JOURNAL,
        on_image=Replaced(image) if image else None,
        like=like,
        varied=varied,
    )


def rename_operations(run: Run, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Return operations with the names that this run has for their paths."""
    own = run.scenario.setting
    return tuple(
        replace(op, words=tuple(own.rename_parts(w) if w[:1] == "/" else w for w in op.words))
        for op in operations
    )


def list_events(run: Run, operations: tuple[Operation, ...]) -> list[Event]:
    """Return all that happened to the data disk, with each operation's beginning and return.

    QEMU's log has the writes' data and flushes without times; the trace has the times of the same
    writes. A flush gets the time of the write before it. Raises Wrong if the two do not agree.
    """
    found = parse_log((run.folder / WRITE_LOG).read_bytes())
    done = run.data(write=True)
    places = [event.at for event in found if event.kind == "write"]
    expect(
        places == [r.sector * SECTOR for r in done],
        "the disk's writes to be those of the trace",
        "others",
    )
    times, now_ns, timed = iter(done), 0, []
    for event in found:
        now_ns = next(times).completed_ns if event.kind == "write" else now_ns
        timed.append(replace(event, time_ns=now_ns))
    for number, group in enumerate(group_operations(operations)):
        began_ns, ended_ns = run.beacon(2 * number + 1), run.beacon(2 * number + 2)
        for i in group:
            timed.append(Event("began", began_ns, mark=i))
            timed.append(Event("returned", ended_ns if i == group[-1] else began_ns, mark=i))
    return sorted(timed, key=lambda event: event.time_ns)


@dataclass(frozen=True)
class Recording:
    """The effect of operations on the data disk: the image before, the events, and the model.

    operations: with the names of the run.
    """

    run: Run
    operations: tuple[Operation, ...]
    before: bytes
    events: list[Event]
    history: History


def record(
    bench: Workbench,
    made: Scenario,
    operations: tuple[Operation, ...],
    start: Callable[[Run], History | None] = lambda _: None,
    reference: bool = False,
) -> Recording:
    """Do the operations of a scenario. start: returns the history of the disk before them."""
    run = (bench.reference if reference else bench.run)(made)
    named = rename_operations(run, operations)
    before = (run.folder / "data.img").read_bytes()
    events = list_events(run, operations)
    return Recording(run, named, before, events, History(named, start(run)))


def iterate_names(bench: Workbench, key: str) -> Iterator[str]:
    """Yield names, each once, which differ from grading to grading."""
    rng = bench.random(key)
    while True:
        yield "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randrange(3, 7)))


def parse(text: str) -> tuple[Operation, ...]:
    """Return the operations that a text names."""
    return parse_operations(text)
