"""Make lists of calls for driver.c: every boundary value of every argument, pairs, random ones.

A machine begins with a setting, the calls that say where the trace and the disks are. Then come
others, most of which must be refused.
"""

import random
from collections.abc import Iterator
from itertools import combinations

from tools.machine_mode.machines import NOW, random_memory
from tools.machine_mode.model import (
    BSS,
    CALLS,
    CLOCK,
    CLOCK_JUMP,
    DISKS_BEGIN,
    DISKS_MOVE,
    FW_CFG,
    HEAD,
    JUMP,
    LAST_TICK,
    LIST,
    LIST_BYTES,
    LOAD,
    NO_TIMER,
    PAGE,
    PHYS_BITS,
    RECORD,
    SECTOR,
    SIZE,
    START,
    STORE,
    TRACE_APPEND,
    TRACE_BEGIN,
    WORD,
    Call,
    kernel_address,
)

# The driver's memory: the list ends where the free part begins; then the trace and the disks.
FREE = START + LIST + LIST_BYTES
RING, RING_END = FREE + 0x40000, FREE + 0x44000
DISKS, DISKS_END = FREE + 0x60000, FREE + 0x80000
LOG, LOG_END = DISKS + PAGE, DISKS + 3 * PAGE
END = START + SIZE
RECORDS = (RING_END - RING) // RECORD.size - 1  # as many as the trace has room for
BOOT_END, CODE = START + 2 * PAGE, START + 2 * PAGE  # machine mode's pages, then the kernel's
CONSTANTS_END = START + 0x80000  # kernel.ld aligns it so; the driver is small

TRACE = Call(TRACE_BEGIN, (kernel_address(RING), kernel_address(RING_END), 0, 0))
RAM_DISKS = Call(DISKS_BEGIN, (DISKS, DISKS_END, LOG, LOG_END))
NO_TRACE, NO_DISKS = Call(TRACE_BEGIN), Call(DISKS_BEGIN)
READ = Call(DISKS_MOVE, (kernel_address(FREE), LOG_END, SECTOR, 0))
WRITE = Call(DISKS_MOVE, (kernel_address(FREE), LOG_END + SECTOR, 3 * SECTOR, 1))
APPEND = Call(TRACE_APPEND, (NOW, 5, 6, 7))
AHEAD = Call(CLOCK_JUMP, (1 << 40, 0, 0, 0))
LATE = Call(CLOCK_JUMP, (1 << 41, 0, 0, 0))  # all small times are astray from here on
# How a machine's regions may be settled.
SETTINGS = (
    (TRACE, RAM_DISKS),
    (RAM_DISKS, TRACE),
    (TRACE, NO_DISKS),
    (NO_TRACE, RAM_DISKS),
    (NO_DISKS, NO_TRACE),
)
EDGES = (START, BOOT_END, CONSTANTS_END, FREE, RING, RING_END, DISKS, LOG, LOG_END, DISKS_END, END)


def make_memory(seed: int, records: int = RECORDS) -> bytes:
    """Return the memory after the list, with the head of a trace of this many records."""
    first = bytearray(random_memory(seed))
    at = RING - FREE
    first[at : at + HEAD.size] = HEAD.pack(0x6563617274736C75, records, 3, 4)
    return bytes(first)


def edge_addresses() -> list[int]:
    """Return physical addresses at the ends of all regions, and next to them."""
    near = (0, 1, 7, 8, 16, 64, SECTOR, PAGE)
    places = {edge + sign * step for edge in EDGES for step in near for sign in (1, -1)}
    return sorted(places)


def boundary_values() -> list[int]:
    """Return boundary values of an argument that may be an address, time, size or direction."""
    exponents = (3, 6, 9, 12, 31, 32, PHYS_BITS - 1, PHYS_BITS, 39, 55, 56, 57, 63)
    near_powers = [(1 << n) + step for n in exponents for step in (-1, 0, 1)]
    small = [0, 1, 2, 3, *near_powers, WORD - 1]
    # Sizes that reach exactly from one edge to another.
    distances = [end - first for first, end in combinations(EDGES[3:], 2)]
    around_4_gib = [(1 << 32) - SECTOR, (1 << 32) + SECTOR]
    sizes = [2 * SECTOR, *around_4_gib, WORD - PAGE, WORD - SECTOR, *distances]
    physical = edge_addresses()
    addresses = [*physical, *map(kernel_address, physical)]
    # Right addresses, if machine mode ignored the bits above PHYS_BITS.
    aliased = [place | 1 << 40 for place in (FREE, LOG_END)]
    return sorted({n % WORD for n in (*small, *sizes, *addresses, *aliased)})


def boundary_calls(base: Call) -> Iterator[Call]:
    """Yield the call with each of its arguments replaced by each boundary value in turn."""
    for i in range(4):
        for value in boundary_values():
            yield Call(base.number, (*base.w[:i], value, *base.w[i + 1 :]))


def spares_driver(call: Call) -> bool:
    """Return False for a move from or to the driver's own memory.

    Machine mode would make this move, and the driver would not survive.
    """
    to, size = call.w[0] - kernel_address(0), call.w[2]
    return call.number != DISKS_MOVE or to + size <= START + BSS or to >= FREE


def list_boundary_calls() -> list[Call]:
    """Return each call at its boundaries, for a machine with trace and disks."""
    bases = (READ, WRITE, TRACE, RAM_DISKS, APPEND, Call(NO_TIMER), Call(6))
    calls = [call for base in bases for call in boundary_calls(base) if spares_driver(call)]
    calls = [TRACE, RAM_DISKS, LATE, *calls, Call(WORD - 1)]
    # First the jumps that are refused. Then all jumps by rising time, for after a far jump an
    # earlier time would be in the past.
    jumps = [Call(CLOCK_JUMP, (time, 0, 0, 0)) for time in boundary_values()]
    refused = [jump for jump in jumps if jump.w[0] >= LAST_TICK]
    return [*calls, *refused, *sorted(jumps, key=lambda jump: jump.w[0]), APPEND, READ]


def list_wrong_regions() -> list[Call]:
    """Return calls with wrong regions, which must be refused before there are regions."""
    wrong = [
        call
        for base in (TRACE, RAM_DISKS)
        for call in boundary_calls(base)
        if not could_be_right(call)
    ]
    unknown = [Call(number, TRACE.w) for number in (6, WORD - 1)]
    return [*unknown, *wrong, APPEND, READ, Call(STORE, (kernel_address(RING), 7, 0, 0))]


def could_be_right(call: Call) -> bool:
    """Return True for a region that machine mode may accept, whether or not memory is there."""
    first, end, log, log_end = call.w
    if call.number == TRACE_BEGIN:  # the log is the whole region
        first, end = first - kernel_address(0), end - kernel_address(0)
        log, log_end = first, end
    whole = not (first | end) % PAGE and not (log | log_end) % 16
    in_order = CONSTANTS_END <= first <= log <= log_end <= end and first < end
    return whole and in_order and end < 1 << PHYS_BITS


def list_representatives() -> list[Call]:
    """Return a few calls of each number, right and wrong ones, for pairs."""
    inside = Call(TRACE_BEGIN, (kernel_address(DISKS), kernel_address(DISKS_END), 0, 0))
    over = Call(DISKS_BEGIN, (RING, DISKS_END, LOG, LOG_END))
    return [
        *(TRACE, RAM_DISKS, NO_TRACE, NO_DISKS, inside, over, READ, WRITE, APPEND, AHEAD),
        Call(DISKS_MOVE, (kernel_address(RING) - 8, LOG_END, 8, 0)),
        Call(DISKS_MOVE, (kernel_address(RING), LOG_END, SECTOR, 0)),
        Call(CLOCK_JUMP, (WORD - 1, 0, 0, 0)),
        Call(NO_TIMER),
        Call(6),
    ]


def list_probes() -> list[Call]:
    """Return loads, stores and jumps at the ends of all regions, and next to them."""

    def call_each(deed: int, places: list[int], value: int = 0) -> list[Call]:
        """Return a load, store or jump for each place. value: the byte that is stored."""
        return [Call(deed, (kernel_address(at), value, 0, 0)) for at in places]

    memory = [START, BOOT_END - 1, CODE, CONSTANTS_END - 1]
    for first, end in ((RING, RING_END), (DISKS, DISKS_END)):
        memory += [first - 1, first, end - 1, end]
    devices = [CLOCK[0], CLOCK[-2], FW_CFG[0], FW_CFG[8], FW_CFG[-2]]
    return [
        *call_each(STORE, memory, 0x5A),
        *call_each(LOAD, [*memory, CONSTANTS_END]),
        *call_each(LOAD, devices),
        *call_each(STORE, devices),
        *call_each(JUMP, devices),
    ]


def list_jumps() -> list[Call]:
    """Return jumps to the first and the last instruction of the trace and the disks."""
    inside = (RING, RING_END - 2, DISKS, DISKS_END - 2)
    return [Call(JUMP, (kernel_address(at), 0, 0, 0)) for at in inside]


def random_calls(seed: int, n: int) -> list[Call]:
    """Return calls with arguments near right ones, at boundaries, and anywhere."""
    pick = random.Random(seed)
    pool = boundary_values()

    def random_address(first: int, end: int, step: int) -> int:
        return pick.randrange(first, end, step)

    def random_argument(right: int) -> int:
        """Return the right argument mostly, else a boundary value, rarely any number."""
        chance = pick.random()
        if chance < 0.85:
            return right
        return pick.choice(pool) if chance < 0.99 else pick.getrandbits(64)

    def random_call() -> Call:
        """Return a call of any number; moves and records of the trace are more frequent."""
        number = pick.choice((*CALLS, DISKS_MOVE, DISKS_MOVE, TRACE_APPEND))
        if number == DISKS_MOVE:
            size = SECTOR * pick.randint(1, 12)
            to, disk = random_address(FREE, DISKS, 8), random_address(LOG, DISKS_END, SECTOR)
            right = (kernel_address(to), disk, size, pick.randint(0, 1))
        elif number == TRACE_APPEND:
            right = (NOW, *(pick.getrandbits(64) for _ in range(3)))
        elif number == CLOCK_JUMP:
            return Call(number, (pick.choice(pool) % (1 << 41), 0, 0, 0))
        else:
            first = random_address(CONSTANTS_END, DISKS, PAGE)
            right = (first, first + 4 * PAGE, first, first + PAGE)
            right = tuple(map(kernel_address, right)) if number == TRACE_BEGIN else right
        return Call(number, tuple(random_argument(w) for w in right))

    return list(filter(spares_driver, (random_call() for _ in range(n))))
