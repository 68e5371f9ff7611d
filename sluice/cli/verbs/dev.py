"""sluice bench, and sluice dev: for those who work on Sluice itself."""

from typing import Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import DEBUG_KERNEL, DRIVES, LESS, NONE, WHOLE, Needs, verb
from sluice.host.paths import ROOT

GUEST = tuple(f"build/guest/{name}" for name in ("init", "bench", "cat", "pages", "true"))
TWIN, MACHINE = "twin", "machine"
Seed = Annotated[int, typer.Option(metavar="NUMBER", min=0, help="The seed, or the first one.")]


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
def costs() -> int:
    """Count in the machine what computing takes, and write it to kernel/measure/costs.h."""
    from sluice.experiment import costs as table

    return table.measure()


@verb(Needs(("measure",)), "sluice dev measure-build", "nothing was written")
def measure_build() -> int:
    """Compile this kernel on the host under strace, and write what that does with files to
    user/load/kbuild/measured.c."""
    from tools.trace_build import command

    return command.write_measured()


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
