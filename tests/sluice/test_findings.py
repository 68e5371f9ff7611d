"""Every experiment, in its quick size: nothing is NOT SO, except what differs for a cause that the
file gives.

A run of all tests makes an eighth of the experiments, drawn by the commit; FULL=1 makes all.

The twin makes the runs, in a fifth of the machine's time. Where an expectation is not met there,
the machine decides; with FULL=1 the machine makes all. Results that are stored are the machine's,
of full size, and are judged by test_results.py.

Experiments of one workload share their runs, so they are judged by one worker.
"""

from pathlib import Path

import pytest
import shipped
from whole import WHOLE

from sluice.experiment import expect, interval, summary
from sluice.experiment import run as runs
from sluice.experiment.files import hash_value
from sluice.experiment.load import load, read_toml
from sluice.experiment.schema import MODEL_SAYS, Experiment, Run
from sluice.experiment.selection import twin_variant
from sluice.experiment.verdict import NOT_JUDGED, UNKNOWN, Verdict
from sluice.host.experiments import experiment_files
from sluice.twin import engine

SIZE = "quick"


def paths() -> list:
    """Return the experiments, those of one workload in one group, of which each run draws some."""
    found = experiment_files()
    groups = {path: hash_value(read_toml(path)[0]["workload"])[:8] for path in found}
    marks = {
        group: [pytest.mark.xdist_group(f"findings-{group}"), pytest.mark.drawn(8, unit=group)]
        for group in groups.values()
    }
    return [pytest.param(path, id=path.stem, marks=marks[groups[path]]) for path in found]


# Experiments whose quick size has too few seeds to judge a comparison, and why.
UNJUDGED = {
    **dict.fromkeys(
        ("flash-planes", "flash-where"), "the twin differs: the machine makes them too"
    ),
    "wang-large": "two of its arms have equal times of `sync` in the small size",
    **dict.fromkeys(
        (
            *("prefetch-modern", "replace-modern", "sched-modern", "sched-starve", "shriver-nopf"),
            *("mogul-4.2-random", "mogul-4.2-sequential", "nvram-size"),
            *("updater-mix", "updater-pause", "updater-rw", "updaters-modern", "wang-idle"),
            "wang-utilisation",
        ),
        "five seeds would take too long",
    ),
}


@pytest.mark.native
@pytest.mark.xdist_group(shipped.GROUP)
@pytest.mark.parametrize("size", ["full", SIZE])
@pytest.mark.parametrize("path", experiment_files(), ids=lambda path: path.stem)
def test_arms_that_are_compared_share_enough_seeds_for_an_interval(path: Path, size: str):
    """Each size has at least interval.LEAST seeds, except the quick sizes in UNJUDGED. An
    experiment that compares no arms with each other needs none."""
    made = shipped.load_once(path, size)
    compares = made.contest or any(
        row["along"] or (row["than"] not in (None, MODEL_SAYS) and not row["crosses"])
        for row in made.expectations
    )
    seeds = {run.variables.get("seed") for run in made.runs}
    enough = len(seeds) >= interval.LEAST or not compares
    assert enough == (size == "full" or path.stem not in UNJUDGED)


# Comparisons that the quick size leaves open, and against which the values lean.
MAY_LEAN_AGAINST = {"eager writing gains more: a fifth at least"}


def is_wrong(verdict: Verdict) -> bool:
    """True if the verdict is NOT SO without a cause, if runs are missing, or if the verdict is open
    and the values lean against it, unless it is one of MAY_LEAN_AGAINST."""
    if verdict.is_failed or verdict.word == UNKNOWN:
        return True
    against = verdict.met is None and verdict.leaning is False
    return against and not verdict.differs and verdict.says not in MAY_LEAN_AGAINST


@pytest.mark.native
def test_an_open_verdict_against_which_the_values_speak_is_wrong():
    """leaning: what the values alone say."""
    assert is_wrong(Verdict("less", None, "", open=NOT_JUDGED, leaning=False))
    assert is_wrong(Verdict("less", None, ""))
    assert not is_wrong(Verdict("less", None, "", open=NOT_JUDGED, leaning=True))
    assert not is_wrong(Verdict("less", None, "", open=NOT_JUDGED, leaning=False, differs="why"))


@pytest.fixture(scope="session")
def made() -> dict[str, dict]:
    """Return the results of this worker, by the key of their run."""
    return {}


def find_result(run: Run, made: dict[str, dict], console: Path) -> dict:
    """Return the result of a run, which is made unless an equal run was made before."""
    key = runs.result_key(run)
    if key not in made:
        made[key], _ = runs.make_run(run, console)
    return made[key] | {"arm": run.arm, "variables": run.variables}


def wrong_verdicts(experiment: Experiment, made: dict[str, dict], console: Path) -> list[Verdict]:
    """Make the experiment and return its verdicts that are wrong. Its text shows every verdict."""
    results = [find_result(run, made, console) for run in experiment.runs]
    verdicts = [
        verdict for verdict in expect.judge_experiment(experiment, results) if not verdict.contest
    ]
    assert verdicts, "nothing is expected of this size"
    shown = summary.summary_text(experiment, results)
    assert all(verdict.says in shown for verdict in verdicts)
    return [verdict for verdict in verdicts if is_wrong(verdict)]


@pytest.mark.parametrize("path", paths())
def test_what_is_expected_comes_or_differs_for_a_cause(path: Path, made: dict, tmp_path: Path):
    """The twin's verdicts count if none of them is wrong; otherwise the machine's do."""
    experiment, console = load(path, SIZE), tmp_path / "console"
    if (
        not WHOLE
        and not engine.host_refusal_reason()
        and not wrong_verdicts(twin_variant(experiment), made, console)
    ):
        return
    found = wrong_verdicts(experiment, made, console)
    assert not found, "\n".join(f"{v.word}  {v.says}\n    {v.why}" for v in found)
