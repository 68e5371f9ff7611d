"""Model what machine mode's calls may do to memory and to the clock, in the plainest way.

It follows kernel/machine/machine.h a second time, and is compared with what the real machine mode
did.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

START = 0x80000000  # of memory, physical
SIZE = 4 << 20
DIRECT_MAP = 0xFFFFFFC000000000
PHYS_BITS = 38
PAGE, SECTOR = 4096, 512
WORD = 1 << 64
REFUSED = WORD - 1
TRACE_BEGIN, TRACE_APPEND, NO_TIMER, CLOCK_JUMP, DISKS_BEGIN, DISKS_MOVE = CALLS = range(6)
LOAD, STORE, JUMP, OTHER_HART, WALK = DEEDS = range(100, 105)
FAULTS = {LOAD: 5, STORE: 7, JUMP: 1, OTHER_HART: 7}
TICK_NS, ASTRAY_NS = 100, 4_000_000
LAST_TICK = 1 << 56  # no jump comes so far
DEED_TICKS = 1_000_000
AT_ONCE = 40  # ticks; a jump of less is made without a look at its size
HEAD, RECORD, MOVE = struct.Struct("<QQQQ"), struct.Struct("<QQQQ"), struct.Struct("<QQ")
# In memory, what is the driver's own: its variables, as kernel.ld aligns them, and the list.
BSS, LIST, LIST_BYTES = 0x100000, 0x200000, 1 << 20
CLOCK = range(0x2004000, 0x2010000)
FW_CFG = range(0x10100000, 0x10101000)


@dataclass(frozen=True)
class Call:
    """A call: its number, and its arguments."""

    number: int
    w: tuple[int, int, int, int] = (0, 0, 0, 0)


@dataclass(frozen=True)
class Made:
    """A call that was made.

    answer: what it returned. began, ended: the clock around it, in ticks. steps: the instructions
    that it took.
    """

    call: Call
    answer: int
    began: int
    ended: int
    steps: int


class Broken(AssertionError):
    """Machine mode did what it may not do; the text says what."""


def kernel_address(physical: int) -> int:
    """Return the kernel's address of a physical one."""
    return physical + DIRECT_MAP


def physical_address(address: int) -> int:
    """Return the physical address of one of the kernel's; -1 if it is none."""
    return address - DIRECT_MAP if address >= DIRECT_MAP else -1


@dataclass
class Model:
    """Machine mode's state and all memory.

    symbols: the physical addresses of the linked driver's symbols.
    """

    symbols: Mapping[str, int]
    memory: bytearray
    trace: range = range(0)
    disks: range = range(0)
    begun: int = 0  # bit 0: the trace's place is set for good; bit 1: the disks' place
    moves: list[tuple[int, int]] = field(default_factory=list)  # those logged
    most_ticks: int = 400  # that a call takes

    @property
    def free(self) -> int:
        """The address where the memory begins that is not protected."""
        return self.symbols["rodata_end"]

    def _put(self, at: int, data: bytes) -> None:
        self.memory[at - START : at - START + len(data)] = data

    def _get(self, at: int, size: int) -> bytes:
        return bytes(self.memory[at - START : at - START + size])

    def _set(self, name: str, *words: int) -> None:
        self._put(self.symbols[name], struct.pack(f"<{len(words)}Q", *words))

    def _word(self, name: str) -> int:
        return int.from_bytes(self._get(self.symbols[name], 8), "little")

    def _settle(self, bits: int) -> int:
        """Set these bits of `begun`; return the call's answer."""
        self.begun |= bits
        self._set("begun", self.begun)
        return 0

    def _whole_pages(self, first: int, end: int) -> bool:
        """Return True for a region of one or more whole pages that are not protected."""
        return not (first | end) % PAGE and self.free <= first < end < 1 << PHYS_BITS

    def trace_begin(self, w: tuple[int, ...]) -> int:
        """Set the place of the trace, once; return the call's answer."""
        if self.begun & 1:
            return REFUSED
        if not w[0] and not w[1]:
            return self._settle(1)
        first, end = physical_address(w[0]), physical_address(w[1])
        if not self._whole_pages(first, end) or (self.disks and end > self.disks.start):
            return REFUSED
        magic, records, _, _ = HEAD.unpack(self._get(first, HEAD.size))
        if not 0 < records <= (end - first - HEAD.size) // RECORD.size:
            return REFUSED
        self._put(first, HEAD.pack(magic, records, 0, 0))
        self.trace = range(first, end)
        self._set("trace_at", first, end)
        self._set("trace_on_phys", 1)
        return self._settle(1)

    def disks_begin(self, w: tuple[int, ...]) -> int:
        """Set the place of the disks and the log, once; return the call's answer."""
        if self.begun & 2:
            return REFUSED
        if not any(w):
            return self._settle(2)
        first, end, log, log_end = w
        log_inside = first <= log <= log_end <= end and not (log | log_end) % MOVE.size
        if not self._whole_pages(first, end) or not log_inside or first < self.trace.stop:
            return REFUSED
        self.disks = range(first, end)
        self._set("disks_at", first, end)
        self._set("move_log", log, log_end)
        return self._settle(2)

    def append(self, w: tuple[int, ...], began: int, ended: int) -> int:
        """Write a record of the trace; return the call's answer."""
        if self.trace:
            at = self.trace.start
            magic, records, written, astray = HEAD.unpack(self._get(at, HEAD.size))
            self._put(at + HEAD.size + written % records * RECORD.size, RECORD.pack(*w))
            # The record's time is astray if the clock is past it by more than ASTRAY_NS. When the
            # call read the clock is not known, so both ends of the call must say the same.
            is_astray = {(t * TICK_NS - w[0]) % WORD > ASTRAY_NS for t in (began, ended)}
            if len(is_astray) > 1:
                raise Broken(f"the list has a time at the limit: {w[0]}")
            self._put(at, HEAD.pack(magic, records, written + 1, astray + is_astray.pop()))
        return 0

    def may_move(self, w: tuple[int, ...]) -> bool:
        """Return True if a move with these arguments is allowed."""
        to, disk, size, write = physical_address(w[0]), *w[1:]
        whole_sectors = size and not (disk | size) % SECTOR and size < 1 << 32
        if not self.disks or not whole_sectors or to % 8 or write > 1:
            return False
        behind_log = self._word("move_log_end") <= disk and disk + size <= self.disks.stop
        below_disks = self.free <= to and to + size <= self.disks.start
        beside_trace = not self.trace or to + size <= self.trace.start or self.trace.stop <= to
        return behind_log and below_disks and beside_trace

    def move(self, w: tuple[int, ...]) -> int:
        """Make a transfer, and log it while there is room; return the call's answer."""
        if not self.may_move(w):
            return REFUSED
        to, disk, size, write = physical_address(w[0]), *w[1:]
        log, log_end = self._word("move_log"), self._word("move_log_end")
        if log < log_end:
            self._put(log, MOVE.pack(disk | write, size))
        self._set("move_log", log + MOVE.size, log_end)
        source, target = (to, disk) if write else (disk, to)
        self._put(target, self._get(source, size))
        return 0

    def may_access(self, deed: int, at: int) -> bool:
        """Return True if supervisor mode may load, store or jump there."""
        if at in CLOCK or at in FW_CFG or at in self.disks:
            return False
        if at in self.trace:
            return deed == LOAD
        return at >= self.free or at < START or deed in (LOAD, JUMP)

    def apply_call(self, made: Made) -> None:
        """Follow a call that was made.

        Raises Broken if its answer or the clock is not as it must be.
        """
        call, w = made.call, made.call.w
        expected = self._answer(made)
        if made.answer not in expected:
            raise Broken(f"{call}: the answer is {made.answer:#x}, not {expected}")
        forward = w[0] if call.number == CLOCK_JUMP and made.answer == 0 else 0
        first = max(made.began, forward)
        most = DEED_TICKS if call.number in DEEDS else self.most_ticks
        if not first <= made.ended <= first + most:
            raise Broken(f"{call}: the clock went from {made.began} to {made.ended}")

    def _answer(self, made: Made) -> set[int]:
        """Change the model as a call does; return the answers that machine mode may give."""
        call, w = made.call.number, made.call.w
        if call == TRACE_BEGIN:
            return {self.trace_begin(w)}
        if call == TRACE_APPEND:
            return {self.append(w, made.began, made.ended)}
        if call == NO_TIMER:
            return {0}
        if call == CLOCK_JUMP:
            too_far = w[0] >= LAST_TICK and w[0] > made.began
            may_be_made = w[0] <= made.ended + AT_ONCE
            return {REFUSED, 0} if too_far and may_be_made else {REFUSED if too_far else 0}
        if call == DISKS_BEGIN:
            return {self.disks_begin(w)}
        if call == DISKS_MOVE:
            return {self.move(w)}
        return {self._carry_out(call, w) if call in DEEDS else REFUSED}

    def _carry_out(self, deed: int, w: tuple[int, ...]) -> int:
        """Model a load, store, jump or another of DEEDS; return its fault's number, or 0."""
        at = physical_address(w[0])
        if deed == WALK:
            return 0
        if deed == OTHER_HART:
            self._settle(1 | 2)
        if not self.may_access(deed, at):
            return FAULTS[deed]
        if deed in (STORE, OTHER_HART) and at >= START:
            self._put(at, bytes([0xA5 if deed == OTHER_HART else w[1] & 0xFF]))
        return 0

    def compare(self, memory: bytes) -> None:
        """Raise Broken unless the memory is as modelled, except for the driver's own.

        The driver's own memory holds its variables and the list.
        """
        own = ((BSS, self.symbols["host_word"] + 8 - START), (LIST, LIST + LIST_BYTES))
        begin = 0
        for first, end in (*own, (SIZE, SIZE)):
            if self.memory[begin:first] != memory[begin:first]:
                pairs = zip(range(begin, first), self.memory[begin:], memory[begin:], strict=False)
                at, wanted, found = next(p for p in pairs if p[1] != p[2])
                raise Broken(f"at {START + at:#x} there is {found:#x}, not {wanted:#x}")
            begin = end
