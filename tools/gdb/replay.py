"""gdb's side of `sluice debug`: stop the machine at an event of its trace, and go by events.

- The trace is a ring in the machine's memory, which is a file. A watchpoint on the place of record
  N stops the machine when machine mode writes that record; no instruction is added. Then the
  machine goes on until the kernel has its answer, so that the stack shows who traced.
- Back is a new machine that executes the same instructions up to the earlier event. Each arrival
  compares the trace so far with that of the first time. A difference is an error of Sluice.
- The machine is QEMU's replay of a record, in which stops and steps leave clock, timers and
  interrupts as they are (sluice/debug/stop.py says why).
- What the session is about is in the file that SLUICE_REPLAY names (sluice/debug/stop.py).
"""

import json
import mmap
import os
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import gdb

RING = struct.Struct("<QQQQ")  # magic, records, written, astray
RECORD = struct.Struct("<QQQIHH")
HEAD = 32  # bytes of a trace file before its records
MAGIC = 0x6563617274736C75
MEMORY_START = 0x80000000
WRITE = 1 << 63
REQUEST, DECISION, EVENT = "request", "decision", "event"
# The decisions of policies: which request is next, where it goes, which block is written,
# prefetched, gives way, or that a flush ends.
DECISIONS = {"issued", "placed", "writing", "ahead", "evicted", "flush", "sought", "fault"}
SETTINGS = """set confirm off
set pagination off
set architecture riscv:rv64
set trust-readonly-sections on
set remotetimeout 60
"""


@contextmanager
def quiet() -> Iterator[None]:
    """Have gdb print no frame where it stops, which a gdb before version 13 does."""
    try:
        gdb.execute("set suppress-cli-notifications on")
    except gdb.error:
        yield
        return
    try:
        yield
    finally:
        gdb.execute("set suppress-cli-notifications off")


@cache
def short(path: Path) -> Path:
    """Return another path of the same file for this process.

    A socket's path has at most 107 bytes. A path has one such name, however often the machine
    starts again.
    """
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)  # open as long as gdb
    return Path(f"/proc/self/fd/{folder}/{path.name}")


class Replay:
    """The machine, and the trace of its first run."""

    def __init__(self, told: dict) -> None:
        self.told = told
        self.lost, self.names = told["lost"], told["events"]
        with Path(told["trace"]).open("rb") as file:
            self.trace = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.last = self.lost + (len(self.trace) - HEAD) // RECORD.size - 1
        self.machine: subprocess.Popen | None = None

    # ---- the trace ----

    def record(self, number: int) -> tuple:
        """Return an event of the first run: time_ns, block, argument, pid, event, disk."""
        return RECORD.unpack_from(self.trace, HEAD + (number - self.lost) * RECORD.size)

    def ring(self, at: int, size: int) -> bytes:
        """Return bytes of the machine's ring."""
        with Path(self.told["memory"]).open("rb") as file:
            file.seek(self.told["phys"] - MEMORY_START + at)
            return file.read(size)

    def event_count(self) -> int:
        """Return how many events the machine has traced."""
        magic, _, written, _ = RING.unpack(self.ring(0, RING.size))
        return written if magic == MAGIC else 0

    def check(self) -> None:
        """Compare what the machine has traced with the first run. Raises GdbError."""
        end, room = self.event_count(), self.told["records"]
        begin = max(self.lost, end - room)  # the first event that both have
        ring = self.ring(RING.size, room * RECORD.size)
        split = begin % room * RECORD.size  # where that event is in the ring
        here = (ring[split:] + ring[:split])[: (end - begin) * RECORD.size]
        there = self.trace[HEAD:][(begin - self.lost) * RECORD.size :][: len(here)]
        if here == there:
            return
        first = next(
            i
            for i in range(0, len(here), RECORD.size)
            if here[i : i + RECORD.size] != there[i : i + RECORD.size]
        )
        number = begin + first // RECORD.size
        now = RECORD.unpack_from(here, first)
        raise gdb.GdbError(
            f"this run differs from the first time at event {number}, now\n  {self.line(now)}\n"
            f"and then\n  {self.line(self.record(number))}\n"
            "A run must be the same each time: this is an error of Sluice, or of QEMU."
        )

    def line(self, record: tuple) -> str:
        """Return an event in a line."""
        time_ns, block, argument, pid, event, disk = record
        name = f"{self.names[event]}-write" if argument & WRITE else self.names[event]
        return (
            f"{time_ns / 1e6:,.3f} ms  {name}  disk{disk} {block}  pid {pid}  {argument & ~WRITE}"
        )

    # ---- the machine ----

    def restart(self) -> None:
        """Start a new machine, which waits before its first instruction. Raises GdbError."""
        if self.machine:
            if self.alive():
                gdb.execute("disconnect", to_string=True)
            self.machine.kill()
            self.machine.wait()
        path = short(Path(self.told["socket"]))
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen(1)
            self.machine = subprocess.Popen(
                [*self.told["launch"], str(listening.fileno())],
                cwd=self.told["root"],
                pass_fds=[listening.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            with quiet():
                gdb.execute(f"target remote {path}", to_string=True)
        except gdb.error as error:
            said = Path(self.told["console"]).read_text(errors="replace", encoding="utf-8")[-500:]
            raise gdb.GdbError(f"the machine did not start ({error}); it said:\n{said}") from None

    def alive(self) -> bool:
        """Return True if there is a machine that has not ended."""
        return gdb.selected_thread() is not None

    def resume(self) -> None:
        """Let the machine run until it stops. Raises GdbError if it ends."""
        try:
            gdb.execute("continue", to_string=True)
        except gdb.error as error:
            raise gdb.GdbError(f"the machine ended: {error}; `back` starts it again") from None
        if not self.alive():
            raise gdb.GdbError("the machine ended; `back` starts it again")

    def reach(self, number: int) -> None:
        """Run until this event has been traced, and the kernel goes on."""
        there = gdb.Breakpoint(self.run_up_to(number), gdb.BP_HARDWARE_BREAKPOINT, internal=True)
        there.silent = True
        try:
            self.resume()
        finally:
            there.delete()

    def run_up_to(self, number: int) -> str:
        """Run until machine mode writes this event. Returns where the kernel goes on."""
        room = self.told["records"]
        place = self.told["phys"] + RING.size + number % room * RECORD.size
        watch = gdb.Breakpoint(
            f"*(unsigned long *){place:#x}", gdb.BP_WATCHPOINT, gdb.WP_WRITE, internal=True
        )
        watch.silent = True
        try:
            while self.event_count() <= number:
                self.resume()
                if (self.event_count() - 1 - number) % room:
                    raise gdb.GdbError(f"stopped on the way, at event {self.event_count() - 1}")
        finally:
            watch.delete()
        return f"*{int(gdb.parse_and_eval('$mepc')) + 4:#x}"

    def stop_at_event(self, number: int) -> None:
        """Stop the machine at this event, and show it.

        Other breakpoints are off until then.
        """
        if not self.lost <= number <= self.last:
            raise gdb.GdbError(f"the trace has events {self.lost} to {self.last}")
        enabled = [each for each in gdb.breakpoints() if each.enabled]
        for each in enabled:
            each.enabled = False
        try:
            if not self.machine or not self.alive() or self.event_count() > number:
                if self.machine:
                    print(f"Making the run again, up to event {number}.", flush=True)
                self.restart()
            self.reach(number)
        finally:
            for each in enabled:
                if each.is_valid():
                    each.enabled = True
        self.check()
        self.show()

    def go_for_an_editor(self, number: int) -> None:
        """Stop the machine just before it has traced this event, at a breakpoint of the event.

        An editor continues when it has begun, and shows a stop only if that has a reason.
        """
        self.restart()
        gdb.Breakpoint(self.run_up_to(number), gdb.BP_HARDWARE_BREAKPOINT, temporary=True)

        def check_arrival(_: gdb.StopEvent) -> None:
            gdb.events.stop.disconnect(check_arrival)
            try:
                self.check()
                print(f"event {number}  {self.line(self.record(number))}")
            except gdb.GdbError as error:
                print(error)

        gdb.events.stop.connect(check_arrival)

    def show(self) -> None:
        """Print the last event, and select the frame that traced it."""
        number = self.event_count() - 1
        print(f"event {number}  {self.line(self.record(number))}")
        frame = gdb.newest_frame()
        while frame.older() and (frame.name() or "").startswith(("machine_call", "trace")):
            frame = frame.older()
        frame.select()
        gdb.execute("frame")

    # ---- going by events ----

    def has_kind(self, kind: str, number: int) -> bool:
        """Return True if an event is of a kind: event, request, decision, or an event's name."""
        name = self.names[self.record(number)[4]]
        if kind == REQUEST:
            return name == "queued"
        return kind == EVENT or name == kind or (kind == DECISION and name in DECISIONS)

    def walk(self, words: str, step: int) -> None:
        """Go to the next event of a kind in one direction, or to the COUNTth."""
        kind, count = EVENT, 1
        for word in words.split():
            if word.isdecimal():
                count = int(word)
            elif word in (EVENT, REQUEST, DECISION, *self.names):
                kind = word
            else:
                raise gdb.GdbError(
                    f"{word}: give event, request, decision, or one of {' '.join(self.names)}"
                )
        number = self.event_count() - 1
        while count:
            number += step
            if not self.lost <= number <= self.last:
                raise gdb.GdbError(f"no {kind} more that way: events {self.lost} to {self.last}")
            count -= self.has_kind(kind, number)
        self.stop_at_event(number)


replay = Replay(json.loads(Path(os.environ["SLUICE_REPLAY"]).read_text(encoding="utf-8")))


def forth(words: str) -> None:
    """forth [event|request|decision|NAME] [COUNT]: run to the next event of this kind.

    A request is one that is queued; a decision is a policy's: what is written, dispatched,
    prefetched, evicted. NAME is an event's name in the trace, as completed.
    """
    replay.walk(words, 1)


def back(words: str) -> None:
    """back [event|request|decision|NAME] [COUNT]: the same backward in time.

    The machine executes again, from power-on up to that event.
    """
    replay.walk(words, -1)


def go_to_event(words: str) -> None:
    """at [NUMBER]: go to the event of this number, forth or back.

    Without a number, go to the instant for which the run is made again.
    """
    if words and not words.isdecimal():
        raise gdb.GdbError("at NUMBER: the number of an event")
    replay.stop_at_event(int(words or replay.told["at"]))


def add_command(name: str, function: Callable[[str], None]) -> None:
    """Make a gdb command of that name of a function. Its docstring is the help text.

    sluice.py, which is read into the same names, has `command` for its own commands, which do not
    run the machine.
    """

    class Command(gdb.Command):
        __doc__ = function.__doc__

        def __init__(self) -> None:
            super().__init__(name, gdb.COMMAND_RUNNING)

        def invoke(self, words: str, from_tty: bool) -> None:
            function(words.strip())

    Command()


def begin() -> None:
    """Go to the event that the session begins at."""
    for line in SETTINGS.splitlines():
        gdb.execute(line)
    gdb.execute(f"source {Path(replay.told['root']) / 'tools/gdb/sluice.py'}")
    for name, function in (("forth", forth), ("back", back), ("at", go_to_event)):
        add_command(name, function)
    print(f"Making the run again, up to {replay.told['words']}.")
    try:
        (replay.go_for_an_editor if replay.told["editor"] else replay.stop_at_event)(
            replay.told["at"]
        )
    except gdb.GdbError as error:
        print(error)
        gdb.execute("quit 1")
    print(
        "The trace up to here is that of the first time. The console is in\n"
        f"{replay.told['console']}\n"
        "Commands of Sluice: cache dirty queue procs kstack; forth back at (help NAME)"
    )


begin()
