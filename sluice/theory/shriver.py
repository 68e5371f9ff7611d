"""Predict the time to read files that are not cached, one file or several at once.

A file is read by commands to the drive, each of some neighbouring blocks. For n files

    Total        = n (sum of DRT over a file's commands)                     n > 1
    Total        = FSOverhead + sum over the commands of
                   max(DRT, computing until the next one is waited for)      n = 1
    DRT[random]  = DiskOverhead[miss] + E[Seek] + E[RotLat] + size / min(BusTR, DiskTR)
    DRT[cached]  = DiskOverhead[hit] + size / BusTR
    FSOverhead   = requests x SystemCallOverhead + size x MemoryCopyRate
    per request  = Total x request size / file size

The first command of a file is random; so is a command after a jump to another group. The others
continue where the file's last command ended and are

    n = 1             cached: the arm goes on, so they wait at most for the platter
    1 < n <= segments cached, as far as the arm read ahead before the next file's
                      command reached the drive; what remains is random
    n > segments      random: by then the segment has been used for another file

A command that continues where the command before it ended, while the arm is still there, is never
random. If the drive reads ahead only after sequential reads, the second command of a file finds
nothing in the cache, and waits until its first sector passes again.

If the kernel sets the number of segments, it sets the number before the first read.

E[Seek] is over the places of n files, drawn uniformly: with C-LOOK n - 1 of n seeks lead
from a file to the next one outwards, one is the return from the last to the first; with
FCFS all lead between two files in any order. For one file they stay in the file's group; if the
pointer block is in a random group, those to it and back are between two random places.
E[RotLat] is half a rotation, DiskTR the mean over the zones, with the skews.

The request size, the prefetch policy and the layout determine the commands that read a file
(sluice/theory/parts/reader.py). They take the place of the paper's NumClusters, its growing
clusters and its indirect block. SystemCallOverhead and MemoryCopyRate are instructions of charged
time. Those of counted time are measured by the experiment shriver-cpu (sluice/theory/read_call.py).

Source: E. Shriver, C. Small, K. Smith, "Why does file system prefetching work?", USENIX
1999. Two parts are ours: a command may be cached in part; and if the drive reads ahead while the
program computes, only the longer of the two times counts.
"""

from dataclasses import dataclass, field
from functools import cache
from itertools import groupby

from sluice.theory import Parameter, System
from sluice.theory.parts.drive_row import SECTOR_BYTES, read_drive_row
from sluice.theory.parts.mean_drive import (
    Drive,
    Setting,
    mean_near_seek_ns,
    mean_seeks_ns,
    start_places,
)
from sluice.theory.parts.reader import (
    COST,
    FAR,
    Bsd44,
    Command,
    Compute,
    File,
    Step,
    Wait,
    program_steps,
)

KIB = 1024

PARAMETERS = {
    "files": Parameter("read at once, n", "the workload", 1),
    "file_kb": Parameter("size of a file, KiB", "the workload", 1),
    "request_kb": Parameter("size of a read call, KiB", "the workload", 0.5),
    "work": Parameter("thousands of instructions after each call", "the workload"),
    "block_kb": Parameter("a file system block, KiB", "the image", 1, 8),
    "group_mb": Parameter("a block group, MiB", "the image", 1),
    "far": Parameter("1: the pointer block is in the next group; 2: random", "the image", 0, 2),
    "cluster_kb": Parameter("the largest command, KiB", "the machine"),
    "cpu_shift": Parameter("an instruction takes 2^this ns", "the machine", 0, 10),
    "command_us": Parameter("a command's way to the drive: adapter, bus protocol", "the paper"),
    "bus_kb_s": Parameter("BusTR, 1,000 bytes a second", "the paper", 100),
    "segments": Parameter("of the drive's cache", "the drive's row, or what is set", 1, 16),
    "sequential": Parameter("1: it reads ahead if reads are sequential", "the machine", 0, 1),
}
QUANTITIES = {
    "total_ms": "from the start until all files are read",
    "request_ms": "that, times request size / file size: mean response of a request",
    "throughput": "of all files together",
}


# ---- what runs ----


@dataclass(frozen=True)
class Machine:
    """The machine's values that follow from the parameters. Times are in ns."""

    setting: Setting
    instruction: float
    way: float  # the time that a command takes to reach the drive
    turn: float  # half a rotation
    jump: float  # the seek to a place in the same group or the next
    leap: float  # the seek to or from the group of the pointer block

    def command(self, blocks: int) -> float:
        """Return half of the kernel's work for a command: the work before the drive has it, or
        after."""
        return (COST.command + (blocks - 1) * COST.command_block) / 2 * self.instruction


def build_machine(drive: str, p: dict[str, float]) -> Machine:
    """Return the machine's values from a drive and the parameters."""
    row = read_drive_row(drive)
    jump = mean_near_seek_ns(row, p["group_mb"])
    return Machine(
        setting=Setting(
            row=row,
            bus_ns=SECTOR_BYTES * 1e6 / p["bus_kb_s"],
            segments=int(p["segments"]),
            block=int(p["block_kb"] * KIB / SECTOR_BYTES),
            if_sequential=bool(p["sequential"]),
        ),
        instruction=2 ** p["cpu_shift"],
        way=p["command_us"] * 1000,
        turn=row.rotation_ns / 2,
        jump=jump,
        leap=mean_seeks_ns(drive, 2)[2] if p["far"] > 1 else jump,
    )


def file_of_load(system: System, p: dict[str, float]) -> File:
    """Return the file that the parameters describe."""
    return File(
        size_kb=p["file_kb"],
        call_kb=p["request_kb"],
        block_kb=int(p["block_kb"]),
        far=bool(p["far"]),
        cluster_kb=int(p["cluster_kb"]),
        work=int(p["work"] * 1000),  # the parameter is in thousands of instructions
        by_block=bool(system.tunables.get(f"{system.policies['prefetch']}.by_block")),
    )


# ---- one file ----


@dataclass(frozen=True)
class Waiting:
    """A command that the drive has not begun: when it was queued, and its number in the file."""

    queued_ns: float
    number: int
    command: Command


@dataclass
class Queue:
    """The queued commands of one file. Places that are not neighbours are in nearby groups."""

    m: Machine
    drive: Drive
    in_order: bool  # True: FCFS; False: C-LOOK
    waiting: list["Waiting"] = field(default_factory=list)  # the first queued first
    free_ns: float = 0  # when the drive can begin its next command
    head: int = 0  # the block behind the last command's
    done_ns: dict[int, float] = field(default_factory=dict)  # by a command's number

    def put(self, now_ns: float, number: int, commands: list[Command]) -> None:
        """Queue commands at the time now_ns. number: that of the first command."""
        self.serve_until(now_ns)
        self.waiting += [Waiting(now_ns, number + i, c) for i, c in enumerate(commands)]

    def serve_until(self, limit_ns: float) -> None:
        """Serve all commands that the drive begins before limit_ns."""
        while self.waiting and max(self.free_ns, self.waiting[0].queued_ns) < limit_ns:
            self.serve_next()

    def serve_next(self) -> None:
        """Serve the command that the scheduler chooses next."""
        start_ns = max(self.free_ns, self.waiting[0].queued_ns)
        queued = [w for w in self.waiting if w.queued_ns <= start_ns]
        if not self.in_order:  # C-LOOK: the next place outwards or, past the last, the first place
            queued.sort(key=lambda w: (w.command.place < self.head, w.command.place))
        chosen = queued[0]
        self.waiting.remove(chosen)
        command = chosen.command
        arrival_ns = start_ns + self.m.way
        served = self.drive.serve(0, command, arrival_ns - self.free_ns)
        is_leap = abs(command.place - self.head) > FAR / 2
        moving_ns = served.moved * ((self.m.leap if is_leap else self.m.jump) + self.m.turn)
        self.free_ns = arrival_ns + served.ns + moving_ns
        self.head = command.place + command.blocks
        self.done_ns[chosen.number] = self.free_ns + self.m.command(command.blocks)

    def wait(self, number: int) -> float:
        """Return the time in ns when a command is done. Commands before it are served first."""
        while number not in self.done_ns:
            self.serve_next()
        return self.done_ns[number]


def one_file_total_ns(made: list[Step], m: Machine, queue: Queue) -> float:
    """Return the time in ns until the program has done all its steps.

    Commands that follow each other in the steps are queued together.
    """
    now_ns, number = 0.0, 0
    for are_commands, group in groupby(made, lambda step: isinstance(step, Command)):
        if are_commands:
            commands = [step for step in group if isinstance(step, Command)]
            now_ns += sum(m.command(command.blocks) for command in commands)
            queue.put(now_ns, number, commands)
            number += len(commands)
            continue
        for step in group:
            if isinstance(step, Wait):
                now_ns = max(now_ns, queue.wait(step.command))
            elif isinstance(step, Compute):
                now_ns += step.instructions * m.instruction
    return now_ns


# ---- several files ----


@dataclass
class Visit:
    """The mean service of a file's queued commands, over all places where files may begin."""

    ns: float = 0  # without the seek to the file
    moved: float = 0  # the probability of such a seek


Rounds = tuple[tuple[Command, ...], ...]


def split_rounds(made: list[Step]) -> Rounds:
    """Return the commands in rounds.

    A round has the commands that are queued before the program waits for the last of them.
    """
    rounds: list[list[Command]] = []
    last, waited = -1, -1  # the numbers of the last command, and of the last one waited for
    for step in made:
        if isinstance(step, Wait):
            waited = step.command
        elif isinstance(step, Command):
            if waited == last:
                rounds.append([])
            rounds[-1].append(step)
            last += 1
    return tuple(map(tuple, rounds))


def visit_file(m: Machine, drive: Drive, file: int, commands: tuple[Command, ...]) -> Visit:
    """Return one visit to a file: the service of these commands.

    The first move of the arm takes half a rotation here, because its seek comes from another file.
    Each further move also takes the seek to a second place of the file, m.leap.
    """
    seen = Visit()
    for command in commands:
        idle = m.command(command.blocks) + m.way
        served = drive.serve(file, command, idle)
        seen.ns += idle + served.ns
        if served.moved:
            seen.ns += m.turn + bool(seen.moved) * m.leap
            seen.moved = 1
    return seen


@cache  # calls of several sizes lead to the same commands
def visit_rounds(together: Rounds, m: Machine, n: int) -> list[Visit]:
    """Return the visit of each round, while n files are visited in rotation."""
    mean = [Visit() for _ in together]
    for where, start, share in start_places(m.setting.row):
        drive = Drive(m.setting, where, start)
        for k, of_round in enumerate(mean):
            for file in range(n):
                seen = visit_file(m, drive, file, together[k])
                of_round.ns += share / n * seen.ns
                of_round.moved += share / n * seen.moved
    return mean


def stay_probabilities(moved: list[float], n: int) -> list[float]:
    """Return, for each round, the probability that the arm is still at a file when its visit
    begins, as the mean over the n files. moved: the probability of a move in each round."""
    mean = [0.0] * len(moved)
    for file in range(n):
        stayed = 0.0  # the probability so far
        before = 0.0  # the probability that this file's command moved the arm in the last round
        for k, now in enumerate(moved):
            # Since then the files after this one were visited, and in this round those before it.
            no_other_moved = (1 - before) ** (n - 1 - file) * (1 - now) ** file
            stayed = (before + (1 - before) * stayed) * no_other_moved
            mean[k] += stayed / n
            before = now
    return mean


def many_files_ns(made: list[Step], m: Machine, n: int, seek_ns: float) -> float:
    """Return the time in ns of all rounds of n > 1 files, with the processor's work before and
    after."""
    seen = visit_rounds(split_rounds(made), m, n)
    stayed = stay_probabilities([v.moved for v in seen], n)
    each = [v.ns + v.moved * (1 - stays) * seek_ns for v, stays in zip(seen, stayed, strict=True)]
    return n * sum(each) + edge_ns(made, m)


def edge_ns(made: list[Step], m: Machine) -> float:
    """Return the sum of the time before the first command reaches the drive and after the last is
    done."""
    first, command = next((i, s) for i, s in enumerate(made) if isinstance(s, Command))
    last = max(i for i, step in enumerate(made) if isinstance(step, Wait))
    outside = [
        step.instructions for step in made[:first] + made[last:] if isinstance(step, Compute)
    ]
    return sum(outside) * m.instruction + 2 * m.command(command.blocks)


def mean_seek_ns(system: System, n: int) -> float:
    """Return E[Seek] for n > 1 files."""
    onward, back, pair = mean_seeks_ns(system.drive, n)
    return {"clook": ((n - 1) * onward + back) / n, "fcfs": pair}[system.policies["sched"]]


# ---- the whole ----


def prefetch_rules(system: System, file: File) -> Bsd44 | None:
    """Return the rule of the prefetch policy; None if nothing is read ahead."""
    if system.policies["prefetch"] == "none":
        return None
    return Bsd44(max(1, system.tunables["bsd44.cluster_kb"] // file.block_kb))


def total_ns(system: System, file: File, m: Machine, n: int) -> float:
    """Return the time in ns from the start until all n files are read."""
    made = program_steps(file, COST, prefetch_rules(system, file))
    if n > 1:
        return many_files_ns(made, m, n, mean_seek_ns(system, n))
    in_order = system.policies["sched"] == "fcfs"
    return sum(
        share * one_file_total_ns(made, m, Queue(m, Drive(m.setting, where, start), in_order))
        for where, start, share in start_places(m.setting.row)
    )


def covers(system: System, parameters: dict[str, float]) -> bool:
    """Return whether the formulas cover the policies and the load. Raises ValueError for a drive
    without platters."""
    read_drive_row(system.drive)
    several, sched = parameters["files"] > 1, system.policies["sched"]
    alike = not several or (not parameters["work"] and sched in ("clook", "fcfs"))
    return alike and system.policies["prefetch"] in ("none", "bsd44")


def predict(system: System, parameters: dict[str, float]) -> dict[str, float]:
    """Return the model's QUANTITIES, or {} if the formulas do not cover the policies and the load.
    Raises ValueError for a drive without platters."""
    if not covers(system, parameters):
        return {}
    p, n = parameters, int(parameters["files"])
    total = total_ns(system, file_of_load(system, p), build_machine(system.drive, p), n)
    return {
        "total_ms": total / 1e6,
        "request_ms": total / 1e6 * p["request_kb"] / p["file_kb"],
        "throughput": n * p["file_kb"] * KIB * 1e9 / total,
    }
