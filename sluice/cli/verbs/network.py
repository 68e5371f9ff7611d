"""sluice network: several machines on one Ethernet, in one virtual time or with a shell on each."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import Needs, verb
from sluice.cli.verbs.run import check_memory
from sluice.host.out import BadOut, expect_file
from sluice.host.paths import ROOT

if TYPE_CHECKING:
    from sluice.network.consoles import Line
    from sluice.network.notes import Frame
    from sluice.network.virtual import Plan

FEWEST, MOST = 2, 4  # machines of a link: sluice/network/wiring.py
ETHERNET = "ethernet10"
NEEDS = Needs(("machine", "python"))


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


def check_pcap(path: Path) -> Path:
    """Return the absolute path of a file that can be made."""
    try:
        expect_file(options.absolute(path), "--pcap")
    except BadOut as error:
        raise typer.BadParameter(str(error)) from None
    return options.absolute(path)


def percent_option(about: str) -> Any:
    """Return an option that is a part of all frames."""
    return typer.Option(metavar="PERCENT", min=0, max=100, help=about)


@verb(
    NEEDS,
    "sluice network run 'udpecho -l -c 1' 'ping -c 3 10.0.0.1; udpecho 10.0.0.1 hello'",
    "the machines were stopped",
    check_args,
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
    args: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARGS",
            help="Boot arguments of all machines, as 'drive=rz58'; or once for each machine.",
        ),
    ] = None,
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
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, help="The seed of what is lost and late.")
    ] = 0,
    pcap: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where every frame goes, with its virtual time, for tshark and Wireshark.",
            callback=options.value_callback(check_pcap),
        ),
    ] = None,
    frames: Annotated[
        bool, typer.Option("--frames", help="Print a line for each frame, too; at the end.")
    ] = False,
    memory: Annotated[
        str,
        typer.Option(
            metavar="32M..8G",
            help="The memory of each machine.",
            callback=options.value_callback(check_memory),
        ),
    ] = "128M",
    disk_mib: Annotated[
        int, typer.Option(metavar="MIB", min=1, help="Size of each root disk in MiB.")
    ] = 64,
) -> int:
    """Run machines on one link in one virtual time. Prints their lines with times, the same each
    time. The run ends when every machine has done its commands."""
    from sluice.host.paths import BUILD
    from sluice.host.scratch import scratch_folder
    from sluice.network.virtual import Link, Plan

    each = args or [""]
    plan = Plan(
        tuple(commands),
        tuple(each * (len(commands) if len(each) == 1 else 1)),
        Link(link, loss, late, seed),
        memory,
        disk_mib,
    )
    with scratch_folder(BUILD / "network") as folder:
        return run_plan(plan, folder, pcap, frames)


def run_plan(plan: "Plan", folder: Path, pcap: Path | None, frames: bool) -> int:
    """Run the machines. Returns the status of the first machine that failed, or else 0."""
    from sluice.network.capture import write_capture
    from sluice.network.notes import read_notes
    from sluice.network.virtual import NetworkDied, run_network

    dump = folder / "notes" if pcap or frames else None
    lines: list[Line] = []
    show = lines.append if frames else partial(print, flush=True)
    try:
        statuses = run_network(plan, folder, show, dump)
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
            print(f"machine {number}: its commands ended with status {status}", file=sys.stderr)
    return next((status for status in statuses if status), 0)


def frame_line(frame: "Frame") -> "Line":
    """Return the line that tells of a frame, at the time when it began on the wire."""
    from sluice.network.capture import describe_frame
    from sluice.network.consoles import Line

    return Line(frame.begin_ns, frame.machine, 0, f"-> {describe_frame(frame.data)}")
