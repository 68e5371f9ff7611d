"""What trials tell: intervals contain the mean as often as they say, and claims need them."""

from pathlib import Path

import numpy as np
import pytest

from sluice.experiment import expect, findings, interval, significance, summary
from sluice.experiment.interval import Interval
from sluice.experiment.load import load
from sluice.experiment.verdict import Verdict

pytestmark = pytest.mark.native
MS = 1_000_000
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
    cases = np.random.default_rng(1).normal(size=(1000, trials))
    found = [interval.of_mean(list(case)) for case in cases]
    assert 0.91 <= sum(i.low <= 0 <= i.high for i in found) / 1000 <= 0.985


def test_an_interval_is_the_same_each_time_and_moves_with_its_values():
    values = [3.1, 4.1, 5.9, 2.6, 5.3]
    first = interval.of_mean(values)
    interval.draws.cache_clear()
    assert interval.of_mean(values) == first
    doubled = interval.of_mean([2 * v for v in values])
    assert (doubled.low, doubled.high) == (2 * first.low, 2 * first.high)
    assert min(values) < first.low < sum(values) / 5 < first.high < max(values)


def test_few_trials_have_no_interval_and_equal_ones_a_point():
    assert interval.of_mean([1.0, 2, 3, 4]) is None
    assert interval.of_mean([0.1] * 7) == Interval(0.1, 0.1)


def result(arm: str, size: int, seed: int, mean_ms: float) -> dict:
    """As much of a run's result as is judged: all responses are of the mean's bucket."""
    low = 1 << (int(mean_ms * MS).bit_length() - 1)
    times = {"mean": mean_ms * MS, "max": mean_ms * MS}
    job = {"job": "r", "ios": 1, "response_ns": times, "histogram": [[low, 3]]}
    return {"arm": arm, "variables": {"size": size, "seed": seed}, "jobs": [job]}


def results(ours: float, old: float, growth: float = 1, only_ours: float = 0) -> list[dict]:
    """Both arms with these means at size 1, and `growth` times as much at size 2. The seeds'
    noise is common to both, and `only_ours` of it is ours beside."""
    found = []
    for arm, centre in (("ours", ours), ("old", old)):
        for size in (1, 2):
            for seed, noise in enumerate(NOISE, 1):
                own = only_ours * noise if arm == "ours" else 0
                found.append(result(arm, size, seed, centre * growth ** (size - 1) + noise + own))
    return found


def verdict(folder: Path, found: list[dict], *rows: str) -> Verdict:
    path = folder / "e.toml"
    path.write_text(TEXT + "\n".join(rows) + "\n")
    [one] = expect.judge(load(path), found)
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
    one = verdict(tmp_path, results(ours, 20, 1, only_ours), *rows)
    assert one.met is met, one.why
    assert one.word == {True: "as said", False: "NOT SO", None: "not told apart"}[met]
    assert one.failed == (met is False)
    assert "(95 %: " in one.why


@pytest.mark.parametrize(("growth", "met"), [(1.01, True), (0.99, False), (1, None)])
def test_so_do_the_values_along_a_variable(tmp_path: Path, growth: float, met: bool | None):
    rows = ('metric = "r.mean_ms"', 'op = ">"', 'along = "size"')
    one = verdict(tmp_path, results(20, 20, growth), *rows)
    assert (one.met, one.undecided) == (met, met is None), one.why


def test_a_fixed_limit_is_compared_with_the_value_whose_interval_is_told(tmp_path: Path):
    found = results(20, 20)
    mean = verdict(tmp_path, found, 'metric = "r.mean_ms"', 'op = "<"', "value = 20.5")
    assert mean.met is True
    assert "20 ms (the mean of 12 runs, 95 %: 16." in mean.why
    most = verdict(tmp_path, found, 'metric = "r.max_ms"', 'op = "<"', "value = 25")
    assert "25 ms (the largest of 12 runs, 15 to 25)" in most.why


def test_with_few_trials_the_values_decide_and_the_words_say_so(tmp_path: Path):
    path = tmp_path / "e.toml"
    path.write_text(
        (TEXT + "\n".join(LESS) + "\n").replace("seed = [1, 2, 3, 4, 5, 6]", "seed = [1]")
    )
    found = [one for one in results(19, 20) if one["variables"]["seed"] == 1]
    [one] = expect.judge(load(path), found)
    assert (one.word, one.sure) == ("as said", False)
    assert one.why.endswith("; 1 trial, so no interval")


def test_the_table_has_intervals_of_means_and_ranges_of_extremes(tmp_path: Path):
    path = tmp_path / "e.toml"
    path.write_text(TEXT + "\n".join(LESS) + "\n")
    found = [one for one in results(20, 20) if one["variables"]["size"] == 1]
    rows = summary.table(load(path), found)
    first, spread = rows[2:4]
    assert first[:2] == ["ours size=1", "6"]
    assert spread[0] == summary.SPREAD and spread[3] == "15 to 25"
    low, high = (float(word) for word in spread[2].split(" to "))
    exact = interval.of_mean([20 + noise for noise in NOISE])
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=0.01)
    assert summary.sureness(found).startswith("below a row: 95 % intervals")
    assert summary.sureness(found[:1]) == "1 trial, so no interval of the means"
    assert [row[0] for row in summary.table(load(path), found[:1])[2:]] == ["ours size=1"]


def test_a_sum_over_trials_has_the_interval_of_a_sum():
    found = [one for one in results(6, 6) if one["arm"] == "ours" and one["variables"]["size"] == 1]
    counted = significance.spread(found, "r.over_5_ms")
    each = [3.0 if 6 + noise >= 8.388608 else 0.0 for noise in NOISE]
    exact = interval.of_mean(each)
    assert (counted.low, counted.high) == (6 * exact.low, 6 * exact.high)


def test_findings_that_are_not_told_apart_are_counted_by_themselves():
    rows = [
        Verdict("", None, "", paper="Author 1999: more", undecided=True),
        Verdict("", True, "", paper="Author 1999: less", sure=False),
    ]
    head, row, few = findings.table(findings.of_verdicts(rows))
    assert "not told apart" in head
    assert row.split()[-5:] == ["1", "0", "0", "1", "0"]
    assert few.startswith("1 of them")
