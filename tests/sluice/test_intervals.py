"""Statistics of trials: intervals contain the mean as often as they say, and comparisons need them.

TEXT is an experiment with the arms `ours` and `old`, two sizes and six seeds. `results` makes its
results by hand: a mean for each arm, plus the noise of each seed, which is the same for both arms.
A verdict is as said, NOT SO, or open ("no difference seen", "not decided"), if the interval of the
paired differences does not tell.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from sluice.experiment import expect, findings, interval, significance, summary
from sluice.experiment.interval import Interval
from sluice.experiment.load import load
from sluice.experiment.schema import BadExperiment
from sluice.experiment.verdict import Verdict

pytestmark = pytest.mark.native
MS = 1_000_000  # ns
TEXT = """\
claim = "ours takes less"
source = "this test"
[[arms]]
name = "ours"
[[arms]]
name = "old"
[sweep]
size = [1, 2]
seed = [1, 2, 3, 4, 5, 6]
[workload]
commands = "iogen name=r rw=read filename=/bin/sh nr={size} seed={seed}"
[plot]
columns = ["r.mean_ms", "r.max_ms", "r.over_5_ms"]
[[expectations]]
says = "less"
arm = "ours"
"""
NOISE = (0, 5, -5, 2, -2, 0)  # of the seeds: the same for both arms


@pytest.mark.parametrize("trials", [5, 6, 10])
def test_an_interval_contains_the_mean_in_95_of_100_cases(trials: int):
    """1000 samples of a normal distribution with mean 0. The bootstrap's intervals may be a little
    narrow or wide."""
    cases = np.random.default_rng(1).normal(size=(1000, trials))
    found = [interval.mean_interval(list(case)) for case in cases]
    assert 0.91 <= sum(i.low <= 0 <= i.high for i in found) / 1000 <= 0.985


def test_an_interval_is_the_same_each_time_and_moves_with_its_values():
    """Resampling is seeded, so the interval repeats; doubled values double it."""
    values = [3.1, 4.1, 5.9, 2.6, 5.3]
    first = interval.mean_interval(values)
    interval.resample_indices.cache_clear()
    interval.compute_interval.cache_clear()
    assert interval.mean_interval(values) == first
    doubled = interval.mean_interval([2 * v for v in values])
    assert (doubled.low, doubled.high) == (2 * first.low, 2 * first.high)
    assert min(values) < first.low < sum(values) / 5 < first.high < max(values)


def test_few_trials_have_no_interval_and_equal_ones_a_point():
    """Four trials are too few."""
    assert interval.mean_interval([1.0, 2, 3, 4]) is None
    assert interval.mean_interval([0.1] * 7) == Interval(0.1, 0.1)


def result(arm: str, size: int, seed: int, mean_ms: float) -> dict:
    """Return a run's result with only the parts that are judged. All responses are of the mean's
    bucket."""
    low = 1 << (int(mean_ms * MS).bit_length() - 1)
    times = {"mean": mean_ms * MS, "max": mean_ms * MS}
    job = {"job": "r", "ios": 1, "response_ns": times, "histogram": [[low, 3]]}
    return {"arm": arm, "variables": {"size": size, "seed": seed}, "jobs": [job]}


def results(ours: float, old: float, growth: float = 1, only_ours: float = 0) -> list[dict]:
    """Return results of both arms with these means at size 1, and `growth` times as much at size 2.
    Both arms have the noise of the seeds, and ours has `only_ours` times the noise in addition."""
    found = []
    for arm, centre in (("ours", ours), ("old", old)):
        for size in (1, 2):
            for seed, noise in enumerate(NOISE, 1):
                own = only_ours * noise if arm == "ours" else 0
                found.append(result(arm, size, seed, centre * growth ** (size - 1) + noise + own))
    return found


def verdict(folder: Path, found: list[dict], *rows: str) -> Verdict:
    """Return the verdict on the expectation with these rows, for these results."""
    path = folder / "e.toml"
    path.write_text(TEXT + "\n".join(rows) + "\n")
    [one] = expect.judge_experiment(load(path), found)
    return one


LESS = ('metric = "r.mean_ms"', 'op = "<"', 'than = "old"')


@pytest.mark.parametrize(
    ("ours", "only_ours", "rows", "met"),
    [
        (19.9, 0, LESS, True),  # the seeds' noise is common, and taken away
        (20.1, 0, LESS, False),
        (20, 0, LESS, None),
        (19, 1, LESS, None),
        (21, 1, LESS, None),
        (12, 1, LESS, True),
        (18.1, 0, (*LESS, "times = 0.9"), None),  # 0.9 of the noise is common
        (14, 0, (*LESS, "times = 0.9"), True),
        (19.9, 0, (*LESS, 'of = "point"'), True),
        (19, 1, (*LESS, 'of = "point"'), None),
        (19.9, 0, (*LESS[:1], 'op = ">="', LESS[2]), False),
        (20.2, 0, (*LESS[:1], 'op = "=="', LESS[2], "within_percent = 2"), True),
        (21, 0, (*LESS[:1], 'op = "=="', LESS[2], "within_percent = 2"), False),
        (20.2, 1, (*LESS[:1], 'op = "=="', LESS[2], "within_percent = 2"), None),
        (19.9, 0, ('metric = "r.max_ms"', *LESS[1:]), True),
        (19, 1, ('metric = "r.max_ms"', *LESS[1:]), None),
    ],
)
def test_two_arms_compare_so_only_if_their_trials_tell_them_apart(
    tmp_path: Path, ours: float, only_ours: float, rows: tuple[str, ...], met: bool | None
):
    """ours: the mean of the arm `ours` in ms, while that of `old` is 20; only_ours: noise in ms
    that `old` does not have; rows: those of the expectation; met: None if the trials leave it
    open."""
    one = verdict(tmp_path, results(ours, 20, 1, only_ours), *rows)
    assert one.met is met, one.why
    factor = "times = 0.9" in rows
    open_ = "not decided" if factor else "no difference seen"
    assert one.word == {True: "as said", False: "NOT SO", None: open_}[met]
    assert one.is_failed == (met is False)
    assert "(95 %: " in one.why


@pytest.mark.parametrize(("growth", "met"), [(1.01, True), (0.99, False), (1, None)])
def test_so_do_the_values_along_a_variable(tmp_path: Path, growth: float, met: bool | None):
    """growth: the mean at size 2, divided by that at size 1."""
    rows = ('metric = "r.mean_ms"', 'op = ">"', 'along = "size"')
    one = verdict(tmp_path, results(20, 20, growth), *rows)
    assert one.met is met, one.why
    assert (one.word == "no difference seen") == (met is None)


def test_a_fixed_limit_is_compared_with_the_value_whose_interval_is_told(tmp_path: Path):
    """A mean has its interval, a maximum the range of trials."""
    found = results(20, 20)
    mean = verdict(tmp_path, found, 'metric = "r.mean_ms"', 'op = "<"', "value = 20.5")
    assert mean.met is True
    assert "20 ms (the mean of 12 runs, 95 %: 16." in mean.why
    most = verdict(tmp_path, found, 'metric = "r.max_ms"', 'op = "<"', "value = 25")
    assert "25 ms (the largest of 12 runs, 15 to 25)" in most.why


@pytest.mark.parametrize(("seeds", "why"), [([1], "1 trial"), ([1, 2, 3, 4], "4 trials")])
@pytest.mark.parametrize(("ours", "leaning"), [(12, True), (38, False)])
def test_with_few_trials_nothing_is_judged_however_far_the_values_are(
    tmp_path: Path, seeds: list[int], why: str, ours: float, leaning: bool
):
    """leaning: what the values alone say."""
    path = tmp_path / "e.toml"
    path.write_text(
        (TEXT + "\n".join(LESS) + "\n").replace("seed = [1, 2, 3, 4, 5, 6]", f"seed = {seeds}")
    )
    found = [one for one in results(ours, 20) if one["variables"]["seed"] in seeds]
    [one] = expect.judge_experiment(load(path), found)
    assert (one.word, one.met, one.is_failed) == ("not judged", None, False)
    assert one.leaning is leaning
    assert one.why.endswith(f"; {why}, so no interval")


@pytest.mark.parametrize("noise", [0, 1])
def test_a_difference_that_another_compiler_could_make_is_none(tmp_path: Path, noise: float):
    """178.157 ms and 178.158 ms with each seed: less than 0.2 % is no difference, with noise common
    to both or without."""
    found = results(178.157, 178.158)
    for one in found:
        times = one["jobs"][0]["response_ns"]
        common = NOISE[one["variables"]["seed"] - 1] * MS * (1 - noise)
        times["mean"] -= common
    one = verdict(tmp_path, found, *LESS)
    assert (one.word, one.leaning, one.is_failed) == ("no difference seen", True, False)
    assert one.why.endswith(", less than 0.2 % from the limit")
    apart = verdict(tmp_path, results(177.5, 178.158), *LESS)
    assert apart.word == "as said"


def test_counts_that_differ_by_one_in_each_trial_are_different():
    """Whole numbers are counts, for which one is a difference. 603.5 is no count."""
    pairs = [(603.0, 604.0)] * 5
    assert significance.compare_pairs("<", pairs, True).met is True
    assert significance.compare_pairs("<", [(603.5, 604.0)] * 5, True).met is None
    assert significance.compare_pairs("<=", [(603.5, 603.5)] * 5, True).met is True
    assert significance.compare_pairs("==", [(603.5, 603.5)] * 5, True, 0).met is True


DRAWN = {  # distributions with the mean 0
    "normal": lambda random, size: random.normal(size=size),
    "uniform": lambda random, size: random.uniform(-1, 1, size=size),
    "skewed": lambda random, size: random.exponential(size=size) - 1,
}


@pytest.mark.parametrize(("trials", "most"), [(5, 0.1), (10, 0.075)])
@pytest.mark.parametrize("drawn", DRAWN)
def test_of_arms_that_do_not_differ_few_are_said_to(drawn: str, trials: int, most: float):
    """The arms have a common part, which is drawn for each seed, and one of their own. At most 10 %
    of the comparisons of five trials see a difference, for the bootstrap's intervals are a little
    narrow then, and 7.5 % of those of ten."""
    random, cases = np.random.default_rng(7), 600
    common = 100 + 50 * random.normal(size=(cases, trials))
    one, other = (common + DRAWN[drawn](random, (cases, trials)) * 20 for _ in range(2))
    # A case has a pair of results for each trial: [(of one, of other), ...].
    pairs = np.stack([one, other], axis=2).tolist()
    told = sum(significance.compare_pairs("<", some, True).met is not None for some in pairs)
    assert 0.02 <= told / cases <= most
    by_means = (one.mean(axis=1) != other.mean(axis=1)).sum()
    assert by_means == cases, "by the values alone, each pair of arms would differ"


def test_arms_that_do_differ_are_mostly_told_apart():
    """A difference of 30 with a deviation of 10 is seen in 90 % of the cases at least. A case has
    five trials, each with a result of either arm."""
    random, cases = np.random.default_rng(8), 200
    seen = 0
    for _ in range(cases):
        drawn = random.normal(0, 10, size=(5, 2))
        trials = [(1000 + one, 1000 + one + 30 + noise) for one, noise in drawn]
        seen += significance.compare_pairs("<", trials, True).met is True
    assert seen >= 0.9 * cases


def test_equality_needs_an_interval_within_the_margin_and_not_one_that_holds_zero():
    """The margin is 5 %. `noisy` holds zero and is wider than the margin; `near` is within it;
    `far` reaches out of it."""
    noisy = [(100 + step, 100.0) for step in (-30.5, 30.5, -20.5, 20.5, 0.5)]
    one = significance.compare_pairs("==", noisy, True, 5)
    assert (one.met, one.open_word) == (None, "no difference seen")
    near = [(101 + step, 100.0) for step in (-0.15, 0.15, -0.05, 0.05, 0.1)]
    assert significance.compare_pairs("==", near, True, 5).met is True
    far = [(104.9 + step, 100.0) for step in (-0.5, 0.5, -0.3, 0.3, 0.1)]
    one = significance.compare_pairs("==", far, True, 5)
    assert (one.met, one.open_word) == (None, "not decided")


def test_arms_that_differ_but_perhaps_not_by_the_factor_are_not_decided():
    """60.5 is less than 100, and about 0.6 times as much."""
    pairs = [(60.5 + step, 100.0) for step in (-5, 5, -3, 3, 1)]
    one = significance.compare_pairs("<", pairs, False, times=0.6)
    assert (one.met, one.open_word, one.leaning) == (None, "not decided", False)
    assert significance.compare_pairs("<", pairs, True).met is True


def test_the_table_has_intervals_of_means_and_ranges_of_extremes(tmp_path: Path):
    """A row below the means has the interval, and for the maximum the range of trials."""
    path = tmp_path / "e.toml"
    path.write_text(TEXT + "\n".join(LESS) + "\n")
    found = [one for one in results(20, 20) if one["variables"]["size"] == 1]
    rows = summary.table(load(path), found)
    first, spread = rows[2:4]
    assert first[:2] == ["ours size=1", "6"]
    assert spread[0] == summary.SPREAD and spread[3] == "15 to 25"
    low, high = (float(word) for word in spread[2].split(" to "))
    exact = interval.mean_interval([20 + noise for noise in NOISE])
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=0.01)
    assert summary.interval_note(found).startswith("below a row: 95 % intervals")
    assert summary.interval_note(found[:1]) == "1 trial, so no interval of the means"
    assert [row[0] for row in summary.table(load(path), found[:1])[2:]] == ["ours size=1"]


def test_a_sum_over_trials_has_the_interval_of_a_sum():
    """Six trials are summed. A response counts as over 5 ms if its bucket begins at 8.39 ms or
    later: buckets begin at powers of two, in ns, and 2^23 ns is the first one over 5 ms."""
    found = [one for one in results(6, 6) if one["arm"] == "ours" and one["variables"]["size"] == 1]
    counted = significance.spread_of_trials(found, "r.over_5_ms")
    each = [3.0 if 6 + noise >= 8.388608 else 0.0 for noise in NOISE]
    exact = interval.mean_interval(each)
    assert (counted.low, counted.high) == (6 * exact.low, 6 * exact.high)


def test_findings_that_are_open_are_counted_by_themselves():
    """One of five places is confirmed, so the finding is confirmed in part."""
    paper = "Author 1999: more"
    words = ("no difference seen", "no difference seen", "not decided", "not judged")
    rows = [Verdict("", None, "", paper=paper, open=word) for word in words]
    rows.append(Verdict("", True, "", paper=paper))
    head, *counted = findings.count_by_paper(findings.verdict_findings(rows))
    states = ["confirmed", "in part", "differ", "NOT SO", "open"]
    assert head[1:] == ["findings", *states, "places"]
    assert counted == [["Author 1999", "1", "0", "1", "0", "0", "0", "1 of 5"]]
    [_, only_open] = findings.count_by_paper(findings.verdict_findings(rows[:-1]))
    assert only_open[-2:] == ["1", "0 of 4"]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ((*LESS[:1], 'op = "=="', LESS[2]), '"==" of two arms: needs the margin'),
        ((*LESS[:1], 'op = "=="', 'along = "size"'), '"==" of two arms: needs the margin'),
        ((*LESS, 'of = "every"'), 'of = "every": not with "than", an arm'),
        ((*LESS, 'of = "any"'), 'of = "any": not with "than", an arm'),
    ],
)
def test_a_comparison_that_no_interval_can_judge_is_refused(
    tmp_path: Path, rows: tuple[str, ...], why: str
):
    with pytest.raises(BadExperiment, match=re.escape(why)):
        verdict(tmp_path, results(19, 20), *rows)
