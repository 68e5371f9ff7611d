"""sluice network: several machines on one Ethernet, in one virtual time or with a shell on each."""

import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import DRIVES, Needs, needs_of_engine, verb
from sluice.cli.verbs.run import check_memory
from sluice.host.out import BadOut, expect_file
from sluice.host.paths import ROOT

if TYPE_CHECKING:
    from sluice.network.consoles import Line
    from sluice.network.notes import Frame
    from sluice.network.virtual import Plan

FEWEST, MOST = 2, 4  # machines of a link: sluice/network/wiring.py
MOST_PORT = 65535
ETHERNET = "ethernet10"
NEEDS = Needs(("machine", "python"))
EXPLAINING = Needs(("run",), ("all", *DRIVES))  # what the drives did is computed, too


def links() -> list[str]:
    """Return the names of all links. Without the kernel's sources only the default is known."""
    found = (ROOT / "kernel" / "link").glob("*.c")
    return sorted(path.stem for path in found if "LINK(" in path.read_text("utf-8")) or [ETHERNET]


def read_commands(word: str) -> str:
    """Return commands, or the text of the file that @FILE names."""
    if not word.startswith("@"):
        return word
    path = options.absolute(Path(word[1:]))
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise typer.BadParameter(f"{word}: the file cannot be read: {why}") from None


def read_all(words: list[str]) -> list[str]:
    """Return the commands of each machine."""
    if not FEWEST <= len(words) <= MOST:
        raise typer.BadParameter(
            f"commands for {len(words)} machines: a link has {FEWEST} to {MOST}; quote the "
            "commands of each machine as one word"
        )
    return [read_commands(word) for word in words]


def check_args(values: dict[str, Any]) -> None:
    """Raise BadParameter if boot arguments are given for another number of machines."""
    given, machines = len(values["args"] or ()), len(values["commands"])
    if given > 1 and given != machines:
        raise typer.BadParameter(
            f"given {given} times for {machines} machines: give it once for all machines, or "
            "once for each",
            param_hint="--args",
        )


def check_run(values: dict[str, Any]) -> None:
    """Raise BadParameter as check_args does, or if the twin cannot run the commands."""
    from sluice.twin.engine import run_refusal_reason

    check_args(values)
    why = run_refusal_reason(" ".join(values["commands"]))
    if values["engine"] == options.TWIN and why:
        raise typer.BadParameter(f"the twin cannot make this run: {why}", param_hint="--engine")


def check_pcap(path: Path) -> Path:
    """Return the absolute path of a file that can be made."""
    try:
        expect_file(options.absolute(path), "--pcap")
    except BadOut as error:
        raise typer.BadParameter(str(error)) from None
    return options.absolute(path)


def check_read(word: str) -> str:
    """Return the word that selects a read."""
    if not re.fullmatch(r"longest|\d+|\d+(\.\d+)?(s|ms|us|ns)", word):
        raise typer.BadParameter(f'{word}: must be "longest", a number, or a time as 12.345s')
    return word


def refuse_why(word: str) -> str:
    """Raise BadParameter: what a read waited for is known on one axis of time only."""
    raise typer.BadParameter(
        f"{word}: each shell's machine has a clock of its own, in real time; `sluice network run "
        "COMMANDS COMMANDS --why longest` makes the machines share one virtual time"
    )


def spread(args: list[str] | None, machines: int) -> tuple[str, ...]:
    """Return the boot arguments of each machine."""
    each = args or [""]
    return tuple(each * machines if len(each) == 1 else each)


Args = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ARGS",
        help="Boot arguments of all machines, as 'drive=rz58'; or once for each machine.",
    ),
]
Pcap = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Where every frame goes, with its time, for tshark and Wireshark.",
        callback=options.value_callback(check_pcap),
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        metavar="32M..8G",
        help="The memory of each machine.",
        callback=options.value_callback(check_memory),
    ),
]
DiskMib = Annotated[int, typer.Option(metavar="MIB", min=1, help="Size of each root disk in MiB.")]


def percent_option(about: str) -> Any:
    """Return an option that is a part of all frames."""
    return typer.Option(metavar="PERCENT", min=0, max=100, help=about)


def needs_of_run(values: dict[str, Any]) -> Needs:
    """Return what a run by this engine needs, and the explanation of a read if one is asked for."""
    return needs_of_engine(EXPLAINING if values.get("why") else NEEDS)(values)


@verb(
    needs_of_run,
    "sluice network run 'udpecho -l -c 1' 'ping -c 3 10.0.0.1; udpecho 10.0.0.1 hello'",
    "the machines were stopped",
    check_run,
)
def run(
    commands: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMANDS COMMANDS...",
            help="Shell commands of each machine, or @FILE. Machine N has the address 10.0.0.N.",
            callback=options.value_callback(read_all),
        ),
    ],
    args: Args = None,
    link: Annotated[
        str,
        typer.Option(
            metavar="LINK",
            help="The link between the machines: a file of kernel/link/.",
            **options.completes("link", links),
        ),
    ] = ETHERNET,
    loss: Annotated[int, percent_option("How many of a hundred frames are lost.")] = 0,
    late: Annotated[int, percent_option("How many of a hundred are up to 20 ms late.")] = 0,
    seed: Annotated[int, typer.Option(**options.number("The seed of what is lost and late."))] = 0,
    pcap: Pcap = None,
    frames: Annotated[
        bool, typer.Option("--frames", help="Print a line for each frame, too; at the end.")
    ] = False,
    memory: Memory = "128M",
    disk_mib: DiskMib = 64,
    why: Annotated[
        str | None,
        typer.Option(
            metavar="READ",
            help="Say what a remote read waited for, at the end: longest, its number, or a time as "
            "12.345s at which it waits.",
            callback=options.value_callback(check_read),
        ),
    ] = None,
    engine: options.Engine = options.MACHINE,
) -> int:
    """Run machines on one link in one virtual time. Prints their lines with times, the same each
    time. The run ends when every machine has done its commands."""
    from sluice.host.paths import BUILD
    from sluice.host.scratch import scratch_folder
    from sluice.network.virtual import Link, Plan
    from sluice.twin.engine import start_twin

    plan = Plan(
        tuple(commands),
        spread(args, len(commands)),
        Link(link, loss, late, seed),
        memory,
        disk_mib,
        traced=bool(why),
        twin=start_twin if engine == options.TWIN else None,
    )
    with scratch_folder(BUILD / "network") as folder:
        status = run_plan(plan, folder, pcap, frames)
        return status or (explain(plan, folder, why) if why else 0)


def run_plan(plan: "Plan", folder: Path, pcap: Path | None, frames: bool) -> int:
    """Run the machines. Returns the status of the first machine that failed, or else 0."""
    from sluice.network.capture import write_capture
    from sluice.network.notes import read_notes
    from sluice.network.virtual import NetworkDied, run_network

    dump = folder / "notes" if pcap or frames else None
    lines: list[Line] = []
    show = lines.append if frames else partial(print, flush=True)
    try:
        statuses = run_network(plan, folder, show, dump, warn_of_silence)
    except NetworkDied as died:
        print(f"{died}; the other machines waited for it, and were stopped", file=sys.stderr)
        statuses = [1]
    sent = read_notes(dump) if dump else []
    if pcap:
        write_capture(pcap, sent)
    for line in sorted([*lines, *(frame_line(frame) for frame in sent if frames)]):
        print(line)
    for number, status in enumerate(statuses, 1):
        if status and len(statuses) > 1:
            print(f"machine {number} ended with status {status}", file=sys.stderr)
    return next((status for status in statuses if status), 0)


def explain(plan: "Plan", folder: Path, why: str) -> int:
    """Print what a remote read waited for. Returns the status."""
    from sluice.debug.instant import BadInstant
    from sluice.debug.network_why import explain_network_read

    try:
        print("", explain_network_read(plan, folder, why), sep="\n")
    except BadInstant as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def warn_of_silence(numbers: list[int]) -> None:
    """Say which machines go on alone."""
    names = ", ".join(f"machine {number}" for number in numbers)
    print(
        f"{names} still runs after another has ended, and prints nothing. A server that listens "
        "for ever does so: 'udpecho -l & sleep 60' ends after a minute of virtual time. ^C ends "
        "the run.",
        file=sys.stderr,
    )


def frame_line(frame: "Frame") -> "Line":
    """Return the line that tells of a frame, at the time when it began on the wire."""
    from sluice.network.capture import describe_frame
    from sluice.network.consoles import Line

    return Line(frame.begin_ns, frame.machine, 0, f"-> {describe_frame(frame.data)}")


def read_forwards(words: list[str]) -> list[str]:
    """Return the forwards, after a check of each."""
    ports: set[int] = set()
    for word in words:
        found = re.fullmatch(r"(\d{1,5}):([12]):(\d{1,5})", word)
        if not found or not all(0 < int(found[i]) <= MOST_PORT for i in (1, 3)):
            raise typer.BadParameter(
                f"{word}: must be PORT:MACHINE:PORT, as 7007:1:7, with ports up to {MOST_PORT} and "
                "machine 1 or 2"
            )
        if int(found[1]) in ports:
            raise typer.BadParameter(f"{word}: the host's port {found[1]} is given twice")
        ports.add(int(found[1]))
    return words


def check_shells(values: dict[str, Any]) -> None:
    """Raise BadParameter if boot arguments are given for more than two machines."""
    check_args(values | {"commands": (1, 2)})


@verb(
    NEEDS,
    "sluice network shells",
    "the machines were stopped",
    check_shells,
)
def shells(
    args: Args = None,
    with_host: Annotated[
        bool,
        typer.Option(
            "--with-host",
            help="The host is on the network, too, as 10.0.0.100, with its own UDP ports.",
        ),
    ] = False,
    forward: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PORT:MACHINE:PORT",
            help="A UDP port of the host that is a machine's, as 7007:1:7.",
            callback=options.value_callback(read_forwards),
        ),
    ] = None,
    pcap: Pcap = None,
    memory: Memory = "128M",
    disk_mib: DiskMib = 64,
    why: Annotated[
        str | None,
        typer.Option(
            metavar="READ",
            hidden=True,
            help="Refused with words: what a read waited for is known in one virtual time only.",
            callback=options.value_callback(refuse_why),
        ),
    ] = None,
) -> int:
    r"""Boot two machines on one network, in real time, with a shell on each. ^] goes to the other
    machine, and ^\ ends both. Their disks are new each time."""
    from sluice.host.paths import BUILD
    from sluice.host.scratch import scratch_folder
    from sluice.network.host import Forward
    from sluice.network.shells import Session, run_shells

    forwards = (Forward(*map(int, word.split(":"))) for word in forward or ())
    session = Session(
        spread(args, 2), memory, disk_mib, pcap, with_host or bool(forward), tuple(forwards)
    )
    with scratch_folder(BUILD / "network") as folder:
        return run_shells(session, folder)
