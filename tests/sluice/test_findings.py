"""Every experiment, in its quick size: nothing is NOT SO, but what differs for a cause it tells.

The twin makes the runs, in a fifth of the machine's time. Where an expectation is not
met there, the machine has the last word; with FULL=1 it has the only one. Results that are stored
are the machine's, of full size, and are judged by test_results.py.

Experiments of one workload share their runs, so they are judged by one worker.
"""

from pathlib import Path

import pytest
from whole import WHOLE

from sluice.experiment import expect, interval, summary
from sluice.experiment import run as runs
from sluice.experiment.files import hash_of
from sluice.experiment.load import load, read_toml
from sluice.experiment.schema import MODEL_SAYS, Experiment, Run
from sluice.experiment.selection import EXPERIMENTS, on_twin
from sluice.experiment.verdict import Verdict
from sluice.twin import engine

SIZE = "quick"


def paths() -> list:
    """The experiments, those of one workload in one group."""
    found = sorted(EXPERIMENTS.glob("*.toml"))
    groups = {path: hash_of(read_toml(path)[0]["workload"])[:8] for path in found}
    return [
        pytest.param(path, id=path.stem, marks=pytest.mark.xdist_group(f"findings-{groups[path]}"))
        for path in found
    ]


@pytest.mark.native
@pytest.mark.xdist_group("all experiments")
@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda path: path.stem)
def test_arms_that_are_compared_share_enough_seeds_for_an_interval(path: Path):
    full = load(path)
    compares = full.contest or any(
        row["along"] or row["than"] not in (None, MODEL_SAYS) for row in full.expectations
    )
    seeds = {run.variables.get("seed") for run in full.runs}
    assert len(seeds) >= interval.LEAST or not compares


@pytest.fixture(scope="session")
def made() -> dict[str, dict]:
    """The results of this worker, by the key of their run."""
    return {}


def result(run: Run, made: dict[str, dict], console: Path) -> dict:
    """The result of a run, which is made unless an equal run was."""
    key = runs.key(run)
    if key not in made:
        made[key], _ = runs.make(run, console)
    return made[key] | {"arm": run.arm, "variables": run.variables}


def wrong(experiment: Experiment, made: dict[str, dict], console: Path) -> list[Verdict]:
    """What is NOT SO, or cannot be told, once the experiment has been made. Its text shows every
    verdict."""
    results = [result(run, made, console) for run in experiment.runs]
    verdicts = [verdict for verdict in expect.judge(experiment, results) if not verdict.contest]
    assert verdicts, "nothing is expected of this size"
    shown = summary.text(experiment, results)
    assert all(verdict.says in shown for verdict in verdicts)
    return [v for v in verdicts if v.failed or (v.met is None and not v.undecided)]


@pytest.mark.parametrize("path", paths())
def test_what_is_expected_comes_or_differs_for_a_cause(path: Path, made: dict, tmp_path: Path):
    experiment, console = load(path, SIZE), tmp_path / "console"
    if not WHOLE and not engine.host_refusal() and not wrong(on_twin(experiment), made, console):
        return
    found = wrong(experiment, made, console)
    assert not found, "\n".join(f"{v.word}  {v.says}\n    {v.why}" for v in found)
