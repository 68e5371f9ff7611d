"""Run a machine twice, in QEMU and as its twin (sluice/twin/), and compare their decisions.

The machine's script ends with the line END, which prints where the trace is in memory.
"""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace

from sluice.host.limits import HANG_S
from sluice.system import qemu, trace
from sluice.system.qemu import Config
from sluice.twin import engine

END = "grep trace.phys /dev/stat"
TIMED = ("completed", "writing", "sought")  # events whose argument is a time


@dataclass(frozen=True)
class Ran:
    """The output of a run: its console and the events of its trace."""

    console: str
    events: list[trace.Event]


def decision(event: trace.Event) -> tuple:
    """Return an event without its times."""
    argument = None if event.name in TIMED else event.argument
    return (event.name, event.disk, event.block, event.pid, argument, event.write)


def phys_of(console: str) -> int:
    """Return the physical address of the trace, as END printed it."""
    return int(re.search(r"^trace.phys (\d+)", console, re.M)[1])


def ran(begin: Callable[..., subprocess.Popen], config: Config) -> Ran:
    """Start this machine, and wait for its end."""
    with config.guest() as guest:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        console, _ = begin(config, guest, text=True, **pipes).communicate(timeout=HANG_S)
        lost, events = trace.read_trace(guest.path, phys_of(console))
    assert not lost
    return Ran(console.replace("\r", ""), events)


def machine_and_twin(config: Config) -> tuple[Ran, Ran]:
    """Return the machine's run, then the twin's, with charged time."""
    config = replace(config, charged=True)
    return ran(qemu.start, config), ran(engine.start_twin, config)


def expect_alike(machine: list[tuple], twin: list[tuple], least: int) -> None:
    """Fail with the first decision that differs, or if there are not more than `least`."""
    assert len(machine) > least
    for i, (one, other) in enumerate(zip(machine, twin, strict=False)):
        assert one == other, f"event {i}: {one} in the machine, {other} in the twin"
    assert len(machine) == len(twin)
