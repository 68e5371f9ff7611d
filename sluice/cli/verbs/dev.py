"""sluice bench, and sluice dev: for those who work on Sluice itself."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import DEBUG_KERNEL, DRIVES, LESS, NONE, WHOLE, Needs, verb
from sluice.host.paths import ROOT

GUEST = tuple(f"build/guest/{name}" for name in ("init", "bench", "cat", "pages", "true"))
TWIN, MACHINE = "twin", "machine"
Seed = Annotated[int, typer.Option(**options.number("The seed, or the first one."))]


def needs_of_bench(values: dict[str, Any]) -> Needs:
    """Return what is needed to measure, alone or beside Linux."""
    if values["linux"] or values["linux_policies"]:
        return Needs(("run",), ("all", *GUEST, *DRIVES, "twin"), LESS)
    return Needs(("run",))


@verb(needs_of_bench, "sluice bench --linux --rounds 3", "tables that are not printed are lost")
def bench(
    linux: Annotated[
        bool, typer.Option("--linux", help="Beside a Linux 6.12 guest, which is fetched.")
    ] = False,
    linux_policies: Annotated[
        bool,
        typer.Option("--linux-policies", help="Only when the guest reads ahead and writes."),
    ] = False,
    rounds: Annotated[
        int, typer.Option(**options.count_of("How often each line is measured."))
    ] = 5,
) -> int:
    """Measure speeds, as tables, build/bench.json and build/targets.json."""
    if linux_policies:
        from tools.bench import as_linux

        return as_linux.compare_policies()
    if linux:
        from tools.bench import against_linux

        return against_linux.compare_systems(rounds)
    from tools.bench import command

    return command.run_benchmarks(rounds)


@verb(
    Needs(("test",), ("all", "native", "twin"), NONE, system_path=True),
    "sluice dev mutants --count 2 --files 'policies/sched/*.c'",
)
def mutants(
    count: Annotated[int, typer.Option(**options.count_of("How many changes are tried."))] = 100,
    seed: Seed = 1,
    files: Annotated[
        str, typer.Option(metavar="PATTERNS", help="Sources, as 'policies/sched/*.c'.")
    ] = "",
    mutant: Annotated[
        str, typer.Option(metavar="CHANGE", help="One change, by the name that was printed.")
    ] = "",
    jobs: options.Jobs = options.JOBS,
) -> int:
    """Change the sources at random and count what the tests notice."""
    from tools.mutants import command

    return command.run_campaign(count, seed, files, mutant, jobs)


def needs_of_exercise(values: dict[str, Any]) -> Needs:
    """Return what the runs need: the debug kernel is in no snapshot."""
    live = values["engine"] == MACHINE
    needs = Needs(("run",), ("all", *DRIVES), NONE if live else WHOLE)
    return needs.adding(DEBUG_KERNEL if live else TWIN)


@verb(needs_of_exercise, "sluice dev exercise --count 10", "the other seeds were not tried")
def exercise(
    count: Annotated[int, typer.Option(**options.count_of("How many seeds."))] = 100,
    seed: Seed = 1,
    engine: options.Engine = TWIN,
    jobs: options.Jobs = options.JOBS,
) -> int:
    """Change files at random under drawn policies, tunables, drives and disks, and compare them
    with a model."""
    from sluice.experiment import commandline
    from sluice.host.fault import HostFault
    from tools.exercise import command

    seeds = range(seed, seed + count)
    return commandline.exit_status(
        lambda: command.run_exercise(seeds, engine == MACHINE, jobs), (HostFault,)
    )


SEARCH = "build/search/search"


@verb(
    Needs(("build",), (SEARCH,), NONE),
    "sluice dev search --args update=aipu --for 60s 'D0 D1 F' 'R2 W0'",
    "what was covered is lost",
)
def search(
    programs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROGRAM]...",
            help="One to three processes, each its operations, as 'D0 F': R3 reads block 3; D3, "
            "A3, W3, M3 change it (delayed, asynchronous, synchronous, as the write policy says); "
            "g3 takes it and r3, d3, a3, w3, m3 let it go; J3 pins it, K unpins all; F flushes "
            "all, O1 owner 1; X3 drops it, L34 prefetches; T5 sleeps 5 s; use:KIND:NAME swaps a "
            "policy.",
            show_default="'D0 D1 F' 'R2 W0'",
        ),
    ] = None,
    args: Annotated[
        str, typer.Option(metavar="ARGUMENTS", help="Boot arguments, as 'update=aipu write=async'.")
    ] = "",
    buffers: Annotated[int, typer.Option(**options.number("Of the cache.", 2, 16))] = 4,
    blocks: Annotated[int, typer.Option(**options.number("Of the disk.", 1, 10))] = 4,
    depth: Annotated[
        int, typer.Option(**options.number("Commands that the disk has at once.", 1, 4))
    ] = 2,
    harts: Annotated[
        int, typer.Option(**options.number("Processes in the kernel at once, with --pauses.", 1, 8))
    ] = 2,
    pauses: Annotated[
        int,
        typer.Option(**options.number("How often one is paused where it releases locks.", 0, 9)),
    ] = 0,
    failures: Annotated[
        int, typer.Option(**options.number("How many commands of the disk may fail.", 0, 9))
    ] = 0,
    shortages: Annotated[
        int, typer.Option(**options.number("How many requests for memory may get none.", 0, 9))
    ] = 0,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Writes gather in the queue while the disk is busy, as in real time."
        ),
    ] = False,
    go_on: Annotated[
        str,
        typer.Option(
            "--for",
            **options.time_span("Search so long at most: 90s, 10m or 2h."),
            show_default="until all states are visited",
        ),
    ] = "",
    missed: Annotated[
        bool, typer.Option("--missed", help="List the lines that were not reached.")
    ] = False,
    replay: Annotated[
        str, typer.Option(metavar="PATH", help="Tell this path's steps, as r1,e0, and end.")
    ] = "",
    mutants: Annotated[
        bool,
        typer.Option("--mutants", help="Plant faults by rule instead, and see which are found."),
    ] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Put the figures into the book's page.")
    ] = False,
    jobs: options.Jobs = options.JOBS,
) -> int:
    """Visit every state of a small cache, its queue and its policies: whichever process runs next,
    whichever command of the disk ends. Tell the shortest path to one in which something is
    wrong."""
    from tools.search import command
    from tools.search.searcher import Configuration

    chosen = Configuration(
        tuple(programs or command.PROGRAMS),
        args=args,
        buffers=buffers,
        blocks=blocks,
        depth=depth,
        harts=harts,
        pauses=pauses,
        failures=failures,
        shortages=shortages,
        live=live,
        for_ms=options.count_seconds(go_on) * 1000 if go_on else 0,
    )
    return command.run_request(command.Request(chosen, replay, missed, mutants, page, jobs))


@verb(
    Needs(("run",), (), NONE),
    "sluice dev prove update sched/fcfs",
    "what was decided is kept, and the same command goes on from there",
)
def prove(
    policies: Annotated[
        list[str] | None,
        typer.Argument(metavar="[POLICY]...", help="KIND/NAME, NAME or KIND; without any, all."),
    ] = None,
    limit: Annotated[
        int, typer.Option(**options.count_of("Processor seconds for each policy."))
    ] = 60,
    mutants: Annotated[
        int,
        typer.Option(
            **options.number(
                "Plant so many faults in each policy instead, and count those that are found."
            )
        ),
    ] = 0,
    seed: Seed = 1,
    page: Annotated[
        bool, typer.Option("--page", help="Put the figures into the book's page.")
    ] = False,
    jobs: options.Jobs = options.JOBS,
) -> int:
    """Prove of each policy, for some steps, that its answers are legal, that no block grows older
    and no request waits longer than it promises, and that it uses no wrong pointer. CBMC 6.6 must
    be there: tools/fetch_cbmc.sh build/cbmc."""
    from sluice.experiment import commandline
    from sluice.host.fault import HostFault
    from tools.prove import command

    request = command.Request(policies or [], limit, jobs, mutants, seed, page)
    return commandline.exit_status(
        lambda: not command.run_request(request),
        (HostFault, command.NoPolicy),
    )


FUZZED = ("arguments", "calls", "images", "traces", "archives", "toml")


def needs_of_fuzz(values: dict[str, Any]) -> Needs:
    """Return what a target of fuzz needs. Files that `make` may rebuild meanwhile are copied
    first."""
    of_images = Needs(("test",), ("build/native/ext2_tool",), LESS, system_path=True)
    of_toml = Needs(("run",), ("all", *DRIVES), WHOLE)
    of_arguments = Needs(("run",), ("all",), LESS)
    known = {
        "arguments": of_arguments,
        "calls": of_toml.adding(TWIN),
        "images": of_images,
        "toml": of_toml,
    }
    return known.get(values["what"], Needs(("run",), (), NONE))


@verb(
    needs_of_fuzz,
    "sluice dev fuzz images --for 10m --seed 7",
    "failing inputs are in build/fuzz, and the same command goes on from there",
)
def fuzz(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="What to try: system calls with any arguments (arguments), those of programs, "
            "compared with a model (calls), damaged disks (images), traces, "
            "archives that are handed in, or experiments (toml).",
            **options.completes("target", lambda: FUZZED),
        ),
    ],
    go_on: Annotated[
        str,
        typer.Option(
            "--for",
            **options.time_span("How long: 90s, 10m or 2h."),
        ),
    ] = "60s",
    seed: Seed = 1,
    number: Annotated[
        int | None,
        typer.Option("--input", **options.number("Try this input of the seed only.")),
    ] = None,
) -> int:
    """Try random inputs until the time is over. A failure is told with the command that repeats it,
    and the input is kept."""
    from tools.fuzz import command

    seconds = options.count_seconds(go_on)
    return command.run(command.Request(what, seconds, seed, number))


def check_fresh(values: dict[str, Any]) -> None:
    """Raise BadParameter if both are asked for."""
    if values["full"] and values["newest"]:
        raise typer.BadParameter("give either --full or --newest")


@verb(
    Needs(("fresh",), (), NONE),
    "sluice dev fresh",
    "the systems' copies are removed; logs are in build/fresh",
    check_fresh,
)
def fresh(
    full: Annotated[bool, typer.Option("--full", help="The book and all tests, too.")] = False,
    newest: Annotated[
        bool, typer.Option("--newest", help="A build by the compilers of Debian sid instead.")
    ] = False,
) -> int:
    """Try the commands of README on bare systems of Debian 12 and 13, as root."""
    from tools.fresh import command

    return command.try_systems(full, newest)


@verb(Needs(("run",), ("all", "twin"), NONE), "sluice dev costs", "the table is as it was")
def costs(
    network: Annotated[
        bool, typer.Option("--network", help="Of the network alone: network_costs.h.")
    ] = False,
) -> int:
    """Count in the machine what computing takes, and write it to kernel/measure/costs.h."""
    from sluice.experiment import costs as table
    from sluice.experiment import network_costs

    return network_costs.measure() if network else table.measure()


@verb(Needs(("measure",)), "sluice dev measure-build", "nothing was written")
def measure_build() -> int:
    """Compile this kernel on the host under strace, and write what that does with files to
    user/load/kbuild/measured.c."""
    from tools.trace_build import command

    return command.write_measured()


@verb(
    Needs(("sweep",), ("build/blocks/curve", "build/plain/replace_hits_tool"), NONE),
    "sluice dev judges a.csv.gz",
    "the same command begins anew",
)
def judges(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE...",
            help="Traces, packed or not.",
            callback=options.value_callback(lambda paths: [options.existing(p) for p in paths]),
        ),
    ],
    sizes: Annotated[
        str,
        typer.Option(
            metavar="PERCENTS", help="Sizes of the caches, in percent of the blocks in use."
        ),
    ] = "2, 5, 10, 25, 50",
) -> int:
    """Compare the hits of replacement policies with libCacheSim's and with those of Caffeine's
    simulator, which are fetched."""
    from sluice.experiment import commandline
    from sluice.sweep.block_replay import parse_sizes
    from sluice.sweep.ranges import BadSweep
    from sluice.trace.errors import BadTraceFile
    from tools.judges import caffeine, command

    return commandline.exit_status(
        lambda: command.compare_judges(traces, parse_sizes(sizes)),
        (BadTraceFile, BadSweep, caffeine.JudgeMissing),
    )


def searches() -> list[str]:
    """Return the names of the searches in experiments/tune."""
    return sorted(path.stem for path in (ROOT / "experiments" / "tune").glob("*.toml"))


@verb(
    Needs(("sweep",), ("all", "twin")),
    "sluice dev tune sluice",
    "the same command goes on from there",
)
def tune(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SEARCH",
            help="A file of experiments/tune, without its ending.",
            **options.completes("search", searches),
        ),
    ],
    judge: Annotated[
        bool, typer.Option("--judge", help="Judge the result by loads that were held back.")
    ] = False,
    jobs: options.Jobs = options.JOBS,
) -> int:
    """Search a policy's tunables over many loads, drives and seeds."""
    from sluice.experiment import commandline
    from sluice.sweep import search_report

    return commandline.exit_status(lambda: search_report.search_and_store(name, judge, jobs))
