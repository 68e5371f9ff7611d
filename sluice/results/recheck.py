"""Check whether this kernel would give the stored results, too.

A change of the kernel that no experiment reaches, such as a new policy, does not change a byte of
any run. So a few runs show whether the others must be made again: the shortest run of each arm
(store.sample_runs). recheck_results() prints the answer; with `keep` it also writes the answer into
the stored results.

The machine makes these runs. Results in charged time are stored by the twin, so a check of results
that were just stored compares the two.
"""

from sluice.experiment import runner
from sluice.experiment.catalogue import kernel_hash
from sluice.experiment.files import FOLDER
from sluice.experiment.progress import show_steps
from sluice.experiment.records import RunResult
from sluice.experiment.result import BadResult
from sluice.experiment.runner import Outcome
from sluice.experiment.schema import Experiment, Run
from sluice.results import store
from sluice.results.stored_records import Sample, StoredResults

SAMPLES = FOLDER / "samples"  # results of sampled runs, separate from those of whole experiments


def run_label(row: RunResult | Sample) -> tuple[str, str]:
    """Return the arm and the variables of a run, which distinguish it from others of its
    experiment."""
    return row["arm"], str(row["variables"])


def sampled_runs(experiment: Experiment, kept: StoredResults) -> list[Run]:
    """Return the runs whose marks are stored.

    Raises BadResult if the experiment lacks one of these runs, or if no marks are stored.
    """
    name = experiment.name
    if not kept.get("samples"):
        raise BadResult(f"{name}: stored without marks: sluice results store {name}")
    runs = {(run.arm, str(run.variables)): run for run in experiment.runs}
    try:
        return [runs[run_label(row)] for row in kept["samples"]]
    except KeyError:
        why = "its runs are not those of its stored results"
        raise BadResult(f"{name}: {why}: sluice results store {name}") from None


def differing_arms(kept: StoredResults, outcome: Outcome) -> list[str]:
    """Return the arms whose sampled run now has another mark, or failed."""
    marks = {run_label(result): store.result_hash(result) for result in outcome.results}
    return [row["arm"] for row in kept["samples"] if marks.get(run_label(row)) != row["mark"]]


def recheck_results(
    experiments: list[Experiment], jobs: int, scheduler: str, keep: bool = False
) -> bool:
    """Make the sampled runs of the experiments again, in the machine.

    Returns true if all marks are equal and no run failed. keep: check only stored results of other
    kernels, and note in each that is equal that this kernel gives the same results. Without `keep`
    no stored file changes.
    """
    asked: list[tuple[Experiment, list[Run]]] = []
    kept: list[StoredResults] = []
    good = True
    for experiment in experiments:
        try:
            stored = store.read_stored(experiment.name)
            if not (keep and store.is_current(stored)):
                asked.append((experiment, sampled_runs(experiment, stored)))
                kept.append(stored)
        except BadResult as error:
            print(error)
            good = False
    with show_steps("samples", sum(len(only) for _, only in asked)) as report:
        outcomes = runner.execute_all(asked, jobs, report, SAMPLES, scheduler)
        for stored, outcome in zip(kept, outcomes, strict=True):
            name, others = stored["experiment"], differing_arms(stored, outcome)
            if others:
                print(f"{name}: not as it was: {', '.join(others)}: sluice results store {name}")
                good = False
                continue
            if keep:
                store.write_stored({**stored, "same": kernel_hash()})
            print(f"{name}: the stored results are this kernel's too")
    return good
