"""Run a submission's kernel, and observe it from outside.

A test of a lab is a public function with one argument, in tests/ or hidden/. It calls
`bench.run(SCENARIO)` and returns a Slide, a Tally or None (assertions.py). scenario.py describes
the work of a machine and its run. The grader does not believe what the kernel prints (evidence.py).

A machine has one hart and virtual time. It has three limits: virtual seconds (a watchdog inside
stops a machine whose commands do not end), the host's processor seconds (against endless loops),
and bytes of a file (against floods of output). In virtual time a machine that does not compute is
stuck for ever, because the clock jumps over all waiting; it is stopped, too (watchdog.py).
"""

import os
import random
import re
import resource
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from grade.definition.lab import BadLab
from grade.engine import rerun_files
from grade.engine.assertions import Wrong, expect
from grade.engine.evidence import UNREADABLE, save_trace, trace_address, verify_run
from grade.engine.moments import TRACE_FILE, Moment, find_counterpart
from grade.engine.scenario import BEACON_BYTES, BLOCK_SECTORS, STUCK, Run, Scenario
from grade.engine.watchdog import watch_in_context
from grade.trust.untrusted_text import make_printable
from sluice.crash import write_log
from sluice.host.fault import HostFault
from sluice.host.limits import host_slowdown
from sluice.host.paths import PROGRAMS
from sluice.host.quoting import descriptor_path, quote_qemu
from sluice.system import image, trace
from sluice.system.guest import Guest
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, die_with_parent, start

MEMORY = "64M"
ROOT_SIZE = "16M"  # size of the disk with the programs
CONTROL_S = 60  # processor seconds, for a test that is run on the reference
# Processor seconds of a machine: 3 times what the lab open needs (sluice/host/limits.py).
CPU_S = 20
CACHE = {
    "kernel/cache/delayed.c",
    "kernel/cache/flush.c",
}  # the sources that trace dirty and written blocks
# The limit in place of CPU_S once a machine has looped: 3 times the longest other machine.
LOOPED_S = 4
FILE_BYTES = 256 << 20
WRITE_LOG = "data.log"  # the log of the data disk's writes, in the disk's folder
TAIL_BYTES, TAIL_LINES = 4000, 8
BEFORE_PANIC = 2  # lines of the console that a message shows before a panic
SEEN = ("-trace", "virtio_blk_handle_read", "-trace", "virtio_blk_handle_write")
OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)
OF_LIMITS = (*OUT_OF_TIME, -signal.SIGXFSZ)
QEMU_FAILED = 1  # QEMU's status if it cannot make the machine
PANIC = "panic: "
BY_ARGUMENT = re.compile(r"(?<!\S)(\w+)=(\w+)")
BY_COMMAND = re.compile(r"\bpolicy use (\w+) (\w+)")


Begin = Callable[
    ..., subprocess.Popen[bytes]
]  # starts a machine; its arguments are a function to call in the child, and others


def set_limits(cpu_s: int, file_bytes: int) -> None:
    """Set the limits of a child process; called in it before exec."""
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def make_images(scenario: Scenario, folder: Path) -> list[Path]:
    """Make the disks before the run and return them by number.

    A file beside them says which disk is which.
    """
    own = scenario.setting
    options = [f"--file={path}={size}" for path, size in scenario.data_files().items()]
    options += [f"--at={own.rename_parts(path)}={place}" for path, place in scenario.at]
    options += ["--pattern", str(scenario.pattern)] if scenario.pattern else []
    files = {own.rename_parts(path): data for path, data in scenario.files}
    files |= {f"/bin/{name}": (PROGRAMS / name).read_bytes() for name in scenario.programs}
    journal = ("--journal", scenario.journal) if scenario.journal else ()
    names = ["spare"] * len(own.drives)
    names[own.root], names[own.data], names[own.beacons] = "root", "data", "beacon"
    disks = [
        folder / (f"spare{unit}.img" if name == "spare" else f"{name}.img")
        for unit, name in enumerate(names)
    ]
    programs = Content(files=files, rc=scenario.rc_script(), size=ROOT_SIZE, options=journal)
    image.make_image(disks[own.root], programs)
    blank = Content(programs=False, size=f"{scenario.data_kb()}K", options=(*options, *journal))
    image.make_image(disks[own.data], blank)
    for path, name, value in scenario.fields:
        image.debugfs(disks[own.data], f"sif {own.rename_parts(path)} {name} {value}", write=True)
    for change in filter(None, (scenario.on_log, scenario.on_image)):
        disks[own.data].write_bytes(change(disks[own.data].read_bytes()))
    for disk, name in zip(disks, names, strict=True):
        if name in ("beacon", "spare"):
            with disk.open("wb") as file:
                file.truncate(BEACON_BYTES)
    told = own.describe_names([path for path, _ in (*scenario.files, *scenario.data)])
    (folder / "setting.txt").write_text(told, encoding="utf-8")
    return disks


def logging_disk(path: Path, flushes: bool) -> Disk:
    """Return a disk whose writes QEMU also keeps in a log, with or without its flushes."""
    log = path.with_name(WRITE_LOG)
    if flushes:
        return write_log.logged_disk(path, log)
    log.write_bytes(b"")
    files = f"file.driver=file,file.filename={quote_qemu(path)}"
    files += f",log.driver=file,log.filename={quote_qemu(log)}"
    return Disk(drive=f"driver=blklogwrites,{files}")


def failing_disk(path: Path, transfers: Sequence[tuple[str, int, int]]) -> Disk:
    """Return a disk that fails each of these reads and writes, of a sector, or one flush.

    A transfer fails from the N-th flush on (0: from the boot); of flushes, the next one fails.
    """
    drive = "driver=raw,file.driver=blkdebug,file.image.driver=file"
    drive += f",file.image.filename={quote_qemu(path)}"
    states = 1  # QEMU counts flushes by states, of which the first is 1
    for i, (kind, sector, flushes) in enumerate(transfers):
        state = flushes + (kind == "flush")
        states = max(states, state)
        rule = [f"iotype={kind}", "errno=5"]
        rule += ["once=on"] if kind == "flush" else [f"sector={sector}"]
        rule += ["event=flush_to_disk", f"state={state}"] if state else ["event=none"]
        drive += "".join(f",file.inject-error.{i}.{option}" for option in rule)
    for state in range(1, states):
        rule = ["event=flush_to_disk", f"state={state}", f"new_state={state + 1}"]
        drive += "".join(f",file.set-state.{state - 1}.{option}" for option in rule)
    return Disk(drive=drive, cache="writeback" if states > 1 else "unsafe")


def make_data_disk(scenario: Scenario, path: Path) -> Disk:
    """Return the data disk, which logs or fails writes if the scenario says so."""
    if scenario.unwritable:
        blocks = [
            int(image.debugfs(path, f"bmap {scenario.setting.rename_parts(file)} {block}"))
            for file, block in scenario.unwritable
        ]
        return failing_disk(path, [("write", block * BLOCK_SECTORS, 0) for block in blocks])
    if scenario.failing:
        found = scenario.failing(path.read_bytes())
        return failing_disk(path, [(kind, n * BLOCK_SECTORS, after) for kind, n, after in found])
    return logging_disk(path, scenario.flushes) if scenario.logged else Disk(path)


def make_machine(scenario: Scenario, kernel: Path, disks: list[Path], *options: str) -> Config:
    """Return the machine of a scenario.

    disks: by number.
    """
    data = scenario.setting.data
    return Config(
        tuple(
            make_data_disk(scenario, path) if unit == data else Disk(path)
            for unit, path in enumerate(disks)
        ),
        memory=MEMORY,
        args=scenario.boot_arguments(),
        kernel=kernel,
        options=options,
        lab=True,
    )


def console_tail(console: Path) -> str:
    """Return the end of the kernel's output, for a message; of a panic, its beginning."""
    text = console.read_bytes()[-TAIL_BYTES:].decode(errors="replace").replace("\r", "")
    lines = text.splitlines()
    panics = [i for i, line in enumerate(lines) if PANIC in line]
    first = panics[0] - BEFORE_PANIC if panics else len(lines) - TAIL_LINES
    first = max(0, first)
    return "\n".join(f"    | {line[:160]}" for line in lines[first : first + TAIL_LINES])


def describe_bad_end(status: int, stopped: str, console: Path, cpu_s: int, wanted: int) -> str:
    """Return how a machine ended, in words, if it did not end well; otherwise empty.

    stopped: why it was stopped, if it was. cpu_s: its limit. wanted: the status of a good end.
    """
    if status == wanted or stopped:
        return stopped
    if status == 0:
        return f"it did not end with status {wanted}"
    if status in OUT_OF_TIME:
        return f"it computed for more than {cpu_s} s of a processor: look for an endless loop"
    if status == STUCK:
        return "it was stuck: its virtual time was up, and its commands were not done"
    if status < 0:
        return f"signal {-status} ended it"
    last = console_tail(console)
    return f"it ended with status {status}; the console, which proves nothing:\n{last}"


def expect_policies(scenario: Scenario, absent: frozenset[str]) -> None:
    """Raise BadLab if a scenario names a policy that a graded kernel does not have.

    Its machine would not boot, and that is no fault of the student's.
    """
    named = [*BY_ARGUMENT.findall(scenario.args), *BY_COMMAND.findall(scenario.script)]
    for kind, name in named:
        if f"policies/{kind}/{name}.c" in absent:
            raise BadLab(
                f"scenario {scenario.name}: a graded kernel has no {kind} policy {name}: add"
                f' "{kind}/{name}" to `policies` in lab.toml'
            )


def describe_qemu_fault(status: int, used_s: float, cpu_s: float, console: Path, said: str) -> str:
    """Return how QEMU itself failed, in words; empty if the kernel may be the cause.

    used_s: the processor time used. cpu_s: its limit. said: QEMU's own messages.
    """
    if status == -signal.SIGKILL and used_s < cpu_s:
        return "something killed QEMU: this machine has too little memory free"
    if status < 0 and status not in OF_LIMITS:
        return f"signal {-status} ended QEMU, which no kernel should be able to cause: {said}"
    if status == QEMU_FAILED and not console.stat().st_size:
        return f"QEMU does not start: {said or 'it says nothing'}"
    return ""


@dataclass
class Workbench:
    """Runs scenarios on the submission's kernel and on the reference, each once."""

    kernel: Path
    reference_kernel: Path
    folder: Path
    nonce: str
    budget_s: float  # processor seconds that all machines together may use
    gdb: Path | None = None  # a socket: the first machine waits there
    files: Mapping[str, str] = field(default_factory=dict)  # what was handed in
    facts: dict[str, int] = field(default_factory=dict)  # of a lab of answers (answers.py)
    absent: frozenset[str] = frozenset()  # sources of policies that the kernel does not have
    made: dict[tuple[Path, str], Run | Wrong] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)  # folders of runs, as they are asked for
    scenarios: dict[str, Scenario] = field(default_factory=dict)  # of the submission, by name
    file_bytes: ClassVar[int] = FILE_BYTES  # largest file that the machine's processes may write
    by_qemu: ClassVar[bool] = True  # False: the kernel runs as a program of this host
    looped: bool = False  # true once a machine has looped; the others then get LOOPED_S

    def random(self, name: str) -> random.Random:
        """Return a random generator of this grading, which is the same for the same name."""
        return random.Random(f"{self.nonce}/{name}")

    def run(self, scenario: Scenario, despite_faults: bool = False) -> Run:
        """Return the submission's run.

        Raises Wrong if the machine did not end well, or if a policy gave a wrong answer about the
        data disk or the cache. despite_faults: the test itself looks at run.faults, because a wrong
        answer at one moment should not spoil all that the run shows.
        """
        self.scenarios[scenario.name] = scenario
        expect_policies(scenario, self.absent)
        run = self._run_once(self.kernel, "", scenario)
        if not despite_faults:
            run.expect_no_fault()
        return run

    def reference(self, scenario: Scenario) -> Run:
        """Return the reference's run."""
        return self._run_once(self.reference_kernel, "reference-", scenario)

    def run_other(self, kernel: Path, prefix: str, scenario: Scenario) -> Run:
        """Return the run of another kernel of the staff's. Raises Wrong if it did not end well.

        prefix: the first part of the name of the run's folder.
        """
        self.scenarios[scenario.name] = scenario
        return self._run_once(kernel, prefix, scenario)

    def control_bench(self) -> "Workbench":
        """Return a workbench with the reference in the submission's place, in its own folder."""
        kernel, folder = self.reference_kernel, self.folder.with_name("control")
        return Workbench(kernel, kernel, folder, self.nonce, CONTROL_S, files=self.files)

    def describe_moment(self, moment: Moment) -> str:
        """Return what happened at a moment of the run, and when the reference did the same."""
        scenario, asked = self.scenarios[moment.run], len(self.asked)
        this = f"this was {moment}: {moment.describe_event()}"
        try:
            here, there = self.run(scenario, True), self.reference(scenario)
        except Wrong:
            return this
        finally:
            del self.asked[asked:]
        found = find_counterpart(moment, here.events, there.folder.name, there.events)
        right = str(found) if found else "at no time in this run"
        return f"{this}\nthe solution did that {right}"

    def fault_note(self, names: list[str]) -> str:
        """Return the kernel's line about wrong answers of a policy in these runs, or nothing."""
        for name in names:
            run = self.made.get((self.kernel, name))
            if isinstance(run, Run) and run.faults:
                return f"{run.fault_line()} ({len(run.faults)} such answers in run {name})"
        return ""

    def has_reference(self, scenario: Scenario) -> bool:
        """Return True if the reference has run this scenario."""
        return (self.reference_kernel, f"reference-{scenario.name}") in self.made

    def cache_is_evidence(self, scenario: Scenario) -> bool:
        """Return True if what the trace shows of the cache is evidence.

        What the trace shows is no evidence if the submission is a part of the cache, or if a
        journal writes past the cache.
        """
        return not CACHE & self.files.keys() and not scenario.journal

    def _run_once(self, kernel: Path, prefix: str, scenario: Scenario) -> Run:
        """Return a run of this kernel, made at most once; raise what it raised the first time."""
        key = (kernel, f"{prefix}{scenario.name}")
        self.asked.append(key[1])
        if key not in self.made:
            try:
                self.made[key] = self._make_run(kernel, self.folder / key[1], scenario)
            except Wrong as wrong:
                self.made[key] = wrong
        made = self.made[key]
        if isinstance(made, Wrong):
            raise made
        return made

    def _make_run(self, kernel: Path, folder: Path, scenario: Scenario) -> Run:
        """Make disks and a machine for a scenario, and run it."""
        if self.budget_s <= 0:
            raise Wrong("a run within the time for all runs", "earlier runs had used up this time")
        folder.mkdir(parents=True, exist_ok=True)
        scenario = scenario.apply_setting(self.nonce)
        if self.gdb:
            scenario = replace(scenario, virtual_s=0)
        try:
            fresh = make_images(scenario, folder)
        except AssertionError as error:
            raise BadLab(f"scenario {scenario.name}: {error}") from None
        used = [path.with_suffix(".after.img") for path in fresh]
        for source, target in zip(fresh, used, strict=True):
            image.copy_image(source, target)
        config = self._make_machine(scenario, kernel, used)
        if self.gdb:
            wait_for_gdb(config, self.gdb, kernel)
        records = scenario.trace_k * 1024  # records of the trace; the log of moves needs no more
        with config.guest(log=records) as guest:
            try:
                return self._run_machine(kernel, config, guest, scenario, folder)
            finally:
                if guest.images and (folder / TRACE_FILE).exists():
                    store_rerun_files(kernel, config, guest, fresh, folder)

    def _make_machine(self, scenario: Scenario, kernel: Path, disks: list[Path]) -> Config:
        """Return the configuration of a scenario's machine."""
        return make_machine(scenario, kernel, disks, "-nic", "none")

    def _run_machine(
        self, kernel: Path, config: Config, guest: Guest, scenario: Scenario, folder: Path
    ) -> Run:
        """Return the machine's run; the disks are as it left them. Raises Wrong."""
        with tempfile.TemporaryFile(dir=folder) as file:
            log = Path(descriptor_path(file.fileno()))
            if not guest.images:
                config = replace(config, options=(*config.options, *SEEN, "-D", str(log)))
            how = self._boot(partial(start, config, guest), config, folder, scenario.ends)
            save_trace(kernel, guest.path, folder / TRACE_FILE)
            expect_good_end(how)
            guest.verify()
            guest.save()
            return verify_run(
                partial(Run, scenario, folder),
                kernel,
                guest,
                log,
                self.cache_is_evidence(scenario),
            )

    def _boot(self, begin: Begin, config: Config, folder: Path, wanted: int) -> str:
        """Run the machine to its end. Returns how it ended, in words; empty if it ended well."""
        console = folder / "console.txt"
        (folder / "machine.sh").write_text(shlex.join(config.command()) + "\n", encoding="utf-8")
        cpu_s = LOOPED_S if self.looped else CPU_S
        most_s = round(cpu_s * host_slowdown())
        with console.open("wb") as out, tempfile.TemporaryFile() as errors:
            process = begin(
                partial(set_limits, most_s, self.file_bytes),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
            )
            # QEMU survives a write beyond the limit, because its hart's thread takes no signals.
            written = (console.stat, partial(os.fstat, errors.fileno()))
            with watch_in_context(
                process, lambda: any(of().st_size >= FILE_BYTES for of in written)
            ) as watch:
                _, status, used = os.wait4(process.pid, 0)
            errors.seek(0)
            said = make_printable(errors.read(TAIL_BYTES).decode(errors="replace")).strip()
        used_s = used.ru_utime + used.ru_stime
        self.budget_s -= used_s / host_slowdown()
        process.returncode = os.waitstatus_to_exitcode(status)
        if watch.of_host:
            raise HostFault(f"{watch.of_host}: this computer has too much else to do")
        if self.by_qemu and not watch.stopped:
            fault = describe_qemu_fault(process.returncode, used_s, most_s, console, said)
            if fault:
                raise HostFault(fault)
        self.looped |= process.returncode in OUT_OF_TIME and not watch.stopped
        return describe_bad_end(process.returncode, watch.stopped, console, cpu_s, wanted)


def store_rerun_files(
    kernel: Path, config: Config, guest: Guest, fresh: list[Path], folder: Path
) -> None:
    """Keep what `sluice debug --graded` needs of a machine that has ended, if it has a trace."""
    with suppress(*UNREADABLE):
        phys = trace_address(kernel, guest.path)
        records = trace.ring_capacity(guest.path, phys)
        rerun_files.write_rerun_files(folder, config, fresh, guest.moves_kept, phys, records)


def expect_good_end(how: str) -> None:
    """Raise Wrong unless the machine ended well.

    how: how it ended badly; empty if it ended well.
    """
    expect(not how, "the machine to run its commands and switch itself off", how)


def wait_for_gdb(config: Config, socket: Path, kernel: Path) -> None:
    """Start the machine stopped, for gdb. When the machine ends, this program ends, too."""
    socket.unlink(missing_ok=True)
    guest = config.guest()
    line = [*config.command(guest), "-S", "-gdb", "chardev:gdb"]
    path = quote_qemu(os.path.relpath(socket))  # a socket's path has at most 107 bytes
    line += ["-chardev", f"socket,id=gdb,path={path},server=on,wait=off"]
    command = [os.environ.get("GDB", "gdb-multiarch"), "-q", "-x", "tools/gdb/attach.gdb"]
    print(f"now, in another terminal: {shlex.join([*command, str(kernel)])}", flush=True)
    raise SystemExit(subprocess.call(line, stdin=subprocess.DEVNULL))
