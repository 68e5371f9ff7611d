"""sluice papers, results: the results that documents quote, and what they say of the papers."""

from sluice.cli import options
from sluice.cli.verb import DRIVES, RUNS, Needs, verb

REPORT = Needs(("report",), ("all", *DRIVES), RUNS)
KEPT = "what is printed above as stored or changed is written"


def recheck(name: str, jobs: int, scheduler: str, note: bool) -> int:
    """Make the shortest runs again and compare them. note: what is the same is noted in results/.
    Returns the exit status."""
    from sluice.experiment import commandline
    from sluice.experiment.load import FULL
    from sluice.experiment.selection import load_experiments
    from sluice.results.recheck import recheck_results

    return commandline.exit_status(
        lambda: recheck_results(load_experiments(name or options.ALL, FULL), jobs, scheduler, note)
    )


@verb(REPORT, "sluice papers mogul")
def papers(name: options.ExperimentsName = "") -> int:
    """Print how many distinct findings of each paper the stored full results confirm, and in how
    many places."""
    from sluice.experiment import commandline
    from sluice.experiment.load import FULL
    from sluice.experiment.selection import load_experiments
    from sluice.results.update import print_findings

    return commandline.exit_status(
        lambda: print_findings(load_experiments(name or options.ALL, FULL))
    )


@verb(REPORT.adding("twin"), "sluice results store mogul-4.1-fast", KEPT)
def store(
    name: options.ExperimentsName = "",
    jobs: options.Jobs = options.JOBS,
    scheduler: options.Scheduler = "",
) -> int:
    """Make experiments in full size, store their results in results/ and put them into the
    documents. Without a name: all that a document quotes."""
    from sluice.experiment import commandline
    from sluice.experiment.load import FULL
    from sluice.experiment.selection import AUTO, choose_engine, load_experiments
    from sluice.report.session import Request
    from sluice.results import update

    def measure_asked() -> bool:
        """Measure the named experiment in full, or all that documents quote."""
        names = [name] if name else sorted(update.quoted_metrics())
        loaded = [one for word in names for one in load_experiments(word, FULL)]
        asked = [choose_engine(one, AUTO) for one in loaded]
        return update.measure(asked, Request(jobs=jobs, scheduler=scheduler))

    return commandline.exit_status(measure_asked)


@verb(REPORT, "sluice results check own-oracle", "no stored result was changed")
def check(
    name: options.ExperimentsName = "",
    jobs: options.Jobs = options.JOBS,
    scheduler: options.Scheduler = "",
) -> int:
    """Make the shortest run of each arm again, in the machine, and say whether the stored results
    are this kernel's too, to the byte. No stored result changes."""
    return recheck(name, jobs, scheduler, note=False)


@verb(REPORT, "sluice results same own-oracle", KEPT)
def same(
    name: options.ExperimentsName = "",
    jobs: options.Jobs = options.JOBS,
    scheduler: options.Scheduler = "",
) -> int:
    """Check the results that another kernel has made, as `check` does, and note in results/ which
    of them are this kernel's too."""
    return recheck(name, jobs, scheduler, note=True)


@verb(REPORT, "sluice results tables mogul-4.1-fast", KEPT)
def tables(name: options.ExperimentsName = "") -> int:
    """Put the stored results into the documents. No run is made."""
    from sluice.experiment import commandline
    from sluice.experiment.selection import find_experiment_files
    from sluice.results import update

    def update_asked() -> bool:
        """Put the stored results of the named experiment, or of all, into the documents."""
        words = [name] if name else sorted(update.quoted_metrics())
        names = {path.stem for word in words for path in find_experiment_files(word)}
        update.update_documents(names)
        return True

    return commandline.exit_status(update_asked)
