"""List the steps of a program that reads a file from its start to its end, in this kernel.

A step is instructions of the processor, a command that goes to the drive, or a wait for one. The
steps follow kernel/ext2/data.c (what a call starts to read, and when), kernel/disk/dispatch.c
(neighbours that are queued together become one command) and the rule of the prefetch policy, one of
those below. Steps contain no drive and no times.

A place on the disk is a block number, counted from the file's first block. The file's pointer block
lies before its 13th block, or far away if `File.far` is set.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

DIRECT_BLOCKS = 12  # of a file of ext2, as of FFS
WINDOW = 32  # blocks of a call that are started at a time: kernel/ext2/data.c
FAR = 1 << 20  # a place in another group


@dataclass(frozen=True)
class Cost:
    """The kernel's instructions for each kind of work."""

    call: int  # a read of one block, without copying
    several: int  # added if the read has more than one block
    block: int  # each block after the first
    copy_kb: int  # copying a KiB to the program
    command: int  # a command of one block: before it goes to the drive, and after
    command_block: int  # each further block of the command


# The costs in charged time. The kernel needs fewer instructions for a cached read than when the
# table of costs was counted, and charged time stays as it was.
COST = Cost(call=2234, several=266, block=1144, copy_kb=325, command=3456, command_block=1845)

# The costs in counted time. The experiment shriver-cpu measures them, and fails if they have
# changed.
COUNTED = Cost(call=1647, several=326, block=774, copy_kb=325, command=2949, command_block=1696)


@dataclass(frozen=True)
class File:
    """A file, and how the program reads it."""

    size_kb: float
    call_kb: float
    block_kb: int
    far: bool  # laid out with the pointer block far away
    cluster_kb: int  # largest command
    work: int  # instructions that the program computes after each call
    by_block: bool = False  # a call's blocks are read one by one and are not merged

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -int(-self.size_kb // self.block_kb)

    def place(self, block: int) -> int:
        """Return the place of a block on the disk."""
        if block < DIRECT_BLOCKS:
            return block
        return block + 1 + FAR * self.far


@dataclass(frozen=True)
class Compute:
    """Instructions of the processor."""

    instructions: float


@dataclass(frozen=True)
class Command:
    """A read of neighbouring blocks, from this place on, by one command."""

    place: int
    blocks: int


@dataclass(frozen=True)
class Wait:
    """Wait until the k-th command, counted from 0, is done."""

    command: int


Step = Compute | Command | Wait


@dataclass
class Bsd44:
    """The state of policies/prefetch/bsd44.c: the blocks read ahead last, and the most to read
    ahead."""

    most: int
    begin: int = 0
    end: int = 0

    def ahead(self, end: int, file_blocks: int) -> range:
        """Return the blocks to read ahead after a read that ends before block `end`: first one
        block, then twice as many as the last time, at most `most`. There are none until the read
        reaches the blocks that were read ahead last."""
        if end <= self.begin:
            return range(0)
        last = self.end - self.begin
        count = min(2 * last, self.most) if last else 1
        self.begin = max(self.end, end)
        self.end = self.begin + count
        return range(self.begin, min(self.end, file_blocks))


@dataclass
class Reader:
    """The progress of a reader. by: the number of the command that reads each place."""

    file: File
    cost: Cost
    policy: Bsd44 | None  # None: nothing is read ahead
    next_block: int = 0
    commands: int = 0
    by: dict[int, int] = field(default_factory=dict)  # place -> command
    waited: int = -1  # the last command for which the program has waited

    def submit(self, places: list[int]) -> Iterator[Step]:
        """Yield commands for those places that are not read yet; neighbours share a command."""
        most = max(1, self.file.cluster_kb // self.file.block_kb)  # blocks of a command
        run: list[int] = []
        for place in [p for p in places if p not in self.by] + [-1]:  # -1 ends the last run
            if run and (place != run[-1] + 1 or len(run) == most):
                yield Command(run[0], len(run))
                self.by |= dict.fromkeys(run, self.commands)
                self.commands += 1
                run = []
            run.append(place)

    def wait(self, place: int) -> Iterator[Step]:
        """Yield the wait for a place's command, unless the program has waited for it already."""
        if self.by[place] > self.waited:
            self.waited = self.by[place]
            yield Wait(self.waited)

    def find(self, blocks: range, out: list[int]) -> Iterator[Step]:
        """Find the places of blocks, and append them to `out`. Yields the steps: blocks after the
        pointer block need that block first."""
        for block in blocks:
            if block >= DIRECT_BLOCKS:
                pointers = self.file.place(DIRECT_BLOCKS) - 1
                yield from self.submit([pointers])
                yield from self.wait(pointers)
            out.append(self.file.place(block))

    def call(self, at_kb: float, end_kb: float) -> Iterator[Step]:
        """Yield the steps of a call that reads this part of the file, and of the computing after
        the call."""
        size = self.file.block_kb
        if self.file.by_block:
            while end_kb > (stop_kb := (at_kb // size + 1) * size):
                yield from self.read(at_kb, stop_kb)
                at_kb = stop_kb
        yield from self.read(at_kb, end_kb)
        yield Compute(self.file.work)

    def read(self, at_kb: float, end_kb: float) -> Iterator[Step]:
        """Yield the steps of one read, as the policy sees it.

        For each block: start further blocks of the read and, when all are started, the blocks to
        read ahead; wait for the block; copy it to the program.
        """
        size = self.file.block_kb
        first, end = int(at_kb // size), -int(-end_kb // size)  # end: rounded up
        ahead = range(0)
        if self.policy and end > self.next_block:
            ahead = self.policy.ahead(end, self.file.blocks)
        self.next_block = end
        several = self.cost.several if end - first > 1 else 0
        yield Compute(self.cost.call + several - self.cost.block)
        started = first + 1  # the next block that the read has to start before it comes to it
        for block in range(first, end):
            further: list[int] = []
            if started <= block + WINDOW // 2:
                upto = min(started + WINDOW, end)
                yield from self.find(range(started, upto), further)
                started = upto
            if started >= end:
                yield from self.find(ahead, further)
                ahead = range(0)
            own: list[int] = []
            yield from self.find(range(block, block + 1), own)
            (place,) = own
            if place in self.by:
                yield from self.wait(place)
            if self.file.by_block:
                yield from self.submit([place])
                yield from self.submit(further)
            else:
                yield from self.submit([place, *further])
            yield from self.wait(place)
            part_kb = min(end_kb, (block + 1) * size) - max(at_kb, block * size)
            yield Compute(self.cost.block + self.cost.copy_kb * part_kb)


def program_steps(file: File, cost: Cost, policy: Bsd44 | None) -> list[Step]:
    """Return all steps of a program that reads the file once."""
    reader, at_kb = Reader(file, cost, policy), 0.0
    made: list[Step] = []
    while at_kb < file.size_kb:
        end_kb = min(at_kb + file.call_kb, file.size_kb)
        made += reader.call(at_kb, end_kb)
        at_kb = end_kb
    return made
