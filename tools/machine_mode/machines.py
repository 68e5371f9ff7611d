"""Run driver.c, linked with the real entry.S.o, in QEMU or in Spike."""

import os
import random
import shlex
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grade.code import elf
from sluice.host.paths import BUILT, ROOT
from sluice.host.quoting import quote_qemu
from tools.machine_mode.model import LIST, LIST_BYTES, SIZE, START, Call, Made, Model

ENTRY = BUILT / "kernel/entry.S.o"
MAGIC = 0x736C6C6163
NOW = 0x776F6E  # a record's time, for which the driver writes the clock's
ROW = struct.Struct("<10Q")
MOST = LIST_BYTES // ROW.size - 1  # calls of a list
LIMIT_S = 300
ISA = "--isa=rv64imafdc_zicntr_zihpm_sstc"
QEMU_BYTES = 64 << 20  # the device tree is further on than SIZE
NAMES = (*("rodata_end", "host_word", "move_log", "move_log_end", "trace_at", "trace_on_phys"),)


@dataclass(frozen=True)
class Driver:
    """The linked driver, and the physical addresses of its symbols."""

    path: Path
    symbols: dict[str, int]

    def make_model(self, memory: bytes) -> Model:
        """Return machine mode before the first call.

        memory: the list and what is behind it; the rest is as loaded.
        """
        whole = bytearray(SIZE)
        for segment in (s for s in elf.read(self.path).segments if s.type == elf.LOADED):
            data = elf.read(self.path).data[segment.offset :][: segment.file_bytes]
            whole[segment.phys - START : segment.phys - START + len(data)] = data
        whole[LIST:] = memory
        return Model(self.symbols, whole)


def link_driver(folder: Path, entry: Path = ENTRY) -> Driver:
    """Compile the driver, and link it with machine mode as the kernel is linked."""
    compiler = shlex.split((BUILT / "kernel.command").read_text(encoding="utf-8"))
    made, path = folder / "driver.o", folder / "driver.elf"
    source = ROOT / "tools/machine_mode/driver.c"
    options = "-static -Wl,--build-id=none -Wl,--no-warn-rwx-segments -Wl,--orphan-handling=error"
    host = ("tohost=host_word", "fromhost=host_answer")
    # Spike looks for these two at physical addresses.
    words = [f"-Wl,--defsym={name}-0xffffffc000000000" for name in host]
    script = ["-T", "kernel/machine/kernel.ld"]
    for line in (
        [*compiler, "-c", "-o", str(made), str(source)],
        [*compiler, *options.split(), *script, *words, "-o", str(path), str(entry), str(made)],
    ):
        subprocess.run(line, check=True, cwd=ROOT)
    linked = elf.read(path)
    physical = (1 << 38) - 1  # the bits of a physical address
    symbols = {name: linked.global_symbol(name).value & physical for name in NAMES}
    # Two variables without global symbols, each by the variable before it.
    after = {"disks_at": symbols["trace_at"] + 16, "begun": symbols["move_log_end"] + 8}
    return Driver(path, symbols | after)


def pack_calls(calls: Sequence[Call]) -> bytes:
    """Return a list as the driver reads it."""
    rows = [ROW.pack(MAGIC, len(calls), *[0] * 8)]
    rows += [ROW.pack(*call.w, call.number, *[0] * 5) for call in calls]
    return b"".join(rows).ljust(LIST_BYTES, b"\0")


def random_memory(seed: int) -> bytes:
    """Return the first contents of the memory after the list."""
    return random.Random(seed).randbytes(SIZE - LIST - LIST_BYTES)


def read_calls(memory: bytes, calls: Sequence[Call]) -> Iterator[Made]:
    """Yield the calls of a list as they were made."""
    for i, call in enumerate(calls):
        at = LIST + (i + 1) * ROW.size
        *w, number, answer, began, ended, steps, _ = ROW.unpack_from(memory, at)
        was = tuple(w) if call.w[0] == NOW else call.w
        assert (tuple(w), number) == (was, call.number), f"the driver's list has changed at {i}"
        yield Made(Call(number, was), answer, began, ended, steps)


class Ended(Exception):
    """The machine ended before its list did, with this status."""


def run_in_qemu(
    driver: Driver,
    calls: Sequence[Call],
    first: bytes,
    folder: Path,
    harts: int = 1,
    limit_s: float = LIMIT_S,
) -> bytes:
    """Run one list in QEMU. Returns the memory at its end. Raises Ended."""
    memory = folder / "memory"
    with memory.open("wb") as file:
        file.truncate(QEMU_BYTES)
        file.seek(LIST)
        file.write(pack_calls(calls) + first)
    backend = (
        f"memory-backend-file,id=memory,size={QEMU_BYTES},mem-path={quote_qemu(memory)},share=on"
    )
    line = [os.environ.get("QEMU", "qemu-system-riscv64"), "-M", "virt,memory-backend=memory"]
    line += ["-m", str(QEMU_BYTES >> 20), "-object", backend, "-bios", "none", "-nic", "none"]
    line += ["-cpu", "rv64,sstc=true", "-smp", str(harts)]
    # In virtual time a hart that waits for another one keeps it from running.
    line += ["-icount", "shift=5,sleep=off"] if harts == 1 else []
    line += ["-kernel", str(driver.path), "-display", "none"]
    done = subprocess.run(line, check=False, timeout=limit_s, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Ended(done.returncode)
    with memory.open("rb") as file:
        return file.read(SIZE)


def run_in_spike(
    spike: Path, driver: Driver, lists: Sequence[Sequence[Call]], first: bytes, folder: Path
) -> Iterator[bytes]:
    """Run lists in one machine of Spike's. Yields the memory after each."""
    texts = [pack_calls(calls) for calls in lists]
    (folder / "lists").write_bytes(texts[0] + first + b"".join(texts[1:]))
    (folder / "memory").write_bytes(b"")
    line = [str(spike), ISA, f"-m{START:#x}:{SIZE:#x}"]
    subprocess.run([*line, str(driver.path)], check=True, cwd=folder, timeout=LIMIT_S)
    with (folder / "memory").open("rb") as file:
        for _ in lists:
            yield file.read(SIZE)


def check_calls(model: Model, calls: Sequence[Call], memory: bytes) -> list[Made]:
    """Compare a machine that has made these calls with the model, and return the calls.

    Raises Broken if the machine did what it may not do.
    """
    done = list(read_calls(memory, calls))
    for made in done:
        model.apply_call(made)
    model.compare(memory)
    return done
