"""Where a submission's kernel is put to work, and what is seen of it from outside.

A test of a lab is a public function of one argument in tests/ or hidden/:

    def a_delayed_write_waits_for_sync(bench: Bench) -> Slide | None:
        run = bench.run(SCENARIO)

Its machine has three disks: disk0 with the programs, the data disk, mounted at /data,
and a small one for beacons. The scenario's script reads sector n of the last (`beacon
n`), which puts the moment into the trace: times need no word of the console's.

What the kernel prints is not believed. The requests come from the trace in the
machine's memory, as the pristine disk layer wrote it, and are held against what
QEMU's own devices saw: which sectors, read or written, in which order. A kernel that
overwrites its trace is found out by that, unless it changes times only.

One hart, virtual time. Limits: virtual seconds (a watchdog inside, for what is stuck),
the host's processor seconds (for what computes for ever), bytes of a file (for floods).
"""

import os
import random
import re
import resource
import shlex
import signal
import struct
import subprocess
import tempfile
import threading
from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grade import image, trace
from grade.image import Content
from grade.machine import Config, Disk, die_with_parent
from grade.objects import tool
from grade.scoring.lab import BadLab
from grade.scoring.verdict import Wrong, expect

DIRECT_MAP = 0xFFFFFFC000000000  # kernel address of physical 0 (kernel/mem.h)
MEMORY = "64M"
ROOT_DISK, DATA_DISK, BEACON_DISK = range(3)
BEACON_BYTES = 1 << 20
LAST_BEACON = BEACON_BYTES // 512 - 1
BLOCK_BYTES = 4096
BLOCK_SECTORS = BLOCK_BYTES // 512
FOR_EVER = 2**64
CPU_S = 20  # of the host, a machine
WALL_S = 300
FILE_BYTES = 256 << 20
STUCK = 99
TAIL_LINES = 8
EXTENT = re.compile(r"\((\d+)(?:-(\d+))?\):(\d+)")  # blocks of a file, as debugfs has them
SEEN = re.compile(r"virtio_blk_handle_(read|write) vdev (\w+) req \w+ sector (\d+) nsectors (\d+)")
RC = f"""mkdir /data && mount disk1 /data || exit
(sleep {{limit}}; poweroff {STUCK}) &
{{script}}
dd if=/dev/disk2 of=/dev/null bs=512 count=1 skip={LAST_BEACON} 2> /dev/null
"""
BEACON = "dd if=/dev/disk2 of=/dev/null bs=512 count=1 skip={} 2> /dev/null"


@dataclass(frozen=True)
class Scenario:
    """What a machine is to do.

    script: shell commands, with `beacon N` on lines of their own (N from 1); args:
    boot arguments; files: of the root disk; data: of the data disk, made of zeros,
    path to size; at: where in the disk they lie, as mkfs has it.
    """

    name: str
    script: str
    args: str = ""
    files: tuple[tuple[str, bytes], ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    at: tuple[tuple[str, str], ...] = ()
    size: str = "16M"
    drive: str = "rz58"
    trace_k: int = 256
    virtual_s: int = 600

    def rc(self) -> str:
        script = re.sub(
            r"^beacon (\d+)$", lambda m: BEACON.format(m[1]), self.script.strip(), flags=re.M
        )
        return RC.format(limit=self.virtual_s, script=script)

    def boot_arguments(self) -> str:
        drives = f"drive=fixed disk1.drive={self.drive}"
        return f"{drives} cluster_kb=0 check=1 trace_k={self.trace_k} {self.args}".strip()


@dataclass(frozen=True)
class Request:
    """A disk request, in nanoseconds of virtual time."""

    disk: int
    sector: int
    sectors: int
    write: bool
    queued_ns: int
    issued_ns: int
    completed_ns: int

    @property
    def response_ms(self) -> float:
        return (self.completed_ns - self.queued_ns) / 1e6


@dataclass(frozen=True)
class Write:
    """The write of one block of a file, by its number there."""

    block: int
    request: Request


@dataclass(frozen=True)
class Run:
    """What was seen of one machine."""

    scenario: Scenario
    folder: Path
    events: list[trace.Event] = field(repr=False)

    @cached_property
    def requests(self) -> list[Request]:
        """All that were completed, in the order of completion."""
        open_: dict[tuple, deque] = defaultdict(deque)
        done = []
        for event in self.events:
            key = (event.disk, event.block, event.write)
            if event.name == "queued":
                open_[key].append([event.argument, event.time_ns, 0])
            elif event.name == "issued" and open_[key]:
                next(row for row in open_[key] if not row[2])[2] = event.time_ns
            elif event.name == "completed" and open_[key]:
                sectors, queued, issued = open_[key].popleft()
                done.append(Request(*key[:2], sectors, key[2], queued, issued, event.time_ns))
        return done

    def data(self, write: bool) -> list[Request]:
        """The data disk's writes or reads, in the order of completion."""
        return [r for r in self.requests if r.disk == DATA_DISK and r.write == write]

    @cached_property
    def beacons(self) -> dict[int, int]:
        """When each beacon was passed."""
        return {
            r.sector: r.queued_ns for r in self.requests if r.disk == BEACON_DISK and not r.write
        }

    def beacon(self, number: int) -> int:
        """When this one was, in nanoseconds; it must have been."""
        expect(number in self.beacons, "the script to go on to its end", "it stopped before")
        return self.beacons[number]

    def sectors(self, path: str) -> dict[int, int]:
        """Of a file on the data disk: its blocks' numbers, by their first sectors."""
        text = image.debugfs(self.folder / "data.after.img", f"stat {path}")
        runs = EXTENT.findall(text)
        return {
            (int(start) + i) * BLOCK_SECTORS: int(first) + i
            for first, last, start in runs
            for i in range(int(last or first) - int(first) + 1)
        }

    def writes_of(self, path: str, start_ns: int = 0, end_ns: int = FOR_EVER) -> list[Write]:
        """The writes of a file's data that were queued in that time, in this order."""
        number = self.sectors(path)
        found = [
            Write(number[r.sector], r)
            for r in self.data(write=True)
            if r.sector in number and start_ns <= r.queued_ns < end_ns
        ]
        return sorted(found, key=lambda write: write.request.queued_ns)

    def contents(self, path: str) -> bytes:
        """What is in a file on the data disk at the end."""
        return image.read(self.folder / "data.after.img", path)


def limits() -> None:
    """In the child, before exec."""
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def make_images(scenario: Scenario, folder: Path) -> None:
    """The three disks, as they are before the run."""
    options = [word for path, size in scenario.data for word in ("--file", f"{path}={size}")]
    options += [word for path, place in scenario.at for word in ("--at", f"{path}={place}")]
    content = Content(files=dict(scenario.files), rc=scenario.rc(), size="16M")
    image.make(folder / "root.img", content)
    content = Content(programs=False, size=scenario.size, options=tuple(options))
    image.make(folder / "data.img", content)
    with (folder / "beacon.img").open("wb") as file:
        file.truncate(BEACON_BYTES)


def machine(scenario: Scenario, kernel: Path, disks: list[Path], *options: str) -> Config:
    """The machine of a scenario."""
    return Config(
        tuple(Disk(path) for path in disks),
        memory=MEMORY,
        args=scenario.boot_arguments(),
        kernel=kernel,
        options=options,
        lab=True,
    )


def ring_phys(kernel: Path, memory: Path) -> int:
    """Where the trace is: what the kernel's variable trace_ring points to."""
    lines = tool("nm", kernel).splitlines()
    at = next(int(line.split()[0], 16) for line in lines if line.endswith(" trace_ring"))
    with memory.open("rb") as file:
        file.seek(at - DIRECT_MAP - trace.MEMORY_START)
        (pointer,) = struct.unpack("<Q", file.read(8))
    return (pointer - DIRECT_MAP) % 2**64


def seen_by_devices(log: Path) -> list[list[tuple]]:
    """Of each disk: the transfers that QEMU's device did, in their order."""
    disks: dict[str, list[tuple]] = defaultdict(list)
    for match in SEEN.finditer(log.read_text(errors="replace")):
        disks[match[2]].append((int(match[3]), int(match[4]), match[1] == "write"))
    return sorted(disks.values())


def told_by_trace(run: Run) -> list[list[tuple]]:
    """The same, as the trace has it."""
    disks: dict[int, list[tuple]] = defaultdict(list)
    for r in run.requests:
        disks[r.disk].append((r.sector, r.sectors, r.write))
    return sorted(disks.values())


def tail(console: Path) -> str:
    """The end of what the kernel printed: for people."""
    lines = console.read_bytes()[-4000:].decode(errors="replace").replace("\r", "").splitlines()
    return "\n".join(f"    | {line[:160]}" for line in lines[-TAIL_LINES:])


def end(status: int, console: Path) -> str:
    """How a machine ended that should have ended well; empty if it did."""
    if status == 0:
        return ""
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"it computed for more than {CPU_S} s of the host's processor"
    if status == -signal.SIGXFSZ:
        return "it flooded the console"
    if status == STUCK:
        return "it was stuck: the virtual time was up"
    if status < 0:
        return f"signal {-status} ended it"
    return f"it ended with status {status}; the console, which proves nothing:\n{tail(console)}"


@dataclass
class Bench:
    """Runs scenarios on the submission's kernel and on the reference; each once."""

    kernel: Path
    reference_kernel: Path
    folder: Path
    nonce: str
    budget_s: float  # of the host's processor, for all machines
    gdb: Path | None = None  # a socket: the first machine waits there
    made: dict[tuple[Path, str], Run | Wrong] = field(default_factory=dict)
    last: str = ""  # folder of the run asked for last

    def random(self, name: str) -> random.Random:
        """Random numbers of this grading, the same for each name."""
        return random.Random(f"{self.nonce}/{name}")

    def run(self, scenario: Scenario) -> Run:
        """What the submission does; raises Wrong if the machine did not end well."""
        return self._once(self.kernel, "", scenario)

    def reference(self, scenario: Scenario) -> Run:
        """What the reference does."""
        return self._once(self.reference_kernel, "reference-", scenario)

    def _once(self, kernel: Path, prefix: str, scenario: Scenario) -> Run:
        key = (kernel, f"{prefix}{scenario.name}")
        self.last = key[1]
        if key not in self.made:
            try:
                self.made[key] = self._make(kernel, self.folder / key[1], scenario)
            except Wrong as wrong:
                self.made[key] = wrong
        made = self.made[key]
        if isinstance(made, Wrong):
            raise made
        return made

    def _make(self, kernel: Path, folder: Path, scenario: Scenario) -> Run:
        if self.budget_s <= 0:
            raise Wrong("a run within the time for all", "earlier runs had used it up")
        folder.mkdir(parents=True, exist_ok=True)
        try:
            make_images(scenario, folder)
        except AssertionError as error:
            raise BadLab(f"scenario {scenario.name}: {error}") from None
        fresh = [folder / f"{name}.img" for name in ("root", "data", "beacon")]
        used = [folder / f"{name}.after.img" for name in ("root", "data", "beacon")]
        for source, target in zip(fresh, used, strict=True):
            image.command("cp", "--sparse=always", source, target)
        with tempfile.TemporaryDirectory(dir=folder) as name:
            memory = Path(name) / "memory"
            log = Path(name) / "devices"
            traced = ("-trace", "virtio_blk_handle_read", "-trace", "virtio_blk_handle_write")
            if self.gdb:
                wait_for_gdb(machine(scenario, kernel, used, "-S"), self.gdb, kernel)
            config = machine(
                scenario,
                kernel,
                used,
                *trace.memory_options(memory, MEMORY),
                *(*traced, "-D", str(log)),
            )
            how = end(self._boot(config, folder / "console.txt"), folder / "console.txt")
            expect(not how, "the machine to run its commands and switch itself off", how)
            return witnessed(scenario, folder, kernel, memory, log)

    def _boot(self, config: Config, console: Path) -> int:
        """Run the machine to its end; its status."""
        (console.parent / "machine.sh").write_text(shlex.join(config.command()) + "\n")
        with console.open("wb") as out:
            process = subprocess.Popen(
                config.command(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.DEVNULL,
                preexec_fn=limits,
            )
        stop = threading.Timer(WALL_S, process.kill)
        stop.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        finally:
            stop.cancel()
        self.budget_s -= used.ru_utime + used.ru_stime
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode


def witnessed(scenario: Scenario, folder: Path, kernel: Path, memory: Path, log: Path) -> Run:
    """The run, if its trace holds against what the devices saw."""
    try:
        lost, events = trace.read(memory, ring_phys(kernel, memory))
        run = Run(scenario, folder, list(events))
        told = told_by_trace(run)
    except (trace.BadTrace, IndexError, ValueError, OverflowError, StopIteration) as error:
        raise Wrong("the trace as the disk layer writes it", str(error) or "none") from None
    expect(not lost, f"at most {scenario.trace_k}k events in the trace", f"{lost} more")
    expect(
        told == seen_by_devices(log),
        "the disks to have done what the trace tells, in its order",
        "they did not: the trace is not the disk layer's",
    )
    return run


def wait_for_gdb(config: Config, socket: Path, kernel: Path) -> None:
    """Start the machine stopped, for gdb; ends this program with it."""
    socket.unlink(missing_ok=True)
    line = [*config.command(), "-gdb", "chardev:gdb"]
    line += ["-chardev", f"socket,id=gdb,path={socket},server=on,wait=off"]
    print(f"now, in another terminal: $GDB -q -x grade/gdb/attach.gdb {kernel}", flush=True)
    raise SystemExit(subprocess.call(line, stdin=subprocess.DEVNULL))
