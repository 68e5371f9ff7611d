"""Check the evidence that a machine left behind, because its kernel is not trusted.

- Machine mode keeps the trace (kernel/entry.S): no record was changed, and each time was the
  clock's when the record was written, within ASTRAY_NS.
- The disk layer's trace must agree with the transfers that were made: the sectors that were read or
  written, and their order. Machine mode moves the data of RAM disks and logs each move, and counts
  those for which the log had no space. No move may be missing from the log, and each must be a move
  that machine mode makes. A scenario that needs more than RAM disks uses QEMU's own devices, which
  log their transfers.
- A block becomes dirty, is written, queued, issued and completed in this order, with nothing in
  between. (The first two steps are checked only for a submission that is not the cache itself.)
- What a program finds in the cache was read from the disk or written before, and a block that it
  misses is read or overwritten. So no read is answered with another block, or with nothing. (This,
  too, is not checked for a submission that is the cache.)
- The times must agree with the drive. From the time when a command was issued, the model of the
  drive computes when it is done. No command is done sooner. A command may be done later if the
  kernel worked with interrupts off. Two kinds of work do so: a flush that gathers a batch of blocks
  takes up to 1.8 ms and traces events all the time; a search for another disk's next command takes
  up to 1/8 of a rotation and ends with that command's issue. Times never go back.
- On a disk with a virtual log, the trace says where each block went, and the devices' transfers
  must agree (log_disk.py).
- At the end the kernel's code and constants must be those of its file, and so must machine mode's
  pages, except for the words that machine mode writes there. The file was checked before
  (linked_kernel.py).

So a step in the trace must have happened at the time that the trace gives. A person who writes an
operating system into a policy could still use page tables that show the kernel other code than its
own, devices that write where the processor may not, and machine mode's call to add records that are
about no step of a write, such as a read's arrival.
"""

import re
import struct
import subprocess
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from operator import attrgetter
from pathlib import Path

from grade.code import elf
from grade.engine import log_disk
from grade.engine.assertions import Wrong, expect
from grade.engine.scenario import BLOCK_SECTORS, LAST_BEACON, Request, Run
from grade.trust import linked_kernel
from grade.trust.untrusted_text import make_printable
from sluice.host.fault import HostFault
from sluice.host.paths import NATIVE
from sluice.system import trace
from sluice.system.guest import MEMORY_START, Guest

# The steps that may precede each step of a block's write in the trace.
OF_DISK = {"queued": {"writing"}, "issued": {"queued"}, "completed": {"issued"}}
OF_CACHE = {
    "dirtied": {"completed", "cancelled"},
    "cancelled": {"dirtied"},
    "writing": {"dirtied", "completed", "cancelled"},
}
SEEN = re.compile(r"virtio_blk_handle_(read|write) vdev (\w+) req \w+ sector (\d+) nsectors (\d+)")
LATE_NS = 200_000  # an idle kernel traces a command's end within this time
SEARCH_NS = 2_000_000  # the longest search of a scheduler for the next command
# The least share of commands that must be on time, or late with traced work. The others may be late
# because work with interrupts off traced nothing.
ON_TIME = 0.97
WRITABLE = 2  # PF_W, the flag of a writable ELF segment
# The errors that reading a stranger's trace may raise.
UNREADABLE = (ArithmeticError, LookupError, ValueError, StopIteration, struct.error)


def trace_address(kernel: Path, memory: Path) -> int:
    """Return the address of the trace, from a word that only machine mode can write.

    The only global symbol of its name gives the place of that word. In a kernel with a submission
    in it, the symbol has been compared with entry.S (linked_kernel.py).
    """
    at, _ = linked_kernel.machine_word_range(elf.read(kernel))
    return read_word(memory, at)


def read_word(memory: Path, phys: int) -> int:
    """Return the double word at a physical address of the guest's memory."""
    with memory.open("rb") as file:
        file.seek(phys - MEMORY_START)
        data = file.read(linked_kernel.WORD.size)
    found: int = linked_kernel.WORD.unpack(data)[0]
    return found


Transfer = tuple[int, int, bool]  # sector, sectors, whether it is a write


def group_by_disk(transfers: Iterable[tuple[object, Transfer]]) -> list[list[Transfer]]:
    """Return the transfers of each disk in order, with adjacent transfers joined.

    A transfer that continues where the last one ended belongs to it: a command has several moves,
    and QEMU's device does them at once.
    """
    disks: dict[object, list[Transfer]] = defaultdict(list)
    for disk, (sector, sectors, write) in transfers:
        done = disks[disk]
        if done:
            last_sector, last_sectors, last_write = done[-1]
            if last_sector + last_sectors == sector and last_write == write:
                sector, sectors = last_sector, last_sectors + sectors
                done.pop()
        done.append((sector, sectors, write))
    return sorted(disks.values())


def device_transfers(log: Path, most: int) -> list[list[Transfer]]:
    """Return the transfers that QEMU's devices did for each disk; at most `most` in all."""
    with log.open(errors="replace", encoding="utf-8") as lines:
        found = islice(filter(None, map(SEEN.search, lines)), most)
        return group_by_disk((m[2], (int(m[3]), int(m[4]), m[1] == "write")) for m in found)


def machine_transfers(kernel: Path, guest: Guest) -> list[list[Transfer]]:
    """Return the transfers of each RAM disk, as machine mode logged them.

    Raises Wrong unless the log is complete, and all its records are of moves that machine mode
    makes.
    """
    end = read_word(guest.path, linked_kernel.move_log_end(elf.read(kernel)))
    try:
        moves = guest.moves(end)
    except ValueError as error:
        raise Wrong("a log of moves as machine mode keeps it", str(error)) from None
    return group_by_disk((m.disk, (m.sector, m.sectors, m.write)) for m in moves)


def executed_commands(run: Run, with_last: bool = False) -> list[Request]:
    """Return the commands that the drives carried out: of each disk, in the order of completion.

    Their sectors are those on the platters. with_last: include a command that a power cut ended, on
    a data disk with a log. The commands of such a disk are taken from its log, and come after those
    of the other disks.
    """
    if not run.scenario.on_log:
        return run.requests
    disk = run.data_disk
    on_log = [
        Request(disk, c.sector, c.sectors, c.write, c.issued_ns, c.issued_ns, c.done_ns)
        for c in run.commands
        if c.kind is not log_disk.Kind.NOTHING and (c.done_ns or with_last)
    ]
    return [*(r for r in run.requests if r.disk != disk), *on_log]


def traced_transfers(run: Run) -> list[list[list[Transfer]]]:
    """Return the transfers of each disk that the trace shows, in two variants.

    A command that a power cut ended may or may not have been carried out. One variant has it, the
    other does not.
    """
    return [
        group_by_disk(
            (r.disk, (r.sector, r.sectors, r.write)) for r in executed_commands(run, with_last)
        )
        for with_last in (False, True)
    ]


def expect_ordered_writes(run: Run, cache_too: bool) -> None:
    """Raise Wrong unless a block's next write begins after the last one is done.

    A block has one buffer, so its writes cannot overlap. Reads can overlap, because programs read a
    disk past the cache. Events about a virtual log itself are skipped: they go past the cache, too.
    """
    before = OF_CACHE | OF_DISK if cache_too else OF_DISK | {"queued": {"completed"}}
    steps: dict[tuple[int, int], str] = {}
    of_log = (
        log_disk.log_events(run.events, run.data_disk, run.commands)
        if run.scenario.on_log
        else set()
    )
    for number, event in run.events.select_named(*before):
        of_disk = event.name in OF_DISK
        if number in of_log or (of_disk and not event.write):
            continue
        at = (event.disk, event.block // BLOCK_SECTORS if of_disk else event.block)
        last = steps.get(at, "completed")
        expect(
            last in before[event.name],
            "a block's writes to be begun, queued, issued and completed in turn",
            f"disk {at[0]}, block {at[1]}: {event.name} after {last}",
        )
        steps[at] = event.name


OF_READS = ("hit", "miss", "ahead", "evicted", "dirtied", "writing", "queued", "issued")


def expect_answers(events: trace.Events, cut: bool = False) -> None:
    """Raise Wrong unless each block that a program read was read from the disk or written before.

    cut: the power was cut, so the last reads may not have been queued.
    """
    known: set[tuple[int, int]] = set()  # blocks that may be in the cache, as (disk, block)
    missed: set[tuple[int, int]] = set()  # blocks that must still be read or overwritten
    unanswered = 0
    for _, event in events.select_named(*OF_READS):
        if event.name in ("queued", "issued"):
            last = (event.block + event.argument - 1) // BLOCK_SECTORS
            blocks = range(event.block // BLOCK_SECTORS, last + 1) if not event.write else ()
            came = {(event.disk, block) for block in blocks}
        else:
            at = (event.disk, event.block)
            came = {at} if event.name in ("dirtied", "writing") else set()
            unanswered += at not in known if event.name == "hit" else not came and at in missed
            if event.name in ("miss", "ahead", "evicted"):
                known.discard(at)
                missed.discard(at)
            if event.name in ("miss", "ahead"):
                missed.add(at)
        known |= came
        missed -= came
    unanswered += 0 if cut else len(missed)
    expect(
        not unanswered,
        "each block that programs read to come from the disk, or to have been written before",
        f"{unanswered} reads were answered with another block, or with nothing",
    )


def format_commands(run: Run, commands: list[Request]) -> str:
    """Return the input of drive_times_tool, in the order of time.

    A command is a line "DISK NS R|W SECTOR SECTORS". A move of the arm to the first (0) or last (1)
    cylinder, which the event `sought` records, is a line "DISK NS S 0|1 0".
    """
    lines = [
        (r.issued_ns, f"{r.disk} {r.issued_ns} {'RW'[r.write]} {r.sector} {r.sectors}\n")
        for r in commands
    ]
    lines += [
        (e.argument, f"{e.disk} {e.argument} S {e.block} 0\n")
        for _, e in run.events.select_named("sought")
    ]
    return "".join(line for _, line in sorted(lines, key=lambda row: row[0]))


def run_drive_model(drives: Sequence[str], commands: str) -> subprocess.CompletedProcess[str]:
    """Run drive_times_tool, which computes when these drives complete the commands."""
    line = [str(NATIVE / "drive_times_tool"), *drives]
    return subprocess.run(
        line, input=commands, capture_output=True, text=True, check=False, encoding="utf-8"
    )


def command_delays_ns(run: Run, commands: list[Request]) -> list[int]:
    """Return by how many ns each command was done later than the drive's model says.

    Raises Wrong for commands that no drive can do, and HostFault if the tool fails even without
    commands.
    """
    drives = run.scenario.setting.drives
    done = run_drive_model(drives, format_commands(run, commands))
    if done.returncode < 0:
        raise HostFault(f"signal {-done.returncode} ended drive_times_tool, which checks times")
    if done.returncode:
        if (alone := run_drive_model(drives, "")).returncode:
            raise HostFault(f"drive_times_tool, which checks times: {make_printable(alone.stderr)}")
        raise Wrong("only commands that a drive can do in the trace", make_printable(done.stderr))
    model_ns = map(int, done.stdout.split())
    return [r.completed_ns - ns for r, ns in zip(commands, model_ns, strict=True)]


def was_busy(events: Sequence[trace.Event], begin_ns: int, end_ns: int) -> bool:
    """Return True if the kernel worked from begin_ns to end_ns.

    That is, it traced an event every LATE_NS, or searched. events: the oldest first.
    """
    first = bisect_left(events, begin_ns, key=attrgetter("time_ns"))
    for event in events[first:]:
        most_ns = SEARCH_NS if event.name == "issued" else LATE_NS
        if event.time_ns >= end_ns or event.time_ns - begin_ns > most_ns:
            break
        begin_ns = event.time_ns
    return end_ns - begin_ns <= LATE_NS


def expect_times(run: Run) -> None:
    """Raise Wrong unless the times agree with the drives and never go back.

    By a model of its drive, no command may end early. A late end needs a cause: the kernel was at
    work. The share ON_TIME of each disk's commands, but for one, is on time or has a cause.
    """
    expect(run.events.times_rise(), "the times of the trace to rise", "they go back")
    issued = sorted(executed_commands(run), key=lambda r: r.issued_ns)
    late_by_disk: dict[int, list[tuple[Request, int]]] = defaultdict(list)
    for r, ns in zip(issued, command_delays_ns(run, issued), strict=True):
        late_by_disk[r.disk].append((r, ns))
    for disk, rows in sorted(late_by_disk.items()):
        late = [ns for _, ns in rows]
        expected = f"disk {disk}'s commands to be done when its drive is done with them"
        early = sum(ns < 0 for ns in late)
        forged = f"{early} of {len(late)} were sooner: the times in the trace are forged"
        expect(not early, expected, forged)
        idle = sum(
            ns > LATE_NS and not was_busy(run.events, r.completed_ns - ns, r.completed_ns)
            for r, ns in rows
        )
        came = (
            f"{idle} of {len(late)} were later, and the trace shows no work in between: the kernel"
            " has interrupts off for long, or the times in the trace are forged"
        )
        expect(idle <= (1 - ON_TIME) * len(late) + 1, expected, came)


def constant_parts(kernel: Path) -> list[tuple[int, bytes]]:
    """Return the parts of a kernel that never change: physical addresses and contents."""
    made = elf.read(kernel)
    fixed = (s for s in made.segments if s.type == elf.LOADED and not s.flags & WRITABLE)
    return [(s.phys, made.data[s.offset : s.offset + s.file_bytes]) for s in fixed]


def expect_constants(kernel: Path, memory: Path) -> None:
    """Raise Wrong unless code and constants in memory are as they were loaded.

    Words that machine mode itself writes may differ.
    """
    first, last = linked_kernel.machine_word_range(elf.read(kernel))
    with memory.open("rb") as file:
        for phys, data in constant_parts(kernel):
            file.seek(phys - MEMORY_START)
            found = bytearray(file.read(len(data)))
            if phys <= first < phys + len(data):
                found[first - phys : last - phys] = data[first - phys : last - phys]
            expect(
                found == data,
                "the kernel's code and tables as they were built",
                f"others in memory at the end, within {len(data)} bytes at {phys:#x}",
            )


def expect_complete_trace(run: Run, lost: int) -> None:
    """Raise Wrong if events of the trace are lost, or if the script did not reach its end.

    A scenario whose boot is to stop (`ends`) need not reach its end.
    """
    expect(not lost, f"at most {run.scenario.trace_k}k events in the trace", f"{lost} more")
    if not run.scenario.ends:
        run.beacon(LAST_BEACON)


def expect_evidence(
    run: Run, lost: int, kernel: Path, guest: Guest, log: Path, cache_too: bool
) -> None:
    """Raise Wrong unless all evidence of the run is as the head of this file says."""
    memory = guest.path
    expect_complete_trace(run, lost)
    astray = trace.count_wrong_times(memory, trace_address(kernel, memory))
    expect(not astray, "each time in the trace to be the clock's", f"{astray} were not")
    expect_constants(kernel, memory)
    most = len(executed_commands(run)) + 2
    done = machine_transfers(kernel, guest) if guest.images else device_transfers(log, most)
    expect(
        done in traced_transfers(run),
        "the disks to have made the transfers of the trace, in its order",
        "other transfers: the disk layer did not write this trace",
    )
    expect_ordered_writes(run, cache_too)
    if cache_too:
        expect_answers(run.events, run.scenario.cut)
    expect_times(run)


def save_trace(kernel: Path, memory: Path, out: Path) -> None:
    """Write the trace to a file, even if the machine ended badly; no file if it has no trace."""
    out.unlink(missing_ok=True)
    with suppress(*UNREADABLE):
        trace.save(memory, trace_address(kernel, memory), out)


def verify_run(
    run_of: Callable[[trace.Events], Run],
    kernel: Path,
    guest: Guest,
    log: Path,
    cache_too: bool,
) -> Run:
    """Return the run that the trace shows. Raises Wrong unless the evidence supports it.

    log: what QEMU's devices saw, if they have the disks. cache_too: false if the submission itself
    writes what the trace shows of the cache.
    """
    try:
        lost, events = trace.read_trace(guest.path, trace_address(kernel, guest.path))
        run = run_of(events)
        expect_evidence(run, lost, kernel, guest, log, cache_too)
    except UNREADABLE as error:
        raise Wrong("the trace as the disk layer writes it", str(error) or "none") from None
    return run
