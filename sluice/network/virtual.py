"""Runs machines on one link in one virtual time, and prints their consoles on one axis of time.

The machines have fresh root disks, and what they print is the same on every host. A machine that
panics or does not boot leaves the others waiting for it, so they are stopped.
"""

import os
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from sluice.network.consoles import TIMES, Console, Line, Merger
from sluice.network.wiring import Plug, join_machines
from sluice.system import image
from sluice.system.guest import Guest
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, start

SILENCE_S = 10  # of the host's time
TRACE_K = 256  # K events that a trace keeps, if one is asked for: the last ones
CHUNK = 1 << 16  # bytes of a console that are read together
STATUS_BOOT_FAIL, STATUS_PANIC = 100, 101  # of a machine: kernel/machine/panic.h
Begin = Callable[..., subprocess.Popen[bytes]]  # takes a machine, its memory and plug=


def start_in_qemu(config: Config, guest: Guest, plug: Plug, **how: Any) -> subprocess.Popen[bytes]:
    """Start a machine of a network in QEMU. Returns the process. how: goes to Popen."""
    return start(replace(config, options=plug.options), guest, files=plug.files, **how)


class NetworkDied(RuntimeError):
    """The error for a machine that left the others waiting; the text says which, and why."""


@dataclass(frozen=True)
class Link:
    """The link between the machines: a row of kernel/link/, and what goes wrong on it."""

    row: str = "ethernet10"
    loss_percent: int = 0
    late_percent: int = 0
    seed: int = 0

    def arguments(self, machine: int, count: int) -> str:
        """Return the boot arguments of a machine, the first of which is 1."""
        return (
            f"link={self.row} link_machine={machine - 1} link_machines={count} "
            f"link_loss_percent={self.loss_percent} link_reorder_percent={self.late_percent} "
            f"link_seed={self.seed}"
        )


@dataclass(frozen=True)
class Plan:
    """The machines of a run. scripts: each one's shell commands; args: each one's boot
    arguments; twin: what starts a twin (sluice/twin/engine.py), if twins make the run."""

    scripts: tuple[str, ...]
    args: tuple[str, ...]
    link: Link = Link()
    memory: str = "128M"
    disk_mib: int = 64
    block: str = "4K"  # of the disks
    traced: bool = False  # the memories are kept, with traces in them (memory_file)
    twin: Begin | None = None

    def config(self, machine: int, folder: Path) -> Config:
        """Return a machine, the first of which is 1; its root disk is made in the folder."""
        content = Content(
            rc=self.scripts[machine - 1] + "\n", size=f"{self.disk_mib}M", block=self.block
        )
        disk = image.make_image(folder / f"{machine}.img", content)
        words = f"{self.link.arguments(machine, len(self.scripts))} {TIMES}"
        if self.traced:
            words += f" trace_k={TRACE_K}"
        args = f"{self.args[machine - 1]} {words}".strip()
        return Config(
            (Disk(disk),),
            memory=self.memory,
            args=args,
            lab=True,
            charged=True,
        )


@dataclass
class Running:
    """One machine that runs."""

    number: int
    process: subprocess.Popen[bytes]
    guest: Guest
    errors: IO[bytes]  # what its QEMU itself prints
    is_twin: bool
    status: int | None = None  # None: it has not ended by itself

    def finish(self) -> None:
        """Wait for the end of a machine whose console has ended."""
        self.status = self.process.wait()
        if self.status == 0 and not self.is_twin:
            self.guest.verify()

    def kill(self) -> None:
        """End the machine at once. A second call does nothing."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def find_death(self, console: Console) -> str:
        """Return why the machine ended without telling the other machines, or ""."""
        assert self.status is not None
        if self.status in (STATUS_BOOT_FAIL, STATUS_PANIC):
            return console.kernel_end
        if self.status < 0:
            return f"signal {-self.status} ended its {'twin' if self.is_twin else 'QEMU'}"
        return self.complaint() if self.status else ""

    def complaint(self) -> str:
        """Return what the machine's QEMU has printed itself, which is no part of a run."""
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace").strip()


def memory_file(folder: Path, machine: int) -> Path:
    """Return the file of a machine's memory, if it is kept."""
    return folder / f"{machine}.memory"


def start_machines(plan: Plan, folder: Path, dump: Path | None, opened: ExitStack) -> list[Running]:
    """Start all machines. `opened` ends them."""
    running = []
    begin = plan.twin or start_in_qemu
    with join_machines(len(plan.scripts), dump) as plugs:
        configs = [plan.config(number, folder) for number in range(1, len(plugs) + 1)]
        for number, (config, plug) in enumerate(zip(configs, plugs, strict=True), 1):
            kept = memory_file(folder, number) if plan.traced else None
            guest = opened.enter_context(config.guest(kept=kept))
            errors: IO[bytes] = opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            process = begin(
                config,
                guest,
                plug=plug,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
            running.append(Running(number, process, guest, errors, plan.twin is not None))
            opened.callback(running[-1].kill)
    return running


def read_consoles(
    running: list[Running], on_silence: Callable[[list[int]], None]
) -> Iterator[tuple[Running, bytes]]:
    """Yield each machine with what it prints, as it comes; at its end, b"". on_silence: is called
    once with the numbers of those that print nothing for SILENCE_S after another has ended."""
    with selectors.DefaultSelector() as selector:
        for machine in running:
            assert machine.process.stdout
            selector.register(machine.process.stdout, selectors.EVENT_READ, machine)
        warned = False
        while selector.get_map():
            left = [key.data.number for key in selector.get_map().values()]
            waits = len(left) < len(running) and not warned
            ready = selector.select(SILENCE_S if waits else None)
            if not ready:
                warned = True
                on_silence(left)
            for key, _ in ready:
                data = os.read(key.fd, CHUNK)
                if not data:
                    selector.unregister(key.fileobj)
                    key.data.finish()
                yield key.data, data


def follow(
    running: list[Running],
    show: Callable[[Line], None],
    on_silence: Callable[[list[int]], None],
) -> None:
    """Show the lines of all machines in order, until all have ended. Raises NetworkDied if one
    leaves the others waiting for it."""
    merger = Merger(len(running))
    try:
        for machine, data in read_consoles(running, on_silence):
            for line in merger.feed(machine.number, data):
                show(line)
            if data:
                continue
            if why := machine.find_death(merger.consoles[machine.number - 1]):
                raise NetworkDied(f"machine {machine.number}: {why}")
    finally:
        for line in merger.rest():
            show(line)


def run_network(
    plan: Plan,
    folder: Path,
    show: Callable[[Line], None],
    dump: Path | None = None,
    on_silence: Callable[[list[int]], None] = lambda numbers: None,
) -> list[int]:
    """Run the machines to their ends. Returns the status of each.

    folder: for the disks, and for the memories if the plan has traces; show: is called with each
    line of a console, in order of virtual time; dump: where all that the machines send goes
    (notes.py); on_silence: see read_consoles. Raises NetworkDied.
    """
    with ExitStack() as opened:
        running = start_machines(plan, folder, dump, opened)
        follow(running, show, on_silence)
        return [machine.status or 0 for machine in running]
