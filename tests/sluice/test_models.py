"""Analytic models: their formulas by hand, their parameters checked, measured against them.

A model (sluice/theory/) computes what figures should be. carson_setia is that of Carson and Setia
for the response time of reads beside an update policy: rho_r and rho_w are the utilisations by
reads and writes, s the service time, and C = (1 + cv^2) / 2. MODELLED is an experiment with that
model, with two arms and two values of `blocks`; `modelled` is its file. In tests, `off` says by
which factor an arm's results differ from the model.
"""

from dataclasses import replace
from math import exp, inf
from pathlib import Path

import pytest

from sluice import theory
from sluice.experiment import arithmetic, expect, summary
from sluice.experiment.load import load
from sluice.experiment.schema import BadExperiment, Experiment, Run
from sluice.theory import System

TUNABLES = {
    "pu.interval_ms": 30000,
    "ipu.age_ms": 30000,
    "aipu.age_ms": 30000,
    "aipu.scan_ms": 1000,
    "purp.bound_ms": 0,
}
LOAD = {"reads_per_s": 40, "writes_per_s": 20, "blocks": inf, "service_ms": 10, "service_cv": 0}


def carson_setia(write: str, update: str, sched: str = "fcfs", **given: float) -> dict[str, float]:
    """Return what the model predicts. A keyword with two underscores is a tunable (pu__interval_ms
    for pu.interval_ms), another one a parameter."""
    tunables = TUNABLES | {name.replace("__", "."): v for name, v in given.items() if "__" in name}
    parameters = LOAD | {name: v for name, v in given.items() if "__" not in name}
    system = System({"write": write, "update": update, "sched": sched}, tunables, "fixed")
    return theory.load_model("carson_setia").predict(system, parameters)


@pytest.mark.parametrize("name", theory.model_names())
def test_every_model_says_what_it_needs_and_tells(name: str):
    """A model's module names its source, its quantities and its parameters."""
    model = theory.load_model(name)
    assert model.__doc__ and "Source" in model.__doc__
    assert model.QUANTITIES and all(model.QUANTITIES.values())
    for parameter in model.PARAMETERS.values():
        assert parameter.about and parameter.source and parameter.low < parameter.high


@pytest.mark.parametrize(
    ("write", "update", "sched", "ms"),
    [
        # rho_r = 0.4, rho_w = e = 0.2, s = 10 ms, C = 1/2: 0.6 * 10 / 2 = 3 ms of waiting
        ("wt", "pu", "fcfs", 10 + 3 / 0.4),
        ("delayed", "ipu", "fcfs", 10 + 3 / 0.4),
        ("delayed", "pu", "fcfs", 10 + 3 / 0.6 + 0.2**2 * 30000 / 2 / 0.6),
        ("delayed", "aipu", "fcfs", 10 + 3 / 0.6 + 0.2**2 * 1000 / 2 / 0.6),
        ("delayed", "pu", "purp", 10 + 3 / 0.6),
    ],
)
def test_carson_and_setias_formulas_by_hand(write, update, sched, ms):
    """A read takes 10 ms of service, and waits for the request in service: 3 ms, divided by the
    share of time that the requests before it leave. Under pu and aipu comes the wait behind a
    burst, e^2 T / 2, with T the ms between two bursts, divided likewise."""
    assert carson_setia(write, update, sched)["read_ms"] == pytest.approx(ms)


def test_without_writes_all_policies_are_a_plain_queue():
    """Reads come at random (M/M/1)."""
    for policies in (("wt", "pu"), ("delayed", "pu"), ("delayed", "ipu"), ("delayed", "aipu")):
        found = carson_setia(*policies, writes_per_s=0, service_cv=1)["read_ms"]
        assert found == pytest.approx(10 / (1 - 0.4))  # exponential service: s / (1 - rho)


@pytest.mark.parametrize(
    ("write", "update", "per_s"),
    [
        ("wt", "pu", 20),
        ("delayed", "pu", 100 * (1 - exp(-6)) / 30),  # in 30 s, 600 writes to 100 blocks
        ("delayed", "ipu", 100 / (30 + 5)),  # dirty for 30 s, clean for 5 s
        ("delayed", "aipu", 100 / (30.5 + 5)),  # a scan each second sees it 0.5 s late
    ],
)
def test_what_is_absorbed_by_hand(write, update, per_s):
    """Programs make 20 writes a second to 100 blocks, so each block is written every 5 s. per_s:
    how many writes a second reach the disk."""
    share = carson_setia(write, update, blocks=100)["written_share"]
    assert share * LOAD["writes_per_s"] == pytest.approx(per_s)


def test_the_formula_takes_the_tunables_of_what_runs():
    """PU with an interval of 1 s is AIPU, which checks each second."""
    assert carson_setia("delayed", "pu", pu__interval_ms=1000) == carson_setia("delayed", "aipu")


def test_nothing_is_told_of_policies_without_a_formula():
    """Sprite's policy, asynchronous writes, another scheduler, and PURP with a bound."""
    assert carson_setia("delayed", "sprite") == {}
    assert carson_setia("async", "pu") == {}
    assert carson_setia("delayed", "pu", "clook") == {}
    assert carson_setia("delayed", "pu", "purp", purp__bound_ms=100) == {}


def test_an_overloaded_disk_is_refused_with_words():
    """90 reads and 20 writes of 10 ms in a second."""
    with pytest.raises(ValueError, match="overloaded: it would be busy 110%"):
        carson_setia("wt", "pu", reads_per_s=90)


# ---- in an experiment's file ----

MODELLED = """\
claim = "reads take what theory says"
source = "this test"

[policies]
sched = "fcfs"
write = "delayed"

[[arms]]
name = "IPU"
policies = {update = "ipu"}

[[arms]]
name = "PU"
policies = {update = "pu"}

[sweep]
blocks = [100, 1000]
seed = [1, 2]

[workload]
commands = "iogen name=read rw=read filename=/bin/sh"

[model]
name = "carson_setia"
metrics = {"read.mean_ms" = "read_ms"}

[model.parameters]
reads_per_s = 40
writes_per_s = 20
blocks = "{blocks / 10}"
service_ms = 10
service_cv = 0

[plot]
columns = ["read.count", "read.mean_ms"]

[[expectations]]
says = "as theory says"
metric = "read.mean_ms"
arm = "PU"
op = "=="
than = "model"
within_percent = 10
"""
# An expectation that the curves of two arms over `blocks` meet where the model's do
CROSSES = """
[[expectations]]
says = "they meet where theory says"
metric = "read.mean_ms"
arm = "PU"
than = "IPU"
crosses = "blocks"
op = "=="
within_percent = 5
"""


@pytest.fixture
def modelled(tmp_path: Path) -> Path:
    """Return the file of the experiment MODELLED."""
    path = tmp_path / "modelled.toml"
    path.write_text(MODELLED)
    return path


def change_file(path: Path, old: str, new: str) -> int:
    """Replace `old`, which the file has once, and return the line number at which it began."""
    text = path.read_text()
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new))
    return text[: text.index(old)].count("\n") + 1


def make_result(arm: str, blocks: int, seed: int, ms: float) -> dict:
    """Return a run's result with only the parts that are judged."""
    exact = {"mean": ms * 10**6}
    line = {"job": "read", "ios": 1, "response_ns": exact, "histogram": [[int(ms * 10**6), 1]]}
    return {"arm": arm, "variables": {"blocks": blocks, "seed": seed}, "jobs": [line]}


def results(experiment: Experiment, off: dict[tuple, float]) -> list[dict]:
    """Return results that are as the model predicts, times the factor for an arm and blocks."""
    return [
        make_result(
            run.arm,
            run.variables["blocks"],
            run.variables["seed"],
            run.prediction["read.mean_ms"] * off.get((run.arm, run.variables["blocks"]), 1),
        )
        for run in experiment.runs
    ]


def test_runs_know_what_the_model_says_of_them(modelled: Path):
    """The model's parameter `blocks` is a tenth of the variable."""
    runs = load(modelled).runs
    said = {(run.arm, run.variables["blocks"]): run.prediction["read.mean_ms"] for run in runs}
    assert said["PU", 1000] == pytest.approx(carson_setia("delayed", "pu", blocks=100)["read_ms"])
    assert said["IPU", 100] == pytest.approx(carson_setia("delayed", "ipu", blocks=10)["read_ms"])


def test_the_model_knows_an_arms_tunables(modelled: Path):
    """The arm PU sets an interval of 5 s."""
    own = 'policies = {update = "pu"}\ntunables = {"pu.interval_ms" = "5 s"}'
    change_file(modelled, 'policies = {update = "pu"}', own)
    run = load(modelled).runs[-1]
    said = carson_setia("delayed", "pu", blocks=100, pu__interval_ms=5000)["read_ms"]
    assert run.prediction["read.mean_ms"] == pytest.approx(said)


def test_a_model_has_no_say_in_what_is_run(modelled: Path):
    """Another parameter of the model changes no run."""
    before = [run.config for run in load(modelled).runs]
    change_file(modelled, "service_ms = 10", "service_ms = 11")
    assert [run.config for run in load(modelled).runs] == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "carson_setia"', 'name = "carson_seria"', 'did you mean "carson_setia"?'),
        ('"read.mean_ms" = "read_ms"', '"read.mean_ms" = "reed_ms"', 'did you mean "read_ms"?'),
        ('"read.mean_ms" = "read_ms"', '"reed.mean_ms" = "read_ms"', 'did you mean "read"?'),
        ("reads_per_s = 40", "reads_per_m = 40", 'did you mean "reads_per_s"?'),
        ("reads_per_s = 40\n", "", 'the parameter "reads_per_s" is missing (rate of reads'),
        ("reads_per_s = 40", 'reads_per_s = "forty"', "reads_per_s = forty: must be a number"),
        ("reads_per_s = 40", "reads_per_s = -1", "reads_per_s = -1: not in 0 to inf (rate of"),
        ("reads_per_s = 40", "reads_per_s = 100", "carson_setia: the disk is overloaded"),
        ('"{blocks / 10}"', '"{blocs / 10}"', 'unknown variable "blocs"; did you mean "blocks"?'),
        ('"{blocks / 10}"', '"{blocks / 0}"', "{blocks / 0}: divides by 0"),
        ('"{blocks / 10}"', '"{blocks ** 2}"', "there are only + - * / // and parentheses"),
        ('"{blocks / 10}"', '"{blocks 10}"', "not a variable, nor arithmetic of variables"),
        ('name = "IPU"', 'name = "model"', 'an arm "model": the name means the model'),
        ('update = "pu"', 'update = "sprite"', "no model tells read.mean_ms of PU_blocks=100"),
        ('"read.mean_ms" = "read_ms"', '"read.max_ms" = "read_ms"', "no model tells read.mean_ms"),
        ("within_percent = 10", 'of = "every"', 'of = "every": not with the model'),
    ],
)
def test_a_wrong_model_is_refused_with_line_and_meaning(modelled: Path, old, new, said):
    change_file(modelled, old, new)
    with pytest.raises(BadExperiment) as refused:
        load(modelled)
    [problem] = [text for text in str(refused.value).splitlines() if said in text]
    assert problem.startswith(f"{modelled}:"), problem


@pytest.mark.parametrize(
    ("off", "met", "why"),
    [
        ({}, True, "the worst of 2)"),
        ({("PU", 100): 1.09, ("PU", 1000): 0.95}, True, "at blocks 100 is"),
        ({("PU", 100): 1.09, ("PU", 1000): 0.89}, False, "at blocks 1000 is"),
        ({("IPU", 100): 2}, True, "the worst of 2)"),
    ],
)
def test_every_point_is_held_against_the_model(modelled: Path, off, met, why):
    """PU may differ by 10 % at each point; IPU is not asked about."""
    experiment = load(modelled)
    [verdict] = expect.judge_experiment(experiment, results(experiment, off))
    assert verdict.met is met
    assert why in verdict.why


@pytest.mark.parametrize(
    ("off", "met", "why"),
    [
        ({("PU", 100): 1.09}, True, "is 4.5 % off in the median of 2; expected at most 5 %"),
        ({("PU", 100): 1.09, ("PU", 1000): 0.97}, False, "is 6 % off in the median"),
        ({("IPU", 100): 2}, True, "is 0 % off"),
    ],
)
def test_the_median_of_all_points_is_held_against_the_model(modelled: Path, off, met, why):
    """Of two points, the median is the mean of their differences."""
    change_file(modelled, "within_percent = 10", "median_percent = 5")
    experiment = load(modelled)
    [verdict] = expect.judge_experiment(experiment, results(experiment, off))
    assert verdict.met is met
    assert why in verdict.why


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("median_percent = 5", "median_percent = 5\nwithin_percent = 10"),
        ('than = "model"', 'than = "IPU"'),
        ('op = "=="', 'op = "<"'),
    ],
)
def test_a_median_that_makes_no_sense_is_refused(modelled: Path, old, new):
    """A median is only for a comparison with the model by ==."""
    change_file(modelled, "within_percent = 10", "median_percent = 5")
    change_file(modelled, old, new)
    with pytest.raises(BadExperiment) as refused:
        load(modelled)
    assert "median_percent: only with op" in str(refused.value)


def test_the_table_shows_the_model_and_by_how_much_it_was_missed(modelled: Path):
    """A result that is 1.02 times the model's shows +2.0%."""
    experiment = load(modelled)
    rows = summary.table(experiment, results(experiment, {("PU", 1000): 1.02}))
    at = next(i for i, row in enumerate(rows) if row[0] == "PU blocks=1000")
    assert rows[at + 1][0] == summary.MODEL
    assert rows[at + 1][2] == ""
    assert rows[at + 1][3].endswith("(+2.0%)")


@pytest.mark.parametrize(
    ("off", "met", "why"),
    [
        ({}, True, "at blocks 100 is"),
        ({("PU", 100): 0.1}, False, "at blocks 100 is"),
    ],
)
def test_two_arms_are_compared_point_by_point(modelled: Path, off, met, why):
    """IPU's mean over both points is below PU's in any case."""
    rows = ('arm = "PU"\nop = "=="\nthan = "model"\nwithin_percent = 10', 'arm = "IPU"\nop = "<"')
    change_file(modelled, rows[0], f'{rows[1]}\nthan = "PU"\nof = "point"')
    change_file(modelled, "seed = [1, 2]", "seed = [1, 2, 3, 4, 5]")
    experiment = load(modelled)
    [verdict] = expect.judge_experiment(experiment, results(experiment, off))
    assert verdict.met is met
    assert why in verdict.why


def test_where_two_curves_meet():
    """A curve is given by points, {x: y}; between two of them log y is a line. Where two curves
    meet nowhere, or more than once, the answer is None."""
    # The first one grows from 2 to 4 over x = 2 to 3, and is 3 at x = 2 + log2(3 / 2).
    assert expect.crossing_point({1: 1, 2: 2, 3: 4}, {1: 3, 2: 3, 3: 3}) == pytest.approx(
        2.585, abs=1e-3
    )
    assert expect.crossing_point({3: 8, 1: 2}, {1: 4, 3: 4}) == pytest.approx(2)
    assert expect.crossing_point({1: 1, 2: 2}, {1: 3, 2: 3}) is None
    assert expect.crossing_point({1: 1, 2: 2, 3: 1}, {1: 1.5, 2: 1.5, 3: 1.5}) is None


@pytest.fixture
def crossing(modelled: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """Return an experiment whose predicted curves meet at 550 blocks. By theory PU beats IPU
    nowhere, so other predictions are put in."""
    modelled.write_text(MODELLED + CROSSES)
    experiment = load(modelled)
    ms = {("IPU", 100): 20, ("IPU", 1000): 20, ("PU", 100): 10, ("PU", 1000): 40}
    monkeypatch.setattr(
        Run,
        "prediction",
        property(lambda run: {"read.mean_ms": ms[run.arm, run.variables["blocks"]]}),
    )
    return replace(experiment, expectations=experiment.expectations[1:])


@pytest.mark.parametrize(
    ("off", "met", "why"),
    [
        ({}, True, "is 550"),
        # ln(20 / 11) = 0.598 below and ln(40 / 20) = 0.693 above: 0.463 of the way
        ({("PU", 100): 1.1}, False, "is 516.778 (the worst of 1; 1 not as expected)"),
        ({("PU", 100): 3}, False, "do not meet exactly once along blocks"),
    ],
)
def test_where_two_arms_meet_is_held_against_the_model(crossing: Experiment, off, met, why):
    """off makes PU slower, so that the curves meet earlier, or not at all."""
    [verdict] = expect.judge_experiment(crossing, results(crossing, off))
    assert verdict.met is met
    assert why in verdict.why, verdict.why


def test_all_meetings_are_shown(crossing: Experiment):
    """The details of a verdict have the place of each meeting."""
    [verdict] = expect.judge_experiment(crossing, results(crossing, {("PU", 100): 1.1}))
    assert verdict.details == ("516.8 (expected 550)",)
    assert f"        {verdict.details[0]}" in summary.expectation_lines(
        crossing, results(crossing, {("PU", 100): 1.1})
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('crosses = "blocks"', 'crosses = "block"', 'unknown variable "block"'),
        ('than = "IPU"', 'than = "model"', 'needs "than", an arm'),
        ('than = "IPU"', 'than = "IPU"\ntimes = 2', 'times = 2: not with "value" or "crosses"'),
        ('crosses = "blocks"', 'crosses = "blocks"\nalong = "seed"', 'no "along"'),
        ('crosses = "blocks"', 'crosses = "blocks"\nwhere = {blocks = 100}', '"where" has it, too'),
    ],
)
def test_a_meeting_that_makes_no_sense_is_refused(modelled: Path, old, new, said):
    """`old` in CROSSES is replaced by `new`."""
    modelled.write_text(MODELLED + CROSSES.replace(old, new))
    with pytest.raises(BadExperiment) as refused:
        load(modelled)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("a", "3"), ("b", "two words"), ("8 * a", "24"), ("(a + 1) / 8", "0.5"), ("a // 2 - 1", "0")],
)
def test_arithmetic_of_variables(text: str, value: str):
    """a is 3, and b is text."""
    assert arithmetic.substitute(text, {"a": 3, "b": "two words"}) == value


def test_text_is_no_number():
    with pytest.raises(arithmetic.BadExpression, match='"many" is no number'):
        arithmetic.substitute("2 * a", {"a": "many"})
