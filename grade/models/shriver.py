"""Files read cold, one or several at once: how long it takes, and what each cause gives.

A file is read by commands to the drive, each of some neighbouring blocks. For n files

    Total        = n (sum of DRT over a file's commands)                     n > 1
    Total        = FSOverhead + sum over the commands of
                   max(DRT, computing until the next one is waited for)      n = 1
    DRT[random]  = DiskOverhead[miss] + E[Seek] + E[RotLat] + size / min(BusTR, DiskTR)
    DRT[cached]  = DiskOverhead[hit] + size / BusTR
    FSOverhead   = requests x SystemCallOverhead + size x MemoryCopyRate
    per request  = Total x request size / file size

The first command of a file is random; so is the one behind a jump to another group. The
others go on where the last one of their file ended and are

    n = 1             cached: the arm goes on, so they wait at most for the platter
    1 < n <= segments cached, as far as the arm read ahead before the next file's
                      command reached the drive; what remains is random
    n > segments      random: by then the segment has been used for another file

E[Seek] is over the places of n files, drawn uniformly: with C-LOOK n - 1 of n seeks lead
from a file to the next one outwards, one is the return from the last to the first; with
FCFS all lead between two files in any order. For one file they stay in the file's group.
E[RotLat] is half a rotation, DiskTR the mean over the zones, with the skews.

Which commands a file is read by follows from the request size, the prefetch policy and
the layout (grade/reader.py), and is the paper's NumClusters, its growing clusters and
its indirect block in one. SystemCallOverhead and MemoryCopyRate are instructions of this
kernel, counted by the experiment shriver-cpu (grade/models/read_call.py).

Source: E. Shriver, C. Small, K. Smith, "Why does file system prefetching work?", USENIX
1999. Ours: that a command may be cached in part, and that what is read ahead while the
program computes costs only what is longer.
"""

from dataclasses import dataclass
from functools import cache

from grade.drive_row import SECTOR_BYTES, DriveRow, Zone, drive_row
from grade.models import Parameter, System
from grade.reader import COST, Bsd44, Command, Compute, File, Step, Wait, steps

KIB = 1024
GRID = 120  # places along the drive over which a mean is taken
PHASES = 8  # of where in its track a command ends, likewise

PARAMETERS = {
    "files": Parameter("read at once, n", "the workload", 1),
    "file_kb": Parameter("size of a file, KiB", "the workload", 1),
    "request_kb": Parameter("size of a read call, KiB", "the workload", 0.5),
    "work": Parameter("thousands of instructions after each call", "the workload"),
    "block_kb": Parameter("a file system block, KiB", "the image", 1, 8),
    "group_mb": Parameter("a block group, MiB", "the image", 1),
    "far": Parameter("1: the pointer block is in another group", "the image", 0, 1),
    "cluster_kb": Parameter("the largest command, KiB", "the machine"),
    "cpu_shift": Parameter("an instruction takes 2^this ns", "the machine", 0, 10),
    "command_us": Parameter("a command's way to the drive: adapter, bus protocol", "the paper"),
    "bus_kb_s": Parameter("BusTR, 1,000 bytes a second", "the paper", 100),
    "segments": Parameter("of the drive's cache", "the drive's row, or what is set", 1, 16),
}
QUANTITIES = {
    "total_ms": "from the start until all files are read",
    "request_ms": "that, times request size / file size: mean response of a request",
    "bytes_s": "of all files together",
}


# ---- the processor ----


@dataclass(frozen=True)
class Times:
    """What the parameters come to. All in ns; sizes in sectors."""

    row: DriveRow
    instruction: float
    way: float  # of a command to the drive
    bus: float  # a sector
    segments: int  # of the drive's cache
    ahead: float  # what is read ahead into one
    block: int

    def command(self, blocks: int) -> float:
        """What the kernel does for a command; half of it before the drive has it."""
        return (COST.command + (blocks - 1) * COST.command_block) * self.instruction


def times(drive: str, p: dict[str, float]) -> Times:
    row, segments = drive_row(drive), int(p["segments"])
    room = row.segments * row.segment_sectors // segments
    return Times(
        row=row,
        instruction=2 ** p["cpu_shift"],
        way=p["command_us"] * 1000,
        bus=SECTOR_BYTES * 1e6 / p["bus_kb_s"],
        segments=segments,
        ahead=room * row.read_ahead_sectors / row.segment_sectors,
        block=int(p["block_kb"] * KIB / SECTOR_BYTES),
    )


def file_of(p: dict[str, float]) -> File:
    return File(
        size_kb=p["file_kb"],
        call_kb=p["request_kb"],
        block_kb=int(p["block_kb"]),
        far=bool(p["far"]),
        cluster_kb=int(p["cluster_kb"]),
        work=int(p["work"] * 1000),
    )


# ---- the platters ----


@dataclass(frozen=True)
class Tracks:
    """A zone's tracks. Sectors count from the start of one of them."""

    zone: Zone
    slot_ns: float  # a sector under the head
    skew: float  # slots from a track's end to the next one's start, in the mean

    def read_ns(self, first: float, sectors: float) -> float:
        """From the first one's start to the last one's end."""
        crossed = (first + sectors - 1) // self.zone.sectors - first // self.zone.sectors
        return self.slot_ns * (sectors + self.skew * crossed)

    def read_in(self, first: float, ns: float) -> float:
        """How many pass in that time, from the first on."""
        slots, done = ns / self.slot_ns, 0.0
        while slots > 0:
            left = self.zone.sectors - (first + done) % self.zone.sectors
            done += min(slots, left)
            slots -= left + self.skew
        return done


def tracks(row: DriveRow, zone: Zone) -> Tracks:
    skew = ((row.heads - 1) * zone.track_skew + zone.cyl_skew) / row.heads
    return Tracks(zone, row.rotation_ns / zone.sectors, skew)


def starts(row: DriveRow) -> list[tuple[Tracks, float, float]]:
    """Where a file may begin: a zone, a sector of a track; and how much of the drive that
    stands for."""
    total = sum(z.cylinders * z.sectors for z in row.zones)
    return [
        (tracks(row, z), (i + 0.5) / PHASES * z.sectors, z.cylinders * z.sectors / total / PHASES)
        for z in row.zones
        for i in range(PHASES)
    ]


@cache
def seeks_ns(drive: str, n: int) -> tuple[float, float, float]:
    """Mean seek between n files at random places: to the next one outwards, back from the
    last to the first, and between any two."""
    row = drive_row(drive)
    cyls = [row.cylinder_at((i + 0.5) / GRID) for i in range(GRID)]
    onward = back = pair = onwards = backs = pairs = 0.0
    for i in range(GRID):
        for j in range(i, GRID):
            ns, gap = row.seek_ns[cyls[j] - cyls[i]], (j - i) / GRID
            weight = 0.5 if i == j else 1.0
            with_none_between = weight * (1 - gap) ** (n - 2)
            with_all_between = weight * gap ** (n - 2)
            onward, onwards = onward + ns * with_none_between, onwards + with_none_between
            back, backs = back + ns * with_all_between, backs + with_all_between
            pair, pairs = pair + ns * weight, pairs + weight
    return onward / onwards, back / backs, pair / pairs


def near_seek_ns(row: DriveRow, group_mb: float) -> float:
    """Mean seek from a group's start, where the inodes are, to any place in it."""
    sectors = sum(z.cylinders * z.sectors for z in row.zones) * row.heads
    cyls = len(row.seek_ns) * group_mb * KIB * KIB / SECTOR_BYTES / sectors
    distances = [row.seek_ns[int((i + 0.5) / GRID * cyls)] for i in range(GRID)]
    return sum(distances) / GRID


def seek_ns(drive: str, n: int, sched: str) -> float | None:
    """E[Seek] for n > 1 files, if the scheduler is one that the formulas have."""
    onward, back, pair = seeks_ns(drive, n)
    return {"clook": ((n - 1) * onward + back) / n, "fcfs": pair}.get(sched)


# ---- the drive ----


@dataclass
class Segment:
    """What is left in the drive's cache of what was read ahead for a file."""

    file: int
    end: int  # the place up to which the file has been read
    ahead: float = 0  # sectors from there on


@dataclass(frozen=True)
class Served:
    moved: bool  # the arm went elsewhere: a seek and half a rotation, not in
    ns: float  # from the command's arrival until its data are across the bus


@dataclass
class Drive:
    """The drive, all files lying alike in its tracks. Segments: the last one used is last."""

    t: Times
    tracks: Tracks
    start: float  # the sector at which a file begins
    segments: list[Segment]
    reads: Segment | None = None  # that the arm reads ahead into

    def sector(self, place: int) -> float:
        return self.start + place * self.t.block

    def read_ahead(self, ns: float) -> None:
        """The arm goes on for so long, or until the segment is full."""
        if self.reads:
            reached = self.sector(self.reads.end) + self.reads.ahead
            self.reads.ahead += self.tracks.read_in(reached, ns)
            if self.reads.ahead >= self.t.ahead:
                self.reads.ahead, self.reads = self.t.ahead, None

    def segment(self, file: int, place: int) -> Segment:
        """The file's, if there is one that goes on at this place; else the oldest, empty."""
        mine = [s for s in self.segments if (s.file, s.end) == (file, place)]
        found = mine[0] if mine else self.segments[0]
        if not mine:
            self.reads = None if self.reads is found else self.reads
            found.file, found.end, found.ahead = file, place, 0
        self.segments.remove(found)
        self.segments.append(found)
        return found

    def serve(self, file: int, command: Command, idle_ns: float) -> Served:
        """A command reaches the drive so long after the last one was done."""
        self.read_ahead(idle_ns)
        s = self.segment(file, command.place)
        sectors = command.blocks * self.t.block
        across_ns, missing = sectors * self.t.bus, max(0.0, sectors - s.ahead)
        media_ns = self.tracks.read_ns(self.sector(s.end) + s.ahead, missing) if missing else 0
        s.end += command.blocks
        if not missing and self.reads is not s:
            s.ahead -= sectors
            return Served(False, self.t.row.read_hit_ns + across_ns)
        joins = self.reads is s
        if not joins:
            across_ns = missing * self.t.bus
        done_ns = max(across_ns + self.tracks.slot_ns * (not joins), media_ns + self.t.bus)
        overhead_ns = self.t.row.read_hit_ns if joins else self.t.row.read_miss_ns
        self.reads, s.ahead = s, max(0.0, s.ahead - sectors)
        self.read_ahead(done_ns - media_ns + overhead_ns * joins)
        return Served(not joins, overhead_ns + done_ns)


def drive(t: Times, where: Tracks, start: float) -> Drive:
    return Drive(t, where, start, [Segment(-1, 0) for _ in range(t.segments)])


# ---- one file ----


def one_file_ns(made: list[Step], t: Times, it: Drive, jump_ns: float) -> float:
    """Until the program has done all its steps. Places apart lie in groups nearby."""
    now = free = 0.0
    done: list[float] = []
    for step in made:
        match step:
            case Compute(instructions):
                now += instructions * t.instruction
            case Command(_, blocks):
                now += t.command(blocks) / 2
                arrival = max(now, free) + t.way
                served = it.serve(0, step, arrival - free)
                seek = served.moved * (jump_ns + t.row.rotation_ns / 2)
                free = arrival + served.ns + seek
                done.append(free + t.command(blocks) / 2)
            case Wait(k):
                now = max(now, done[k])
    return now


# ---- several files ----


@dataclass
class Visit:
    """The drive serves what a file has in the queue: the mean over where files lie."""

    ns: float = 0  # without the seek to the file
    moved: float = 0  # how often there is one


def rounds(made: list[Step]) -> list[list[Command]]:
    """The commands that are served together: those that the file has in the queue before
    the last of them has been waited for."""
    together: list[list[Command]] = []
    commands, waited = 0, -1
    for step in made:
        if isinstance(step, Wait):
            waited = step.command
        elif isinstance(step, Command):
            if waited == commands - 1:
                together.append([])
            together[-1].append(step)
            commands += 1
    return together


def visit(t: Times, it: Drive, file: int, commands: list[Command], jump_ns: float) -> Visit:
    """One visit to a file. To a second place of it the arm has not far."""
    seen = Visit()
    for command in commands:
        turn_ns = t.command(command.blocks) / 2
        served = it.serve(file, command, turn_ns + t.way)
        seen.ns += turn_ns + t.way + served.ns
        if served.moved:
            seen.ns += t.row.rotation_ns / 2 + bool(seen.moved) * jump_ns
            seen.moved = 1
    return seen


def visits(together: list[list[Command]], t: Times, n: int, jump_ns: float) -> list[Visit]:
    """The visit of each round, while n files are visited by turns."""
    mean = [Visit() for _ in together]
    for where, start, share in starts(t.row):
        it = drive(t, where, start)
        for of_round, commands in zip(mean, together, strict=True):
            for file in range(n):
                seen = visit(t, it, file, commands, jump_ns)
                of_round.ns += share * seen.ns / n
                of_round.moved += share * seen.moved / n
    return mean


def has_stayed(moved: list[float], n: int) -> list[float]:
    """How often, at the visit of each round, the arm has not moved for another file since
    it last moved for this one: the mean over the n files in their order."""
    mean = [0.0] * len(moved)
    for file in range(n):
        stayed, before = 0.0, 0.0
        for k, now in enumerate(moved):
            others = (1 - before) ** (n - 1 - file) * (1 - now) ** file
            stayed = (before + (1 - before) * stayed) * others
            mean[k] += stayed / n
            before = now
    return mean


def files_ns(made: list[Step], t: Times, n: int, seek_ns: float, jump_ns: float) -> float:
    """All rounds of n > 1 files."""
    seen = visits(rounds(made), t, n, jump_ns)
    stayed = has_stayed([v.moved for v in seen], n)
    each = [v.ns + v.moved * (1 - stays) * seek_ns for v, stays in zip(seen, stayed, strict=True)]
    return n * sum(each)


def edges_ns(made: list[Step], t: Times) -> float:
    """What the processor does before the first command of all and after the last."""
    first = next(i for i, step in enumerate(made) if isinstance(step, Command))
    last = max(i for i, step in enumerate(made) if isinstance(step, Wait))
    outside = [step for step in made[:first] + made[last:] if isinstance(step, Compute)]
    return sum(step.instructions for step in outside) * t.instruction + t.command(
        made[first].blocks
    )


# ---- ----


def policy_of(system: System, file: File) -> tuple[bool, Bsd44 | None]:
    """Whether the rules are known, and what they are."""
    match system.policies["prefetch"]:
        case "none":
            return True, None
        case "bsd44":
            return True, Bsd44(max(1, system.tunables["bsd44.cluster_kb"] // file.block_kb))
    return False, None


def predict(system: System, parameters: dict[str, float]) -> dict[str, float]:
    """See QUANTITIES; nothing for policies that the formulas do not have."""
    p, file = parameters, file_of(parameters)
    is_known, policy = policy_of(system, file)
    n, t = int(p["files"]), times(system.drive, p)
    if not is_known or (n > 1 and file.work):
        return {}
    made, jump_ns = steps(file, COST, policy), near_seek_ns(t.row, p["group_mb"])
    if n == 1:
        total = sum(
            share * one_file_ns(made, t, drive(t, where, start), jump_ns)
            for where, start, share in starts(t.row)
        )
    else:
        seek = seek_ns(system.drive, n, system.policies["sched"])
        if seek is None:
            return {}
        total = files_ns(made, t, n, seek, jump_ns) + edges_ns(made, t)
    return {
        "total_ms": total / 1e6,
        "request_ms": total / 1e6 * p["request_kb"] / p["file_kb"],
        "bytes_s": n * p["file_kb"] * KIB * 1e9 / total,
    }
