"""Model a flash drive a second time, in another way than drives/model/flash.c: a die's blocks are
lists of pages, and a page is searched for in them.
"""

from dataclasses import dataclass, field

GREEDY, COST_BENEFIT = 1, 2  # enum cleaning


@dataclass(frozen=True)
class Figures:
    """The figures of a drive, as struct flash_figures has them, with the overhead of a command
    (service_ns) and the time of a sector on the host's bus (bus_ns)."""

    channels: int = 2
    dies: int = 2
    planes: int = 1
    page_sectors: int = 8
    block_pages: int = 8
    spare_percent: int = 15
    read_ns: int = 25_000
    program_ns: int = 200_000
    erase_ns: int = 1_500_000
    cross_ns: int = 100_000
    cache_pages: int = 4
    cleaning: int = GREEDY
    service_ns: int = 20_000
    bus_ns: int = 1_707

    @property
    def block(self) -> int:
        """Return the pages of a block; a block has block_pages of each plane."""
        return self.block_pages * self.planes

    def words(self) -> list[str]:
        """Return the figures as words of flash_tool's command line."""
        return [f"{name}={value}" for name, value in vars(self).items()]


@dataclass
class Block:
    """A block of pages. changed: the number of programs of its die when it last changed."""

    places: list[int | None] = field(default_factory=list)  # programmed pages; None is garbage
    changed: int = 0

    @property
    def used(self) -> int:
        """Return how many of its pages are in use."""
        return sum(page is not None for page in self.places)


class Die:
    """The blocks of a die, and which of its pages are where."""

    def __init__(self, f: Figures, pages: list[int]) -> None:
        """Make a die that has these pages in its first blocks, and erased spare blocks."""
        filled = -(-len(pages) // f.block)  # blocks, both are rounded up
        spare = max(2, -(-filled * f.spare_percent // 100))
        parts = [pages[i : i + f.block] for i in range(0, len(pages), f.block)]
        self.f = f
        self.blocks = [Block(list(part)) for part in parts] + [Block() for _ in range(spare)]
        self.open = filled - 1
        self.closed = True  # the open block takes no more pages
        self.erased = list(range(filled, filled + spare))
        self.programs = 0
        self.free_ns = 0
        self.told: tuple[str, int, int] = ("", 0, 0)  # the last operation, its row, its start

    def place(self, page: int) -> tuple[int, int]:
        """Return the block and the index in it where a page is."""
        for b, block in enumerate(self.blocks):
            if page in block.places:
                return b, block.places.index(page)
        raise AssertionError(f"page {page} is lost")

    def row(self, place: tuple[int, int]) -> int:
        """Return the row of a place. The pages of a row are at the same place of different planes,
        so they can be read or programmed together."""
        b, i = place
        return b * self.f.block_pages + i // self.f.planes

    def joins(self, what: str, row: int, from_ns: int) -> bool:
        """True if the die's last operation is of this row and has not begun, so it does this page
        too."""
        told, its_row, begin_ns = self.told
        return (told, its_row) == (what, row) and from_ns <= begin_ns

    def program(self, page: int) -> None:
        """Put a page into the next place of the open block."""
        block = self.blocks[self.open]
        block.places.append(page)
        self.programs += 1
        block.changed = self.programs
        self.closed = len(block.places) == self.f.block

    def victim(self) -> int:
        """Return the block to clean; of equally good ones the first. Under cost-benefit, that is
        the one with the highest gain per page in use, which is compared without divisions."""
        can = [  # blocks with garbage
            b
            for b, block in enumerate(self.blocks)
            if b not in self.erased and block.used < self.f.block
        ]
        empty = [b for b in can if self.blocks[b].used == 0]
        if empty:
            return empty[0]
        if self.f.cleaning == GREEDY:
            return min(can, key=lambda b: self.blocks[b].used)
        best = can[0]
        for b in can[1:]:
            if self.gain(b) * self.blocks[best].used > self.gain(best) * self.blocks[b].used:
                best = b
        return best

    def gain(self, b: int) -> int:
        """Return the numerator of cost-benefit's value of a block: its age times its garbage."""
        block = self.blocks[b]
        return (self.programs - block.changed) * (self.f.block - block.used)

    def make_room(self) -> tuple[int, int]:
        """Open a block; clean first if only one is erased. Return pages moved and blocks erased."""
        if not self.closed:
            return 0, 0
        if len(self.erased) > 1:
            self.open, self.closed = self.erased.pop(0), False
            return 0, 0
        b = self.victim()
        moved = [page for page in self.blocks[b].places if page is not None]
        self.open, self.closed = self.erased.pop(), False
        self.blocks[b] = Block(changed=self.blocks[b].changed)
        for page in moved:
            self.program(page)
        self.erased.append(b)
        return len(moved), 1

    def write(self, page: int) -> None:
        """Write a page of the host: what the page was is valid no more."""
        b, i = self.place(page)
        self.blocks[b].places[i] = None
        self.program(page)
        self.blocks[b].changed = self.programs


class PartedDie(Die):
    """A die of another design: pages that cleaning moves go to a separate block.

    A block for the host is opened when two blocks are erased.
    """

    def __init__(self, f: Figures, pages: list[int]) -> None:
        super().__init__(f, pages)
        self.kept: int | None = None  # the block for pages that are moved

    def keeps_more(self) -> bool:
        """Return whether the block for moved pages has room."""
        return self.kept is not None and len(self.blocks[self.kept].places) < self.f.block

    def victim(self) -> int:
        """Return the block to clean. The block for moved pages, while it has room, is no victim."""
        erased = self.erased
        self.erased = [*erased, *([self.kept] if self.keeps_more() else [])]
        b = super().victim()
        self.erased = erased
        return b

    def keep(self, page: int) -> None:
        """Put a page that cleaning moves into the block for such pages."""
        if not self.keeps_more():
            self.kept = self.erased.pop(0)
        of_host, self.open = self.open, self.kept
        self.program(page)
        self.open = of_host

    def make_room(self) -> tuple[int, int]:
        """If the open block is full, clean until two blocks are erased, and open one. Returns how
        many pages were moved and blocks erased."""
        pages = blocks = 0
        while self.closed and len(self.erased) < 2:
            b = self.victim()
            moved = [page for page in self.blocks[b].places if page is not None]
            self.blocks[b] = Block(changed=self.blocks[b].changed)
            self.kept = None if self.kept == b else self.kept
            for page in moved:
                self.keep(page)
            self.erased.append(b)
            pages, blocks = pages + len(moved), blocks + 1
            self.closed = True
        if self.closed:
            self.open, self.closed = self.erased.pop(0), False
        return pages, blocks


@dataclass
class Waiting:
    """A page in the cache. It begins to cross the channel, and then it has left the cache."""

    page: int
    begin_ns: int
    left_ns: int


class Drive:
    """A drive. Times are in ns; free_ns is when something is free again. `counts`: pages written
    and moved, blocks erased. gap: for each channel, a time between two pages in which it is
    free."""

    def __init__(self, f: Figures, sectors: int) -> None:
        """Make a drive of this size, all of whose pages are in use. Neighbouring pages are in
        different dies: page p is in die p % dies."""
        dies = f.channels * f.dies
        pages = -(-sectors // f.page_sectors)  # rounded up, also for each die
        each = -(-pages // dies)
        self.f, self.ndies = f, dies
        self.dies = [Die(f, list(range(d, each * dies, dies))) for d in range(dies)]
        self.channel_ns = [0] * f.channels
        self.gap = [(0, 0)] * f.channels
        self.now_ns = self.host_ns = self.free_ns = self.durable_ns = 0
        self.cache: list[Waiting] = []  # all that ever were in it, in order
        self.last: dict[int, Waiting] = {}
        self.counts = [0, 0, 0]  # pages written, pages moved, blocks erased

    def cross(self, die: int, from_ns: int) -> int:
        """Let a page cross the die's channel, not before from_ns. Returns when the page begins.

        The page may use the largest gap that earlier pages have left in the channel's use.
        """
        channel, ns = die % self.f.channels, self.f.cross_ns
        low, high = self.gap[channel]
        begin_ns = max(low, from_ns)
        if begin_ns + ns <= high:
            self.gap[channel] = (begin_ns + ns, high)
            return begin_ns
        idle_ns = max(self.now_ns, self.channel_ns[channel])
        begin_ns = max(from_ns, idle_ns)
        if begin_ns - idle_ns > max(0, high - max(low, self.now_ns)):
            self.gap[channel] = (idle_ns, begin_ns)
        self.channel_ns[channel] = begin_ns + ns
        return begin_ns

    def read_page(self, page: int, from_ns: int) -> int:
        """Read a page, not before from_ns. Returns when it has crossed the channel."""
        die = self.dies[page % self.ndies]
        row = die.row(die.place(page))
        if not die.joins("read", row, from_ns):
            die.told = ("read", row, max(from_ns, die.free_ns))
        sensed_ns = die.told[2] + self.f.read_ns
        come_ns = self.cross(page % self.ndies, sensed_ns) + self.f.cross_ns
        die.free_ns = max(die.free_ns, come_ns)
        return come_ns

    def program_page(self, page: int, from_ns: int) -> tuple[int, int]:
        """Program a page, on its die, when its data may come from from_ns on. The die cleans first
        if it has no room. Returns when the page begins to cross the channel, and when it is
        programmed."""
        die = self.dies[page % self.ndies]
        moved, erased = die.make_room()
        moves = -(-moved // self.f.planes)  # rounded up: a move takes a page of each plane
        clean_ns = moves * (self.f.read_ns + self.f.program_ns) + erased * self.f.erase_ns
        die.write(page)
        row = die.row(die.place(page))
        if die.joins("program", row, from_ns):
            ready_ns = die.told[2]
        else:
            ready_ns = max(from_ns, die.free_ns) + clean_ns
        begin_ns = self.cross(page % self.ndies, ready_ns)
        die.told = ("program", row, begin_ns + self.f.cross_ns)
        die.free_ns = die.told[2] + self.f.program_ns
        self.counts = [self.counts[0] + 1, self.counts[1] + moved, self.counts[2] + erased]
        self.durable_ns = max(self.durable_ns, die.free_ns)
        return begin_ns, die.free_ns

    def waits(self, page: int) -> Waiting | None:
        """Return the page's last entry in the cache, or None if it has left the cache."""
        w = self.last.get(page)
        return w if w in self.cache[-self.f.cache_pages :] else None

    def write_page(self, page: int, sectors: int) -> int:
        """Write so many sectors of a page. Returns when the write is done for the host: when the
        cache has the data, or without a cache when the page is programmed."""
        data_ns, n = sectors * self.f.bus_ns, self.f.cache_pages
        w = self.waits(page) if n else None
        # The page still waits in the cache when the data are there, so it takes them.
        if w and w.begin_ns >= self.host_ns + data_ns:
            self.host_ns += data_ns
            return self.host_ns
        # The cache is full until the n-th page before this one has left it.
        if n and len(self.cache) >= n:
            self.host_ns = max(self.host_ns, self.cache[-n].left_ns)
        self.host_ns += data_ns
        from_ns = self.host_ns
        if sectors < self.f.page_sectors:
            from_ns = self.read_page(page, from_ns)
        begin_ns, programmed_ns = self.program_page(page, from_ns)
        if not n:
            return programmed_ns
        self.last[page] = Waiting(page, begin_ns, begin_ns + self.f.cross_ns)
        self.cache.append(self.last[page])
        return self.host_ns

    def serve(self, now_ns: int, write: bool, sector: int, sectors: int) -> int:
        """Do a command that comes at now_ns. Returns when it is done. host_ns: from when on the bus
        to the host is free."""
        ready_ns = max(now_ns, self.free_ns) + self.f.service_ns
        self.now_ns, done_ns = ready_ns, ready_ns
        self.host_ns = max(self.host_ns, ready_ns)
        size, end = self.f.page_sectors, sector + sectors
        for page in range(sector // size, -(-end // size)):
            n = min(end, (page + 1) * size) - max(sector, page * size)  # sectors of this page
            if write:
                done_ns = max(done_ns, self.write_page(page, n))
                continue
            w = self.waits(page) if self.f.cache_pages else None
            cached = w is not None and w.left_ns > ready_ns
            come_ns = ready_ns if cached else self.read_page(page, ready_ns)
            self.host_ns = max(self.host_ns, come_ns) + n * self.f.bus_ns
            done_ns = max(done_ns, self.host_ns)
        self.free_ns = done_ns
        return done_ns

    def flush(self, now_ns: int, overhead_ns: int) -> int:
        """Wait until all that was written is programmed. Returns when that is so."""
        self.free_ns = max(max(now_ns, self.free_ns) + overhead_ns, self.durable_ns)
        return self.free_ns

    def places(self) -> list[int]:
        """Return where each page is in its die."""
        found = {}
        for die in self.dies:
            for b, block in enumerate(die.blocks):
                for i, page in enumerate(block.places):
                    if page is not None:
                        found[page] = b * self.f.block + i
        return [found[page] for page in range(len(found))]
