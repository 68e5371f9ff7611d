"""`make results`: make experiments in full size, store the results, put them into documents.

E= names an experiment, or the beginning of several names; without it, all experiments are made that
a document quotes. JOBS= is the number of runs at a time, SCHEDULER= the address of a Dask cluster.
Runs that have been made already are not made again. `make results-tables` makes no runs: it puts
the stored results into the documents. `make findings` makes none, either: it prints how many
findings of each paper the stored results confirm. `make results-check` makes the shortest run of
each arm again: if all are as they were, to the byte, the stored results are this kernel's too. It
changes no file of results; `make results-same` does the same, and notes there what it found.
"""

import argparse
import sys
from functools import cache

from sluice.cli.experiment import do
from sluice.experiment import commandline, findings, result
from sluice.experiment.files import FOLDER, write_whole
from sluice.experiment.load import FULL
from sluice.experiment.result import BadResult
from sluice.experiment.schema import Experiment
from sluice.experiment.selection import ALL, chosen, named
from sluice.experiment.verdict import NOT_SO
from sluice.host.interrupt import stoppable
from sluice.results import documents, frontpage, recheck, roles, store


def quoted() -> dict[str, set[str]]:
    """The metrics that documents quote, by experiment."""
    found: dict[str, set[str]] = {}
    for path in documents.documents():
        sources = [figure.source for figure in documents.figures(path)]
        for source in [*sources, *roles.asked(path)]:
            found.setdefault(source.get("from", ""), set()).add(source.get("metric"))
    return found


def keep(experiments: list[Experiment]) -> None:
    """Store the results of all these experiments, or, if those of one are incomplete, of none."""
    metrics = quoted()
    kept, drawn = [], {}
    for experiment in experiments:
        results = result.read(FOLDER / experiment.name / "results.jsonl")
        kept.append(store.digest(experiment, results, metrics.get(experiment.name, ())))
        if experiment.name == frontpage.EXPERIMENT:
            drawn = frontpage.pick(results)
    for one in kept:
        print(f"stored: {store.write(one)}")
    if drawn:
        print(f"drawn: {frontpage.write(drawn)}")


def put_in(names: set[str]) -> None:
    """Put the stored results of these experiments into the documents: into all, or none."""
    read = cache(store.read)
    new = {path: documents.put_in(path, read, names) for path in documents.documents()}
    changed = {path: text for path, (text, said) in new.items() if said}
    for path, text in changed.items():
        write_whole(path, text)
        print("\n".join(new[path][1]))
    if not changed:
        print("the documents agree with the stored results: nothing was changed")
    for name in sorted(names & quoted().keys()):
        if not store.of_this_kernel(read(name)):
            print(f"{name}: the stored results are of another kernel, at {read(name)['commit']}")


def show_findings(experiments: list[Experiment]) -> bool:
    """Print how many findings of each paper the stored results of these experiments confirm, and
    which experiments lack results. Returns true if no expectation failed without a known cause."""
    found, stored, lacking, before = [], [], [], []
    for experiment in experiments:
        try:
            kept = store.read(experiment.name)
            found += store.found(kept)
        except BadResult:
            lacking.append(experiment.name)
            continue
        stored.append(kept)
        if not store.judges(kept, experiment):
            before.append(experiment.name)
    print("\n".join(findings.table(found) or ["no findings are stored of any"]))
    other = [kept["experiment"] for kept in stored if not store.of_this_kernel(kept)]
    for what, of in (
        ("lacking: make results E=", lacking),
        ("results are of another kernel", other),
        ("judged by other expectations than today's: make results E=", before),
    ):
        if of:
            print(f"{what}: {', '.join(of)}")
    failed = [
        f"{kept['experiment']}: {one['says']}"
        for kept in stored
        for one in kept["verdicts"]
        if one["word"] == NOT_SO
    ]
    print("\n".join([f"{NOT_SO}  {line}" for line in failed] or ["nothing stored is NOT SO"]))
    return not failed


def run(experiments: list[Experiment], choice: argparse.Namespace) -> bool:
    """Make the runs, store their results and put them into the documents. Returns true if no run
    failed and all expectations were met."""
    good = do(experiments, choice)
    keep(experiments)
    put_in({experiment.name for experiment in experiments})
    return good


def do_asked(choice: argparse.Namespace) -> bool:
    """Show findings, fill tables, or measure, as asked. Returns true if all went well."""
    if choice.findings:
        return show_findings(chosen(choice.name or ALL, FULL))
    if choice.check or choice.same:
        asked = chosen(choice.name or ALL, FULL)
        return recheck.check(asked, choice.jobs, choice.scheduler, choice.same)
    names = [choice.name] if choice.name else sorted(quoted())
    if choice.tables:
        put_in({path.stem for name in names for path in named(name)})
        return True
    return run([one for name in names for one in chosen(name, FULL)], choice)


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make results", description=__doc__)
    options.add_argument("name", nargs="?", help="an experiment, or the beginning of several names")
    commandline.add_workers(options)
    options.add_argument("--tables", action="store_true", help="make no runs")
    options.add_argument("--findings", action="store_true", help="count stored findings")
    options.add_argument("--check", action="store_true", help="make samples again, and compare")
    options.add_argument("--same", action="store_true", help="check, and note what is the same")
    choice = options.parse_args()
    choice.run, choice.no_report, choice.folder = None, False, FOLDER
    return commandline.status(lambda: do_asked(choice))


if __name__ == "__main__":
    sys.exit(stoppable(main, "what is printed above as stored or changed is written"))
