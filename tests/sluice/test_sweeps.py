"""Sweeps: expectations along a variable, jobs of several processes, theory against measurement.

SWEPT is an experiment whose variable `reads` is 1, 2 and 3; its one expectation gets more rows in
each test. RESULTS are made by hand: the metric r.count is reads squared, so 1, 4 and 9.
"""

import math
from pathlib import Path

import pytest

from sluice.experiment import expect, metrics, summary
from sluice.experiment.load import load
from sluice.experiment.schema import BadExperiment, Experiment

SWEPT = """\
claim = "more reads take more time"
source = "this test"
[[arms]]
name = "only"
[sweep]
reads = [1, 2, 3]
[workload]
commands = "iogen name=r rw=read filename=/bin/sh nr={reads}"
[plot]
columns = ["r.count"]
[[published]]
arm = "only"
metric = "r.count"
value = "a pair"
where = {reads = 2}
[[expectations]]
says = "it grows"
metric = "r.count"
arm = "only"
"""


def swept(folder: Path, *rows: str) -> Experiment:
    """Return the experiment with these rows at the end of its one expectation."""
    path = folder / "swept.toml"
    path.write_text(SWEPT + "\n".join(rows) + "\n")
    return load(path)


def result(reads: int, histogram: list[list[int]]) -> dict:
    """Return a run's result with only the parts that are judged."""
    line = {"job": "r", "ios": reads, "response_ns": {}, "histogram": histogram}
    return {"arm": "only", "variables": {"reads": reads}, "jobs": [line]}


RESULTS = [result(n, [[100, n * n]]) for n in (1, 2, 3)]
SEEDS = (1, 2, 3, 4, 5)
# The last value is exactly nine times the first
NINE = ('op = "=="', 'along = "reads"', "times = 9", "within_percent = 0")


@pytest.mark.parametrize(
    ("rows", "met"),
    [
        (['op = ">"', 'along = "reads"'], True),
        (['op = "<"', 'along = "reads"'], False),
        (['op = ">="', 'along = "reads"', "times = 2.25"], True),
        (['op = ">="', 'along = "reads"', "times = 2.3"], False),
        ([*NINE, "where = {reads = [1, 3]}"], True),
        ([*NINE, "where = {reads = [2, 3]}"], False),
    ],
)
def test_expectations_follow_a_variable(tmp_path, monkeypatch, rows, met):
    """With five seeds, so that comparisons have intervals. times: each value is so many times the
    one before."""
    seeds = SWEPT.replace("[sweep]\n", f"[sweep]\nseed = {[*SEEDS]}\n")
    monkeypatch.setitem(globals(), "SWEPT", seeds)
    trials = [
        one | {"variables": one["variables"] | {"seed": seed}} for one in RESULTS for seed in SEEDS
    ]
    [verdict] = expect.judge_experiment(swept(tmp_path, *rows), trials)
    assert verdict.met is met, verdict.why


@pytest.mark.parametrize(
    ("rows", "met"),
    [
        (['op = "=="', "value = 4.1", "within_percent = 3", "where = {reads = 2}"], True),
        (['op = "=="', "value = 4.1", "within_percent = 2", "where = {reads = 2}"], False),
        (['op = "=="', "value = 4", "where = {reads = 2}"], True),
    ],
)
def test_expectations_of_a_value_allow_for_percents(tmp_path, rows, met):
    """The value at reads = 2 is 4; 4.1 is 2.4 % away."""
    [verdict] = expect.judge_experiment(swept(tmp_path, *rows), RESULTS)
    assert verdict.met is met, verdict.why


def test_nothing_is_judged_along_a_variable_while_runs_are_lacking(tmp_path):
    """The run with reads = 3 is missing."""
    [verdict] = expect.judge_experiment(swept(tmp_path, 'op = ">"', 'along = "reads"'), RESULTS[:2])
    assert verdict.met is None


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (['op = ">"'], 'has one of "value", "than" and "along"'),
        (['op = ">"', "value = 1", 'along = "reads"'], 'has one of "value", "than" and "along"'),
        (['op = ">"', 'along = "raeds"'], 'unknown variable "raeds"; did you mean "reads"?'),
        (
            ['op = ">"', 'along = "reads"', "where = {reads = 1}"],
            '"where" has one value of it only',
        ),
        (['op = ">"', 'along = "reads"', "where = {reads = [1]}"], '"where" has one value'),
        (['op = ">"', 'along = "reads"', "where = {reads = [1, 7]}"], "reads = 7: not one of its"),
        (['op = ">"', 'along = "reads"', 'of = "every"'], 'of = "every": not with "along"'),
        (['op = ">"', "value = 1", "within_percent = 1"], 'only with op = "=="'),
        (['op = ">"', "value = 1", "where = {reads = 4}"], "reads = 4: not one of its values"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, rows, said):
    """rows: keys of one expectation."""
    with pytest.raises(BadExperiment) as refused:
        swept(tmp_path, *rows)
    assert said in str(refused.value)


def test_published_figures_stand_under_the_runs_they_are_of(tmp_path):
    lines = summary.table(swept(tmp_path, 'op = ">"', "value = 0"), RESULTS)
    [at] = [i for i, line in enumerate(lines) if "a pair" in line]
    assert lines[at - 1][0].startswith("only reads=2")


def test_the_processes_of_a_job_are_measured_together():
    """Two processes have three and two responses. Their common mean and deviation are those of all
    five."""

    def summarize(times_ns: list[int]) -> dict[str, float]:
        """Return the figures of response times: extremes, mean and standard deviation."""
        mean = sum(times_ns) / len(times_ns)
        std = math.sqrt(sum((t - mean) ** 2 for t in times_ns) / len(times_ns))
        return {"min": min(times_ns), "max": max(times_ns), "mean": mean, "std": std}

    of_processes = [[10, 20, 30], [1000, 2000]]
    lines = []  # what iogen prints of each process
    for part in of_processes:
        histogram = [[t - t % 8, 1] for t in part]
        exact = summarize(part)
        lines.append({"job": "r", "ios": len(part), "response_ns": exact, "histogram": histogram})
    found = {
        f: metrics.evaluate({"jobs": lines}, f"r.{f}_ns") for f in ("min", "max", "mean", "std")
    }
    assert found == pytest.approx(summarize(of_processes[0] + of_processes[1]))
    assert metrics.evaluate({"jobs": lines}, "r.count") == 5
