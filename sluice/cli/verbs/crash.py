"""sluice crash: cut the power at every write of many workloads, and judge what is left."""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import DRIVES, Needs, verb

CRASH = Needs(("run",), ("all", "twin"))
GDB = Needs(("run", "gdb"), ("all", "twin"))
STAGED = Needs(("report",), ("all", "twin"))
GUEST = ("build/guest/crashcases", "build/guest/crashops")
GOES_ON = "all workloads so far are kept; the same command goes on from there"
ORDERS = ("sync", "prefix")
TORN = ("newest", "any")
MOST_LENGTH = 2


def parse_workload(text: str) -> str:
    """Return a workload's name, or its operations. Raises BadParameter if it is neither."""
    from sluice.crash.operations import BadOperation
    from sluice.crash.workloads import find_workload

    try:
        find_workload(text)
    except BadOperation as error:
        raise typer.BadParameter(str(error)) from None
    return text


def parse_mount_option(text: str) -> str:
    """Return how a file system is mounted. Raises BadParameter if the text does not say so."""
    from tools.crash_linux.linux_guest import parse_mount

    try:
        parse_mount(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return text


def fault_names() -> list[str]:
    """Return the names of the planted faults."""
    from sluice.crash.log_faults import EVERY_FAULT

    return [fault.name for fault in EVERY_FAULT]


OneWorkload = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="Its name, as 00+30, or its operations, as 'creat /n; fsync /n'.",
        callback=options.value_callback(parse_workload),
    ),
]
OneCut = Annotated[
    int | None,
    typer.Option(**options.number("Which cut; without it, the simplest that fails.")),
]
PlantedFault = Annotated[
    str,
    typer.Option(
        metavar="FAULT",
        help="Plant this fault, as flush-lies.",
        **options.completes("fault", fault_names),
    ),
]
Args = Annotated[
    str,
    typer.Option(
        metavar="ARGUMENTS",
        help="Boot arguments, as 'write=async update=aipu drive=cheetah4lp drive_volatile=1'.",
    ),
]
Block = Annotated[
    str, typer.Option(**options.one_word("size", ("1K", "2K", "4K"), "The size of a block."))
]
Order = Annotated[
    str,
    typer.Option(
        **options.one_word(
            "order",
            ORDERS,
            "Names that a cut may leave: those of now (sync), or of any moment since the last "
            "fsync (prefix, as a journal promises).",
        )
    ),
]
Journal = Annotated[
    bool,
    typer.Option("--journal", help="The disks have a journal, for --args order=journal."),
]
Log = Annotated[
    bool,
    typer.Option("--log", help="The disk is of ext3 and its log has to be replayed; blocks of 1K."),
]
Torn = Annotated[
    str,
    typer.Option(
        **options.one_word(
            "write to tear",
            TORN,
            "Which pending write the cut may tear: the newest one, or any. [default: any with "
            "--journal, else newest]",
        ),
        show_default=False,
    ),
]
Prune = Annotated[
    bool,
    typer.Option(
        "--prune",
        help="Leave out orders of writes that an order rule makes equal; each rule is checked.",
    ),
]
Durable = Annotated[
    bool,
    typer.Option("--durable", help="A write that has ended is durable: no volatile cache."),
]


def request_of(
    args: str,
    block: str,
    order: str,
    durable: bool,
    journal: bool,
    torn: str,
    prune: bool,
    **more: Any,
) -> Any:
    """Return the request of a campaign on this machine."""
    from sluice.crash.campaign_run import CampaignRequest
    from sluice.crash.disk_kinds import JOURNAL_SIZES
    from sluice.crash.machine import Setup
    from sluice.crash.oracle import promise_of

    said = f" --args '{args}'" if args else ""
    said += f" --block {block}" if block != "4K" else ""
    said += f" --order {order}" if order != ORDERS[0] else ""
    said += " --durable" if durable else ""
    said += " --log" if more.get("log") else ""
    said += " --journal" if journal else ""
    usual = TORN[journal]
    said += f" --torn {torn}" if torn and torn != usual else ""
    said += " --prune" if prune else ""
    more["prunes"] = prune
    more["tear_older"] = (torn or usual) == "any"
    size = JOURNAL_SIZES[block] if journal else ""
    setup, promise = Setup(args, block=block, journal=size), promise_of(order)
    return CampaignRequest(setup, promise, not durable, options=said, **more)


@verb(CRASH, "sluice crash run --length 1 --seeds 20", GOES_ON)
def run(
    length: Annotated[
        int,
        typer.Option(
            **options.number("All workloads of one operation, or of up to two.", 1, MOST_LENGTH)
        ),
    ] = 1,
    pairs: Annotated[
        int, typer.Option(**options.number("Random workloads of two operations."))
    ] = 0,
    seeds: Annotated[
        int, typer.Option(**options.number("Random workloads of three operations."))
    ] = 0,
    together: Annotated[
        int,
        typer.Option(**options.number("Random workloads of processes that fsync at once.")),
    ] = 0,
    go_on: Annotated[
        str,
        typer.Option(
            "--for",
            **options.time_span("Go on with further random ones for 90s, 10m or 2h."),
        ),
    ] = "",
    args: Args = "",
    block: Block = "4K",
    order: Order = ORDERS[0],
    durable: Durable = False,
    journal: Journal = False,
    torn: Torn = "",
    prune: Prune = False,
    points: Annotated[
        bool,
        typer.Option(
            "--points",
            help="Cut only where fsync, sync or a write with O_SYNC returns, all writes until "
            "then done, as CrashMonkey does.",
        ),
    ] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Put the campaign's row into the book's page.")
    ] = False,
    jobs: options.Jobs = options.JOBS,
    folder: options.NewFolder = None,
) -> int:
    """Try workloads: each is cut after each write and within it, with each choice of what a
    volatile cache had written. Planted faults are tried, too, and must be found."""
    from sluice.crash import campaign_run
    from sluice.crash.crews import WorkerFailed
    from sluice.crash.tried import FOLDER
    from sluice.experiment import commandline

    for_s = options.count_seconds(go_on) if go_on else 0
    where = folder or FOLDER
    counts = {"pairs": pairs, "seeds": seeds, "together": together, "points": points}
    more = {"jobs": jobs, "folder": where, "length": length, "for_s": for_s, "page": page, **counts}
    asked = request_of(args, block, order, durable, journal, torn, prune, **more)
    return commandline.exit_status(lambda: campaign_run.run_campaign(asked), (WorkerFailed,))


def exit_status_of(show: Callable[[], bool]) -> int:
    """Show a cut. Returns the command's exit status."""
    from sluice.crash.disk_events import BadRecording
    from sluice.crash.operations import BadOperation
    from sluice.experiment import commandline

    return commandline.exit_status(show, (BadRecording, BadOperation))


@verb(CRASH, "sluice crash show 'creat /n; rename /f /n' --cut 40")
def show(
    workload: OneWorkload,
    cut: OneCut = None,
    fault: PlantedFault = "",
    args: Args = "",
    block: Block = "4K",
    order: Order = ORDERS[0],
    durable: Durable = False,
    log: Log = False,
    journal: Journal = False,
    torn: Torn = "",
    prune: Prune = False,
    out: options.Out = None,
) -> int:
    """Tell one cut of a workload: its writes in order, where the power goes, what was found, and
    what should be there."""
    from sluice.crash.one_cut import show_cut

    asked = request_of(args, block, order, durable, journal, torn, prune, log=log)
    return exit_status_of(lambda: show_cut(asked, workload, cut, fault, out))


@verb(STAGED, "sluice crash theatre 'creat /n; rename /f /n' --cut 40")
def theatre(
    workload: OneWorkload,
    cut: OneCut = None,
    fault: PlantedFault = "",
    args: Args = "",
    block: Block = "4K",
    order: Order = ORDERS[0],
    durable: Durable = False,
    log: Log = False,
    journal: Journal = False,
    torn: Torn = "",
    prune: Prune = False,
    out: options.Out = None,
) -> int:
    """Write a page that shows one cut of a workload step by step: the operations, the queue in the
    drive's cache, the disk's blocks, and what is lost."""
    from sluice.crash.staged_cut import stage_cut

    asked = request_of(args, block, order, durable, journal, torn, prune, log=log)
    return exit_status_of(lambda: stage_cut(asked, workload, cut, fault, out))


@verb(GDB, "sluice crash debug 'creat /n' --cut 13 --do 'backtrace'")
def debug(
    workload: OneWorkload,
    cut: Annotated[int, typer.Option(**options.number("Which cut."))],
    do: options.GdbCommands = None,
    args: Args = "",
    block: Block = "4K",
    order: Order = ORDERS[0],
    durable: Durable = False,
    log: Log = False,
    journal: Journal = False,
    torn: Torn = "",
    prune: Prune = False,
) -> int:
    """Do a workload again in gdb, and stop where the kernel gives the disk its last command before
    a cut."""
    from sluice.crash.disk_events import BadRecording
    from sluice.crash.one_cut import debug_cut
    from sluice.crash.operations import BadOperation

    commands = None if do is None else [command.strip() for command in do.split(";")]
    asked = request_of(args, block, order, durable, journal, torn, prune, log=log)
    try:
        return debug_cut(asked, workload, cut, commands)
    except (BadRecording, BadOperation) as error:
        print(error, file=sys.stderr)
        return 2


@verb(
    Needs(("run",), ("all", "twin", *GUEST)),
    "sluice crash linux --mount 'ext4 -o data=writeback'",
)
def linux(
    mount: Annotated[
        str,
        typer.Option(
            metavar="MOUNT",
            help="One file system, as 'ext4 -o data=writeback' or 'sluice -o order=none'.",
            show_default="all that the book's table has",
            callback=options.value_callback(parse_mount_option),
        ),
    ] = "",
    workload: Annotated[
        str,
        typer.Option(
            metavar="WORKLOAD",
            help="One workload, told: its name, or its operations, as 'append /f 6000 1'.",
            callback=options.value_callback(parse_workload),
            show_default="all of one operation, and some that programs do",
        ),
    ] = "",
    seeds: Annotated[
        int, typer.Option(**options.number("Random workloads of three operations."))
    ] = 0,
    cuts: Annotated[
        int,
        typer.Option(**options.number("Cuts of a workload, drawn at random; 0: all.")),
    ] = 200,
    page: Annotated[
        bool, typer.Option("--page", help="Put the rows into the book's page.")
    ] = False,
    jobs: options.Jobs = options.JOBS,
) -> int:
    """Cut the power of Linux's file systems, in a guest that is fetched, and of ours. What each cut
    shows is counted by kinds, and compared with what is known of each."""
    from tools.crash_linux.command import Request, choose_workloads, run_comparison
    from tools.crash_linux.linux_guest import parse_mount

    mounts = (parse_mount(mount),) if mount else ()
    return run_comparison(Request(mounts, choose_workloads(workload, seeds), cuts, jobs, page))


def source_fault_names() -> list[str]:
    """Return the names of the faults that are planted into sources."""
    from sluice.crash.source_faults import load_faults

    return [fault.name for fault in load_faults()]


@verb(CRASH, "sluice crash try")
def try_(
    go_on: Annotated[
        str,
        typer.Option(
            "--for",
            **options.time_span("Look for a loss so long: 90s, 10m or 2h."),
        ),
    ] = "45s",
    jobs: options.Jobs = options.JOBS,
) -> int:
    """Try what you have changed in the sources: end at the first loss, and tell its shortest story.
    The workloads that have found most planted faults come first."""
    from sluice.crash.crews import WorkerFailed
    from sluice.crash.try_run import run_attempts
    from sluice.experiment import commandline

    seconds = options.count_seconds(go_on)
    return commandline.exit_status(lambda: run_attempts(seconds, jobs), (WorkerFailed,))


def check_sources(values: dict[str, Any]) -> None:
    """Raise BadParameter for options that do not go together."""
    if values["rules"] and (values["fault"] or values["story"]):
        raise typer.BadParameter("--rules counts all faults: leave FAULT and --story out")
    if values["page"] and not values["rules"]:
        raise typer.BadParameter("--page puts the table of --rules into the book: add --rules")


@verb(CRASH, "sluice crash sources old-name-first --story", check=check_sources)
def sources(
    fault: Annotated[
        str,
        typer.Argument(
            metavar="[FAULT]",
            help="One of them, by name; without it, all.",
            **options.completes("fault", source_fault_names),
        ),
    ] = "",
    story: Annotated[
        bool, typer.Option("--story", help="Judge all cuts, and tell the simplest that loses.")
    ] = False,
    rules: Annotated[
        bool,
        typer.Option(
            "--rules",
            help="Judge nothing: count the faults that break an order rule, also of those that "
            "are planted into writes.",
        ),
    ] = False,
    page: Annotated[
        bool, typer.Option("--page", help="With --rules: put the table into the book's page.")
    ] = False,
    jobs: options.Jobs = options.JOBS,
) -> int:
    """Plant each fault of the catalogue into the sources, build the twin with it, and judge that:
    all must be found."""
    from sluice.crash.crews import WorkerFailed
    from sluice.crash.rule_count import run_count
    from sluice.crash.source_faults import BadFault, find_fault, load_faults
    from sluice.crash.source_run import run_faults
    from sluice.experiment import commandline

    errors = (WorkerFailed, BadFault)
    if rules:
        return commandline.exit_status(lambda: run_count(load_faults(), jobs, page), errors)
    return commandline.exit_status(
        lambda: run_faults([find_fault(fault)] if fault else load_faults(), jobs, story), errors
    )


@verb(CRASH, "sluice crash inject --flips 100")
def inject(
    flips: Annotated[
        int,
        typer.Option(**options.number("Random bits that rot in each structure; 0: all bits.")),
    ] = 24,
) -> int:
    """Let commands of the disk fail, flushes lie, the disk vanish, and bits rot in each structure.
    Print how each fault ended, and which ends must not be."""
    from sluice.crash.inject import run_injection
    from sluice.experiment import commandline

    return commandline.exit_status(lambda: run_injection(flips))


@verb(Needs(("run",), ("all", "twin", *DRIVES)), "sluice crash recovery")
def recovery() -> int:
    """Say how long a mount takes after a power cut, in virtual time, by how much is in the
    journal's log."""
    from sluice.crash.recovery_times import run_recovery
    from sluice.experiment import commandline

    return commandline.exit_status(run_recovery)
