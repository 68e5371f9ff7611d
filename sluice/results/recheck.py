"""Are stored results this kernel's too?

A change of the kernel that no experiment reaches, such as a further policy, leaves all runs as they
were, to the byte. So a few runs show whether the rest has to be made again: the shortest of each
arm (store.samples). `check` says so; with `keep` it is noted in the stored results, so that nobody
has to ask again.
"""

from sluice.experiment import runner
from sluice.experiment.catalogue import kernel_hash
from sluice.experiment.files import FOLDER
from sluice.experiment.progress import reporting
from sluice.experiment.result import BadResult
from sluice.experiment.runner import Outcome
from sluice.experiment.schema import Experiment, Run
from sluice.results import store

SAMPLES = FOLDER / "samples"  # apart from results of whole experiments, of which these are a few


def label(row: dict) -> tuple[str, str]:
    """What tells a run from the others of its experiment."""
    return row["arm"], str(row["variables"])


def sampled(experiment: Experiment, kept: dict) -> list[Run]:
    """The runs that the marks are of. Raises BadResult if the experiment has one of them no more,
    or if there are no marks."""
    name = experiment.name
    if not kept.get("samples"):
        raise BadResult(f"{name}: stored without marks: make results E={name}")
    runs = {(run.arm, str(run.variables)): run for run in experiment.runs}
    try:
        return [runs[label(row)] for row in kept["samples"]]
    except KeyError:
        why = "has other runs than its results"
        raise BadResult(f"{name}: {why}: make results E={name}") from None


def differing(kept: dict, outcome: Outcome) -> list[str]:
    """The arms whose run is another now, or failed."""
    marks = {label(result): store.mark(result) for result in outcome.results}
    return [row["arm"] for row in kept["samples"] if marks.get(label(row)) != row["mark"]]


def check(experiments: list[Experiment], jobs: int, scheduler: str, keep: bool = False) -> bool:
    """Make the samples of the experiments that have stored results of other kernels. keep: note in
    the stored results that they are this kernel's too, where they are as they were; else no stored
    file changes. Returns true if all are, and no run failed."""
    asked, kept, good = [], [], True
    for experiment in experiments:
        try:
            stored = store.read(experiment.name)
            if not store.of_this_kernel(stored):
                asked.append((experiment, sampled(experiment, stored)))
                kept.append(stored)
        except BadResult as error:
            print(error)
            good = False
    with reporting("samples", sum(len(only) for _, only in asked)) as report:
        outcomes = runner.execute_all(asked, jobs, report, SAMPLES, scheduler)
        for stored, outcome in zip(kept, outcomes, strict=True):
            name, others = stored["experiment"], differing(stored, outcome)
            if others:
                print(f"{name}: not as it was: {', '.join(others)}: make results E={name}")
                good = False
                continue
            if keep:
                store.write(stored | {"same": kernel_hash()})
            print(f"{name}: the stored results are this kernel's too")
    return good
