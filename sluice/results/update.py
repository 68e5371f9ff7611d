"""Make experiments in full size, store their results, and put them into the documents.

update_documents and print_findings make no runs. The first puts the stored results into the
documents. The second prints how many findings of each paper the stored results confirm.
"""

from dataclasses import replace
from functools import cache

from sluice.experiment import findings, result
from sluice.experiment.files import FOLDER, write_atomically
from sluice.experiment.result import BadResult
from sluice.experiment.schema import Experiment
from sluice.experiment.verdict import NOT_SO
from sluice.host.printing import print_filled
from sluice.report.session import Request, make_experiments, write_reports
from sluice.results import documents, frontier, frontpage, roles, store
from sluice.results.documents import Source


def quoted_metrics() -> dict[str, list[Source]]:
    """Return the sources that documents quote, by experiment."""
    found: dict[str, list[Source]] = {}
    for path in documents.result_documents():
        sources = [figure.source for figure in documents.marked_figures(path)]
        for source in [*sources, *roles.requested_sources(path)]:
            found.setdefault(source.get("from", ""), []).append(source)
    return found


def page_sources(experiment: Experiment) -> list[Source]:
    """Return the sources that the experiment's page quotes: those for which the paper has a
    figure."""
    return [
        {"arm": arm, "metric": row["metric"], "is": row["whose"]}
        | {name: str(said) for name, said in where.items()}
        for row in experiment.published
        for arm, where in (
            (row["arm"], row["where"]),
            (row["than"], {**row["where"], **row["than_where"]}),
        )
        if arm
    ]


def store_results(experiments: list[Experiment]) -> None:
    """Store the results of all these experiments, or of none if one is incomplete.

    Their full form goes into build/results.
    """
    sources = quoted_metrics()
    kept, drawn = [], {}
    for experiment in experiments:
        results = result.read(FOLDER / experiment.name / "results.jsonl")
        here = [*sources.get(experiment.name, []), *page_sources(experiment)]
        names = {source["metric"] for source in here}
        kept.append(store.shorten_results(experiment, results, names))
        if experiment.name == frontpage.EXPERIMENT:
            drawn = frontpage.pick_data(results)
    for experiment, one in zip(experiments, kept, strict=True):
        store.write_full(one)
        here = [*sources.get(experiment.name, []), *page_sources(experiment)]
        print(f"stored: {store.write_stored(store.pare(one, here))}")
    if drawn:
        print(f"drawn: {frontpage.write_front_page(drawn)}")


def update_documents(names: set[str]) -> None:
    """Put the stored results of these experiments into the documents: into all, or none."""
    read = cache(store.read_stored)
    new = {
        path: documents.update_figures(path, read, names) for path in documents.result_documents()
    }
    changed = {path: text for path, (text, said) in new.items() if said}
    for path, text in changed.items():
        write_atomically(path, text)
        print("\n".join(new[path][1]))
    if frontier.EXPERIMENT in names and frontier.update_frontier(
        read(frontier.EXPERIMENT), frontier.PICTURE
    ):
        print(f"drawn: {frontier.PICTURE}")
    elif not changed:
        print("the documents agree with the stored results: nothing was changed")
    for name in sorted(names & quoted_metrics().keys()):
        if not store.is_current(read(name)):
            print(f"{name}: the stored results are of another kernel, at {read(name)['commit']}")


def print_findings(experiments: list[Experiment]) -> bool:
    """Print how many findings of each paper the stored results of these experiments confirm, and
    which experiments lack results. Returns true if no expectation failed without a known cause."""
    found, stored, lacking, before = [], [], [], []
    for experiment in experiments:
        try:
            kept = store.read_stored(experiment.name)
            found += store.stored_findings(kept)
        except BadResult:
            lacking.append(experiment.name)
            continue
        stored.append(kept)
        if not store.is_judged(kept, experiment):
            before.append(experiment.name)
    print("\n".join(findings.format_findings(found) or ["no findings are stored of any"]))
    other = [kept["experiment"] for kept in stored if not store.is_current(kept)]
    for what, of in (
        ("lacking: sluice results store", lacking),
        ("results are of another kernel", other),
        ("judged by other expectations than today's: sluice results store", before),
    ):
        if of:
            print_filled([f"{what}: {', '.join(of)}"])
    failed = [
        f"{kept['experiment']}: {one['says']}"
        for kept in stored
        for one in kept["verdicts"]
        if one["word"] == NOT_SO
    ]
    print("\n".join([f"{NOT_SO}  {line}" for line in failed] or ["nothing stored is NOT SO"]))
    return not failed


def measure(experiments: list[Experiment], request: Request) -> bool:
    """Make the runs, store their results, put them into the documents and write the reports: last,
    so that a report that cannot be drawn costs no result. Returns true if no run failed and all
    expectations were met."""
    good = make_experiments(experiments, replace(request, with_report=False))
    store_results(experiments)
    update_documents({experiment.name for experiment in experiments})
    if request.with_report:
        write_reports(experiments, request.folder)
    return good
