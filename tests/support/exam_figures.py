"""Compute the figures in the staff's model answers and exam questions from the rules alone.

Each function follows the comment at the head of a policy or of the drive's model, not its code. So
each answer is derived twice. FIGURES lists the figures of each answer. To change the figures of a
question, compute the new ones here.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from math import isqrt

BLOCK_BYTES = 4096
BLOCK_SECTORS = 8
DIRECT, POINTERS = 12, BLOCK_BYTES // 4

# ---- the file's blocks ----


def way(block: int) -> list[int]:
    """Return the entries on the way to a file's block: in the inode, then in each pointer block."""
    if block < DIRECT:
        return [block]
    block -= DIRECT
    depth = 1
    while block >= POINTERS**depth:
        block -= POINTERS**depth
        depth += 1
    # In the inode it is the entry behind the direct ones; then the block's digits to the base
    # POINTERS, the highest first.
    entries = [block // POINTERS**i % POINTERS for i in reversed(range(depth))]
    return [DIRECT + depth - 1, *entries]


def largest_bytes(depth: int) -> int:
    """Return the size of the largest file that needs blocks of pointers of this depth only."""
    return BLOCK_BYTES * (DIRECT + sum(POINTERS**i for i in range(1, depth + 1)))


# ---- the RZ58: drives/rz58.c ----

HEADS, TRACK_SECTORS = 15, 96  # of the outer zone
LAST_CYL = 2111
RZ58_BLOCKS = 2698061 // BLOCK_SECTORS
KNEE_CYLS, A_NS, B_NS, C_NS, E_NS = 151, 1648000, 443700, 6104000, 7479


def place(block: int) -> tuple[int, int]:
    """Return the cylinder and head of a block in the outer zone."""
    track = block * BLOCK_SECTORS // TRACK_SECTORS
    return track // HEADS, track % HEADS


def turn_ms() -> float:
    """Return one turn of the platter."""
    return 60_000 / 5400


def transfer_ms() -> float:
    """Return the time in which a block passes under the head, in the outer zone."""
    return turn_ms() * BLOCK_SECTORS / TRACK_SECTORS


def seek_ms(cyls: int) -> float:
    """Return the time of a seek: a root for short ones, a line for long ones."""
    short_ns = A_NS + isqrt(B_NS * B_NS * cyls)
    return (short_ns if cyls < KNEE_CYLS else C_NS + E_NS * cyls) / 1e6


def read_hit_ms() -> float:
    """Return the time of a read that the drive's own cache has: overhead, and the bus."""
    return (896_000 + BLOCK_SECTORS * 102_400) / 1e6


# ---- when to write ----

WORST_WAIT_S = (600 * 0.020, 20 * 0.020)  # behind 600 writes, behind 20
SSD_WAIT_MS = 600 * 0.1


def writes_of_one_block(changes_s: Iterable[int], age_s: int, until_s: int) -> int:
    """Return how often a block that is changed at these times is written by age."""
    due_s, writes = None, 0
    for now_s in [*changes_s, until_s]:
        if due_s is not None and due_s < now_s:
            writes, due_s = writes + 1, None
        due_s = due_s or now_s + age_s
    return writes


# ---- in what order ----

HEAD, QUEUE = 4500, (9500, 1000, 5000, 7000, 4000)


def clook(queue: list[int], head: int) -> int:
    """Return the lowest sector from the head on; if there is none, the lowest of all."""
    return min([sector for sector in queue if sector >= head] or queue)


def sstf(queue: list[int], head: int) -> int:
    """Return the nearest request; of two at one distance the lower."""
    return min(queue, key=lambda sector: (abs(sector - head), sector))


def fcfs(queue: list[int], head: int) -> int:
    return queue[0]


def served_with_arrival(
    choice: Callable[[list[int], int], int], late: int, at: int | None
) -> list[int]:
    """Return the order in which the queue is served. `late` arrives while the drive works on
    `at`."""
    queue, head, order = list(QUEUE), HEAD, []
    while queue:
        chosen = choice(queue, head)
        queue.remove(chosen)
        order.append(chosen)
        head = chosen + BLOCK_SECTORS
        if chosen == at:
            queue.append(late)
    return order


def served(choice: Callable[[list[int], int], int]) -> list[int]:
    """Return the order in which the queue is served if no more requests arrive."""
    return served_with_arrival(choice, 0, None)


def travelled(order: list[int]) -> int:
    """Return the sectors that the head travels between requests."""
    heads = [HEAD, *(sector + BLOCK_SECTORS for sector in order)]
    return sum(abs(sector - head) for sector, head in zip(order, heads, strict=False))


# ---- reading ahead ----


def sequential_ms(reads: int, read_ms: float, think_ms: float, ahead: bool) -> float:
    """Return how long a program takes that reads and computes. With `ahead`, one block is read
    ahead."""
    if not ahead:
        return reads * (read_ms + think_ms)
    now_ms, disk_ms = 0.0, read_ms  # of the program; when the disk has the block that is asked for
    for _ in range(reads):
        asked_ms, now_ms = now_ms, max(now_ms, disk_ms) + think_ms
        disk_ms = max(disk_ms, asked_ms) + read_ms
    return now_ms


def asked_ahead(blocks: Iterable[int]) -> list[int]:
    """Return the reads of one block each for which the block after them is asked for."""
    found, next_block = [], 0
    for block in blocks:
        if next_block - 1 <= block <= next_block:
            found.append(block)
        next_block = block + 1
    return found


# ---- bursts ----

THRESHOLD, RANGE_S, AGE_S = 6, 10, 60


def scan(ages: list[int], range_s: int) -> list[int]:
    """Return the new ages of blocks in s, oldest first. Each block may become up to range_s older.
    It gets the nearest age with fewer than THRESHOLD blocks, or else the age with the fewest."""
    count: Counter[int] = Counter()
    new = []
    for age in ages:
        near = range(age, min(age + range_s, AGE_S) + 1)
        free = [s for s in near if count[s] < THRESHOLD]
        chosen = free[0] if free else min(near, key=lambda s: count[s])
        count[chosen] += 1
        new.append(chosen)
    return new


def first_scan(blocks: int) -> Counter[int]:
    """Return how many ages have n blocks after a burst's first scan, by n."""
    return Counter(Counter(scan([0] * blocks, RANGE_S)).values())


def declustered(blocks: int, range_s: int = RANGE_S) -> dict[int, int]:
    """Return the number of a burst's blocks that are written early, by how many seconds early. Each
    second a scan raises ages, and the blocks of age AGE_S are written."""
    ages, early, second = [0] * blocks, Counter(), 0
    while ages:
        new = scan(ages, range_s)
        early[AGE_S - second] += new.count(AGE_S)
        ages = sorted((age + 1 for age in new if age < AGE_S), reverse=True)
        second += 1
    return {seconds: n for seconds, n in early.items() if n}


# ---- marks ----

NAMES = 8192


def factor(a: float, b: float) -> float:
    """Return a / b, at most 2 and at least 1/2; 0 / 0 counts as 1."""
    ratio = 1.0 if a == b else a / b if b else 2.0
    return min(2.0, max(0.5, ratio))


def high_mark(high: float, dirtied: list[int]) -> float:
    """Return the high mark after steps in which these numbers of blocks became dirty. The
    first step only starts the comparison."""
    for before, now in pairwise(dirtied):
        high *= factor(before, now)
    return high


def low_mark(low: float, dirtied: tuple[int, int], cleaned: tuple[int, int]) -> float:
    """Return the low mark after a step. dirtied, cleaned: the blocks in the last step and in this
    one."""
    return low * factor(dirtied[0] * cleaned[1], dirtied[1] * cleaned[0])


def bounds(most: int, reads: int, hits: int, ghost_hits: int, ghost_misses: int) -> list[int]:
    """Return the bound of the high mark under each of three readings of the paper's formula: `most`
    times the share of reads that do not count against it."""
    against = (
        hits - ghost_hits + ghost_misses,
        hits + ghost_hits + ghost_misses,
        ghost_hits + ghost_misses,
    )
    return [most * max(0, reads - n) // reads for n in against]


def every(buffers: int) -> int:
    """Return n: one in n block numbers is followed."""
    return -(-buffers // NAMES)


# ---- what stands where ----


def listed(numbers: Iterable[int]) -> str:
    """Return the numbers as an answer lists them."""
    return ", ".join(f"{number:,}" for number in numbers)


CYLINDER, HEAD_BELOW = place(20000)
ENTRIES = way(5000)
BOUNDS = bounds(400, 100, 60, 10, 5)
# Lab, page, question, and what the answer must contain.
FIGURES: list[tuple[str, str, int, list[str]]] = [
    ("first-block", "answers", 2, [f"{transfer_ms():.2f} ms", f"{seek_ms(1):.1f} ms"]),
    ("first-block", "answers", 2, [f"{seek_ms(LAST_CYL):.1f} ms", f"{turn_ms():.1f} ms"]),
    ("first-block", "answers", 2, [f"{turn_ms() / 2:.1f} ms, is lost"]),
    ("first-block", "answers", 3, [f"{largest_bytes(0):,} bytes", f"{largest_bytes(1):,} bytes"]),
    ("first-block", "exam", 2, [f"Entry {ENTRIES[0]}, ", f"entry {ENTRIES[1]} of"]),
    ("first-block", "exam", 2, [f"entry {ENTRIES[2]} of"]),
    ("first-block", "exam", 3, [f"{largest_bytes(1):,} bytes"]),
    ("first-block", "exam", 4, [f"cylinder {CYLINDER}, head {HEAD_BELOW}."]),
    ("first-block", "exam", 5, [f"{turn_ms():.1f} ms", f"{transfer_ms():.2f} ms"]),
    (
        "smooth",
        "exam",
        2,
        [f"600 writes: {WORST_WAIT_S[0]:g} s", f"20 writes: {WORST_WAIT_S[1]:g} s"],
    ),
    ("smooth", "exam", 10, [f"{SSD_WAIT_MS:g} ms"]),
    ("elevator", "answers", 1, [f"{RZ58_BLOCKS:,} requests"]),
    ("elevator", "exam", 1, [f"C-LOOK: {listed(served(clook))}", f"SSTF: {served(sstf)[0]:,}"]),
    ("elevator", "exam", 1, [f"FCFS: {listed(served(fcfs))}", f"then {listed(served(sstf)[1:])}"]),
    ("elevator", "exam", 2, [f"FCFS {travelled(served(fcfs)):,}", f"{seek_ms(1):.1f} ms"]),
    ("elevator", "exam", 2, [f"C-LOOK {travelled(served(clook)):,}", f"{seek_ms(100):.1f} ms"]),
    ("elevator", "exam", 2, [f"SSTF {travelled(served(sstf)):,}"]),
    ("elevator", "exam", 8, [f"{seek_ms(LAST_CYL):.1f} ms"]),
    ("readahead", "answers", 2, [f"= {read_hit_ms():.1f} ms"]),
    ("readahead", "exam", 1, [f"{sequential_ms(100, 6, 8, False):,.0f} ms"]),
    ("readahead", "exam", 1, [f"{sequential_ms(100, 6, 8, True):,.0f} ms"]),
    ("readahead", "exam", 2, [f"{sequential_ms(100, 6, 3, False):,.0f} ms"]),
    ("readahead", "exam", 2, [f"{sequential_ms(100, 6, 3, True):,.0f} ms"]),
    ("watermark", "exam", 3, [f"200/400 = {high_mark(100, [200, 400]):g}."]),
    ("watermark", "exam", 3, [f"halves a mark: {high_mark(100, [200, 1000]):g}."]),
    ("watermark", "exam", 4, [f"= {low_mark(60, (300, 300), (200, 150)):g}."]),
    ("watermark", "exam", 7, [f"so {BOUNDS[0]}. Reading 1", f"so {BOUNDS[1]}. Reading 2"]),
    ("watermark", "exam", 7, [f"so {BOUNDS[2]}."]),
    ("watermark", "exam", 9, [f"every {every(100_000)}th"]),
]
# Figures that stand there in words.
SAID = [
    (writes_of_one_block(range(0, 121, 12), 30, 125), 3),  # smooth, exam 5
    (len(range(0, 121, 12)), 11),
    (served_with_arrival(clook, 6000, 7000)[-1], 6000),  # elevator, exam 3
    (served_with_arrival(sstf, 6000, 7000).index(6000), 3),  # the next after 4,000, 5,000, 7,000
    (asked_ahead([0, 1, 2, 50, 51, 52]), [0, 1, 2, 51, 52]),  # readahead, exam 4
    (declustered(20), {3: 2, 2: 6, 1: 6, 0: 6}),  # decluster, answers 1, exam 1
    (declustered(20, 0), {0: 20}),
    (THRESHOLD * (RANGE_S + 1), 66),  # decluster, exam 2
    (first_scan(100), {10: 1, 9: 10}),  # decluster, exam 3
    (bounds(400, 100, 100, 0, 0)[0], 0),  # watermark, answers 2: all reads hit
    (high_mark(100, [200, 0, 200]), 100),  # watermark, answers 3
    (high_mark(100, [200, 0, 0, 200]), 100),
]
