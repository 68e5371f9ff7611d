"""Explains a remote read of a network that `sluice network run` has run.

Each machine's memory is kept, and the trace in it is found by its first bytes. Such a run is no
experiment's, so its configuration is made here from the boot arguments of its machines, as far as
an explanation needs it. Policies have the names that they had at the boot.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from sluice.debug import instant
from sluice.debug.instant import BadInstant
from sluice.debug.narrative import explain_remote_read
from sluice.debug.remote import RemoteExplainer
from sluice.debug.stored_run import Kept
from sluice.experiment import service
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.records import Configuration
from sluice.experiment.schema import Run
from sluice.export.recording import Recording, process_names
from sluice.network.virtual import Plan, memory_file
from sluice.system import trace
from sluice.system.requests import Request, pair_requests

NO_DRIVE = "none"  # the default of drive=: kernel/disk/model.c
OPTION = "--why="
SETTINGS = (*service.TOLD, "drive_command_us", "log_in_drive")  # of drives


def build_config(plan: Plan, machine: int) -> Configuration:
    """Return what an explanation needs of a machine's configuration."""
    words = dict(word.partition("=")[::2] for word in plan.args[machine - 1].split())
    defaults = load_catalogue().defaults
    drive = words.get("disk0.drive", words.get("drive", NO_DRIVE))
    config: dict[str, object] = {
        "block": plan.block,
        "policies": {kind: words.get(kind, name) for kind, name in defaults.items()},
        "link": plan.link.row,
        "root": {"drive": drive, "size": f"{plan.disk_mib}M", "log_places": None},
        "data": None,
        "server": None,  # any disk but the root is another machine's
    }
    for name in SETTINGS:
        value = words.get(name)
        config[name] = int(value) if value and value.isdecimal() else value
    return cast(Configuration, config)


def load_machine(plan: Plan, folder: Path, machine: int) -> Kept:
    """Return a machine of a network that has ended, with its whole trace."""
    memory = memory_file(folder, machine)
    phys = trace.find_ring(memory)
    lost, found = trace.read_trace(memory, phys)
    events = list(found)
    pairing = pair_requests(events)
    run = Run(machine, "network", f"machine {machine}", {}, build_config(plan, machine), 0)
    recording = Recording(
        run,
        lost,
        events[0].time_ns,
        events[-1].time_ns,
        sorted(pairing.done, key=lambda r: r.number),
        len(pairing.incomplete_requests()),
        events,
        process_names(events, ()),
    )
    room = trace.ring_capacity(memory, phys)
    return Kept(run, recording, memory, lost, phys, room, title=f"machine {machine}")


@dataclass(frozen=True)
class Remote:
    """A read of a remote disk, and the number of the machine that made it."""

    machine: int
    read: Request


def select_read(found: list[Remote], word: str) -> int:
    """Return the index of the read that a word selects, as instant.read_number does for
    a read of an experiment. Raises BadInstant."""
    if not found:
        raise BadInstant(f"{OPTION}{word}: no machine has read a remote file from its server")
    if word == instant.LONGEST:
        return max(range(len(found)), key=lambda i: found[i].read.response_ns)
    at_ns = instant.parse_time_ns(word)
    if at_ns is not None:
        here = [i for i, f in enumerate(found) if f.read.queued_ns <= at_ns <= f.read.completed_ns]
        if not here:
            raise BadInstant(f"{OPTION}{word}: no remote read was on its way at this time")
        return max(here, key=lambda i: found[i].read.response_ns)
    if not word.isdecimal() or not 1 <= int(word) <= len(found):
        raise BadInstant(
            f"{OPTION}{word}: this network has remote reads 1 to {len(found)}; give one of these "
            f'numbers, "{instant.LONGEST}", or a time as 12.345s'
        )
    return int(word) - 1


def find_server(kept: dict[int, Kept], chosen: Remote) -> RemoteExplainer:
    """Return the explainer of a read with the machine that answered its calls as its server."""
    client = kept[chosen.machine]
    explainers = [
        RemoteExplainer(replace(client, server=other))
        for number, other in kept.items()
        if number != chosen.machine
    ]

    def count_answers(explainer: RemoteExplainer) -> int:
        """Return how many of the read's parts are the server's or its disk's."""
        return sum(p.place in ("server", "disk") for p in explainer.explain(chosen.read).parts)

    return max(explainers, key=count_answers)


def explain_network_read(plan: Plan, folder: Path, word: str) -> str:
    """Return an explanation of a remote read, in lines.

    folder: where the machines' memories are (run_network); word: which read: longest, its number
    among those of all machines, or a time as 12.345s. Raises BadInstant and BadTrace.
    """
    kept = {n: load_machine(plan, folder, n) for n in range(1, len(plan.scripts) + 1)}
    found = [
        Remote(n, read)
        for n, one in kept.items()
        for read in one.recording.requests
        if not read.write and service.is_remote(one.run, read.disk)
    ]
    found.sort(key=lambda f: (f.read.queued_ns, f.machine))
    at = select_read(found, word)
    return explain_remote_read(find_server(kept, found[at]), at + 1, found[at].read)
