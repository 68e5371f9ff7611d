"""Describe the work of a machine for a test of a lab, and the run that was observed.

A machine has at least three disks: one with the programs, the data disk, and a small one for
beacons. The scenario's script reads sector n of the last (`beacon n`), and so records the moment in
the trace: the tests need no times from the console. Scenarios and tests call the data disk
/dev/disk1, mounted at /data, and the others /dev/root and /dev/beacons. They name files as the
scenario does. In the machine all these have other names (parameters.py).
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from grade.engine import log_disk
from grade.engine.assertions import Wrong, expect
from grade.engine.moments import Fault, Moment
from grade.engine.parameters import DRIVES, MOUNT, PLAIN, Setting, choose_setting
from grade.trust.untrusted_text import make_printable
from sluice.system import image, trace, virtual_log

BEACON_BYTES = 1 << 20
LAST_BEACON = BEACON_BYTES // 512 - 1
BLOCK_BYTES = 4096
BLOCK_SECTORS = BLOCK_BYTES // 512
FOR_EVER = 2**64
STUCK = 99
FAULT_LINE = re.compile(rb"policy fault: [^\r\n]*")  # on the console
EXTENT = re.compile(r"\((\d+)(?:-(\d+))?\):(\d+)")  # blocks of a file, as debugfs has them
RC = """mkdir {mount} && mount disk{data} {mount} || exit
{watchdog}
{script}
{last}
"""
WATCHDOG = f"(sleep {{}}; poweroff -n {STUCK}) &"
BEACON = "dd if=/dev/disk{} of=/dev/null bs=512 count=1 skip={} 2> /dev/null"
PAD = "/pad"  # a file that may lie before the others, so their places differ


@dataclass(frozen=True)
class Scenario:
    """The work of a machine.

    Paths and names are those of a scenario; in the machine they differ (parameters.py). The book
    lists the fields in this form.

    name: the name of the run's folder, unique among the scenarios of a lab;
    script: shell commands, with `beacon N` on lines of their own (N from 1);
    args: boot arguments;
    files: the files of the root disk, as path and contents;
    programs: programs of sluice/programs to be put into /bin;
    data: files of the data disk, as path and size;
    at: where these files lie on the disk, as mkfs takes it;
    size: the size of the data disk;
    pattern: the seed of the contents of `data`, or 0 for zeros;
    fields: fields of these files' inodes, as path, debugfs's name and value;
    drives: the nonce chooses the data disk's drive from these;
    trace_k: the capacity of the trace, in units of 1,024 events (no event may be lost);
    virtual_s: after this virtual time the machine is stuck (0: never, because gdb's stops make the
        clock jump to the next event);
    check: a failed check of a policy's own records is a panic (a wrong answer of a policy is not:
        the kernel traces it and answers instead);
    logged: QEMU keeps a log of the data disk's writes;
    unwritable: blocks of data files whose writes fail, as path and number;
    disk: the data disk's number (None: the nonce chooses it);
    spares: false for only the three disks, so that the script can use them all;
    computes: the test depends on how long the kernel computes, of which the twin knows only mean
        times (twin_grading.py);
    like: scenarios with the same value share one setting;
    varied: false if names are not changed;
    on_log: makes, of the image of the file system, the image of a disk with a virtual log that has
        this file system on it (sluice/system/virtual_log.py);
    cut: the power is cut at the end, and nothing is written out before;
    ends: the status with which the machine should end;
    journal: the size of a journal on the root and data disks, as mkfs takes it;
    flushes: the log of a logged disk has its flushes, too;
    on_image: changes the data disk's image after mkfs;
    failing: returns, of that image, the transfers that fail, each as its kind, a block of the file
        system, and how many flushes of the disk come before: "read" and "write" fail from then on,
        and of "flush", whose block does not count, the next one.
    """

    name: str
    script: str
    args: str = ""
    files: tuple[tuple[str, bytes], ...] = ()
    programs: tuple[str, ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    at: tuple[tuple[str, str], ...] = ()
    size: str = "16M"
    pattern: int = 0
    fields: tuple[tuple[str, str, int], ...] = ()
    drives: tuple[str, ...] = DRIVES
    trace_k: int = 256
    virtual_s: int = 600
    check: bool = True
    logged: bool = False
    unwritable: tuple[tuple[str, int], ...] = ()
    disk: int | None = None
    spares: bool = True
    computes: bool = False
    like: str = ""
    varied: bool = True
    on_log: Callable[[bytes], bytes] | None = None
    cut: bool = False
    ends: int = 0
    journal: str = ""
    flushes: bool = False
    on_image: Callable[[bytes], bytes] | None = None
    failing: Callable[[bytes], Sequence[tuple[str, int, int]]] | None = None
    setting: Setting = PLAIN

    def __post_init__(self) -> None:
        # also in a copy by dataclasses.replace
        object.__setattr__(self, "like", self.like or self.name)

    def apply_setting(self, nonce: str) -> "Scenario":
        """Return the scenario in the setting that the nonce chooses."""
        if not self.varied:
            return self
        small = self.logged or self.on_log or self.failing  # copied for each write, or by block
        padded = not self.at and not small
        own = choose_setting(nonce, self.like, self.drives, padded, self.disk, self.spares)
        return replace(self, setting=own)

    def rc_script(self) -> str:
        """Return the script that init runs."""
        own = self.setting
        words = own.rename_script(self.script.strip(), frozenset(path for path, _ in self.files))
        last = BEACON.format(own.beacons, LAST_BEACON)
        if self.unwritable or self.cut:
            last += "\npoweroff -n"  # -n: blocks that cannot be written are given up
        script = re.sub(
            r"^beacon (\d+)$", lambda m: BEACON.format(own.beacons, m[1]), words, flags=re.M
        )
        return RC.format(
            mount=own.rename_parts(MOUNT),
            data=own.data,
            watchdog=WATCHDOG.format(self.virtual_s) if self.virtual_s else "",
            script=script,
            last=last,
        )

    def data_files(self) -> dict[str, str]:
        """Return the size of each file that is on the data disk at the start, by its path.

        Paths are those of this setting, in order.
        """
        pad = {PAD: f"{self.setting.pad_kb}K"} if self.setting.pad_kb else {}
        return {
            self.setting.rename_parts(path): size for path, size in (pad | dict(self.data)).items()
        }

    def data_kb(self) -> int:
        """Return the size of the data disk in KB."""
        return int(self.size.removesuffix("M")) * 1024 + self.setting.pad_kb

    def boot_arguments(self) -> str:
        """Return the machine's boot arguments."""
        models = self.setting.drives
        drives = " ".join(f"disk{unit}.drive={model}" for unit, model in enumerate(models))
        fixed = f"root=disk{self.setting.root} {drives} drive_depth=1 cluster_kb=0"
        shown = f"check={self.check:d} faults=answer trace_k={self.trace_k}"
        return f"{fixed} {shown} {self.args}".strip()


class Request(NamedTuple):
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
        """The time from queueing to completion."""
        return (self.completed_ns - self.queued_ns) / 1e6


@dataclass(frozen=True)
class Write:
    """The write of one block of a file, by its number there."""

    block: int
    request: Request


@dataclass(frozen=True)
class Run:
    """The run of one machine, as it was observed.

    scenario: in the setting that the nonce chose. folder: where its files are: the disks before and
    after, the console's output. events: of the trace, the oldest first.
    """

    scenario: Scenario
    folder: Path
    events: trace.Events = field(repr=False)

    @property
    def data_disk(self) -> int:
        """The number of the data disk."""
        return self.scenario.setting.data

    @cached_property
    def commands(self) -> list[log_disk.Command]:
        """The commands of the data disk, in order, if it has a virtual log; otherwise none."""
        return log_disk.list_commands(self.events, self.data_disk) if self.scenario.on_log else []

    @cached_property
    def requests(self) -> list[Request]:
        """All completed requests, in the order of completion."""
        # Of each place and direction, the requests under way, the oldest first: the sectors, and
        # when it was queued and issued (0: not yet).
        open_: dict[tuple[int, int, bool], deque[list[int]]] = defaultdict(deque)
        done = []
        of_map = log_disk.map_events(self.commands)
        for number, event in self.events.select_named("queued", "issued", "completed"):
            key = (event.disk, event.block, event.write)
            if number in of_map:
                continue
            if event.name == "queued":
                open_[key].append([event.argument, event.time_ns, 0])
            elif event.name == "issued" and open_[key]:
                next(row for row in open_[key] if not row[2])[2] = event.time_ns
            elif event.name == "completed" and open_[key]:
                sectors, queued, issued = open_[key].popleft()
                done.append(Request(*key[:2], sectors, key[2], queued, issued, event.time_ns))
        return done

    def data(self, write: bool) -> list[Request]:
        """Return the data disk's writes or reads, in the order of completion."""
        return [r for r in self.requests if r.disk == self.data_disk and r.write == write]

    @cached_property
    def data_image(self) -> Path:
        """The file system on the data disk at the end."""
        path = self.folder / "data.after.img"
        if not self.scenario.on_log:
            return path
        logical = self.folder / "data.logical.img"
        logical.write_bytes(virtual_log.read_logical_disk(path.read_bytes()))
        return logical

    @cached_property
    def beacons(self) -> dict[int, int]:
        """The time of each beacon, in nanoseconds."""
        unit = self.scenario.setting.beacons
        reads = (r for r in self.requests if r.disk == unit and not r.write and r.sectors == 1)
        return {r.sector: r.queued_ns for r in reads}

    def beacon(self, number: int) -> int:
        """Return the time of this beacon in nanoseconds.

        Raises Wrong if the script did not reach it.
        """
        expect(number in self.beacons, "the script to go on to its end", "it stopped before")
        return self.beacons[number]

    @cached_property
    def faults(self) -> list[Fault]:
        """The policies' wrong answers that concern the data disk, or the cache."""
        return self.find_faults(self.data_disk)

    def find_faults(self, disk: int) -> list[Fault]:
        """Return the policies' wrong answers that concern this disk, or the cache."""
        name = self.folder.name
        found = (Fault(name, number, event) for number, event in self.events.select_named("fault"))
        return [fault for fault in found if fault.concerns(disk)]

    def fault_line(self) -> str:
        """Return the line that the kernel printed about the first fault; it names the policy."""
        line = FAULT_LINE.search((self.folder / "console.txt").read_bytes())
        return make_printable(line[0].decode(errors="replace"), 200) if line else "policy fault"

    def fault_error(self, fault: Fault) -> Wrong:
        """Return the error of a test whose figures this fault has spoilt."""
        return Wrong(
            "only answers that the kernel can use",
            f"{self.fault_line()}\n{fault.describe_question()}.\n"
            f"The number of such answers in this run is {len(self.faults)}.",
        )

    def expect_no_fault(self, start_ns: int = 0, end_ns: int = FOR_EVER) -> None:
        """Raise Wrong if a policy answered wrongly in that time."""
        for fault in self.faults:
            if start_ns <= fault.event.time_ns < end_ns:
                raise self.fault_error(fault)

    def moment(self, what: "trace.Event | Request | Write", step: str = "queued") -> Moment:
        """Return the moment of an event, or of a step of a request: queued, issued or completed."""
        if isinstance(what, trace.Event):
            return Moment(self.folder.name, self.events.index(what), what)
        request = what.request if isinstance(what, Write) else what
        wanted = (getattr(request, f"{step}_ns"), step, request.disk, request.sector, request.write)
        for number, event in self.events.select_named(step):
            if wanted == (event.time_ns, event.name, event.disk, event.block, event.write):
                return Moment(self.folder.name, number, event)
        raise ValueError(f"no event of {self.folder.name} is {wanted}")

    def expect(
        self,
        condition: bool,
        expected: str,
        came: str,
        what: "trace.Event | Request | Write | None",
        step: str = "queued",
    ) -> None:
        """Raise Wrong, with the moment of `what`, unless the condition holds."""
        if not condition:
            raise Wrong(expected, came, self.moment(what, step) if what else None)

    def sectors(self, path: str) -> dict[int, int]:
        """Return the number of each block of a file on the data disk, by its first sector."""
        inside = self.scenario.setting.rename_parts(path)
        text = image.debugfs(self.data_image, f"stat {inside}")
        runs = EXTENT.findall(text)
        return {
            (int(start) + i) * BLOCK_SECTORS: int(first) + i
            for first, last, start in runs
            for i in range(int(last or first) - int(first) + 1)
        }

    def writes_of(self, path: str, start_ns: int = 0, end_ns: int = FOR_EVER) -> list[Write]:
        """Return the writes of a file's data that were queued in that time, in this order."""
        number = self.sectors(path)
        found = [
            Write(number[r.sector], r)
            for r in self.data(write=True)
            if r.sector in number and start_ns <= r.queued_ns < end_ns
        ]
        return sorted(found, key=lambda write: write.request.queued_ns)

    def contents(self, path: str) -> bytes:
        """Return the contents of a file on the data disk at the end."""
        inside = self.scenario.setting.rename_parts(path)
        return image.read_file(self.data_image, inside)
