"""Contests: an arm against all others that give its promise; to lose is told, and no failure.

TEXT is an experiment with a contest of the arm `ours` against `old` and `late`, under two loads
with five seeds. A match is one metric under one load. An arm takes part if its bound (PROMISE) is
at most 1.5 times that of ours, so `late` does not. A second metric (WRITES) is compared with `old`
alone. Verdicts come in the order: mean at load 1, writes at load 1, mean and writes at load 2.
"""

import re
from pathlib import Path

import pytest

from sluice.experiment import contest as judging
from sluice.experiment import expect, summary
from sluice.experiment.load import load
from sluice.experiment.schema import BadExperiment, Experiment
from sluice.experiment.verdict import Verdict
from sluice.report import lead, page
from sluice.report.comparison import contests
from sluice.report.study import Study

TEXT = """\
claim = "ours is the best"
source = "this test"
[[arms]]
name = "ours"
[[arms]]
name = "old"
[[arms]]
name = "late"
[sweep]
load = [1, 2]
seed = [1, 2, 3, 4, 5]
[workload]
commands = "iogen name=r rw=read filename=/bin/sh nr={load} seed={seed}"
[contest]
arm = "ours"
metrics = ["r.mean_ms"]
bound = "stat.disk.reads"
bound_times = 1.5
no_more = {"stat.disk.writes" = "old"}
"""
MS = 1_000_000
PROMISE = {"ours": 20, "old": 30, "late": 31}  # the bound's metric: late's is 1.55 times ours
WRITES = {"ours": 5, "old": 5, "late": 1}


def contest(folder: Path, text: str = TEXT) -> Experiment:
    """Return the experiment with this text."""
    path = folder / "contest.toml"
    path.write_text(text)
    return load(path)


def result(arm: str, load: int, seed: int, mean_ms: float) -> dict:
    """Return a run's result with only the parts that are judged."""
    line = {"job": "r", "ios": 1, "response_ns": {"mean": mean_ms * MS}, "histogram": [[100, 1]]}
    counters = {"disk.reads": (PROMISE[arm], ""), "disk.writes": (WRITES[arm], "")}
    at = {"load": load, "seed": seed}
    return {"arm": arm, "variables": at, "jobs": [line], "counters": counters}


SEEDS = (1, 2, 3, 4, 5)


def results(means: dict[str, float], seeds: tuple[int, ...] = SEEDS) -> list[dict]:
    """Return results of all arms: these means under load 1, twice the means under load 2.
    The seeds differ far more than the arms, but in the same way for all arms."""
    return [
        result(arm, load, seed, mean * load + 3 * (seed - 3))
        for arm, mean in means.items()
        for load in (1, 2)
        for seed in seeds
    ]


def verdicts(experiment: Experiment, means: dict[str, float]) -> list[Verdict]:
    """Return the verdicts on results with these means."""
    return expect.judge_experiment(experiment, results(means))


@pytest.mark.parametrize(
    ("ours", "word"), [(9.9, "won"), (10, "no difference seen"), (10.1, "LOST")]
)
def test_it_is_won_by_who_has_less_than_every_other(tmp_path, ours: float, word: str):
    """ours: its mean; old has 10, and the mean of late does not matter."""
    found = verdicts(contest(tmp_path), {"ours": ours, "old": 10, "late": 1})
    assert [v.word for v in found] == [word, "won", word, "won"]
    assert not any(v.is_failed for v in found)
    assert found[0].says == "ours has the least r.mean_ms of 2 arms at load 1"
    assert ("better: old 10" in found[0].why) == (word == "LOST")


def test_who_is_ahead_with_some_seeds_and_behind_with_others_neither_wins_nor_loses(tmp_path: Path):
    """One seed's mean of ours is 8 ms higher."""
    found = results({"ours": 9, "old": 10, "late": 1})
    for one in found:
        if one["arm"] == "ours" and one["variables"] == {"load": 1, "seed": 2}:
            one["jobs"][0]["response_ns"]["mean"] += 8 * MS
    mean, *_ = expect.judge_experiment(contest(tmp_path), found)
    assert (mean.word, mean.met, mean.is_failed) == ("no difference seen", None, False)
    assert "no difference seen: old 10; difference 0.6 (95 %: -1" in mean.why


def test_a_lost_match_has_an_interval_of_the_loss_ratio(tmp_path: Path):
    """12 against 10 loses by 20 %, and by more with one seed. Four trials give no interval."""
    found = results({"ours": 12, "old": 10, "late": 1})
    for one in found:
        if one["arm"] == "ours" and one["variables"] == {"load": 1, "seed": 2}:
            one["jobs"][0]["response_ns"]["mean"] += MS
    match, *_ = judging.play_matches(contest(tmp_path), found)
    low, high = match.loss_interval.low, match.loss_interval.high
    assert (match.is_won, low) == (False, pytest.approx(0.2, abs=0.02))
    assert low < match.loss_ratio < high < 0.31
    few = [one for one in found if one["variables"]["seed"] < 5]
    with_few = contest(tmp_path, TEXT.replace("seed = [1, 2, 3, 4, 5]", "seed = [1, 2, 3, 4]"))
    assert judging.play_matches(with_few, few)[0].loss_interval is None


def test_with_few_trials_nobody_wins_or_loses_and_the_words_say_so(tmp_path: Path):
    """Four seeds are too few."""
    text = TEXT.replace("seed = [1, 2, 3, 4, 5]", "seed = [1, 2, 3, 4]")
    for ours in (9, 11):
        found = results({"ours": ours, "old": 10, "late": 1}, SEEDS[:4])
        experiment = contest(tmp_path, text)
        mean, *_ = verdicts = expect.judge_experiment(experiment, found)
        assert (mean.word, mean.met) == ("not judged", None)
        assert "; not judged: old 8.5; " in mean.why
        assert mean.why.endswith("; 4 trials, so no interval")
        said = lead.verdict_counts(verdicts)
        assert said == "0 of 4 matches of the contest were won, 4 not judged."
        assert "<td>0 (2 not judged: too few trials" in contests.contests_table(
            [Study(experiment, found)]
        )


def test_who_promises_less_is_not_in_it(tmp_path: Path):
    """With 1.6 in place of 1.5, late takes part, and wins."""
    text = TEXT.replace("bound_times = 1.5", "bound_times = 1.6")
    found = verdicts(contest(tmp_path, text), {"ours": 5, "old": 10, "late": 1})
    assert found[0].word == "LOST"
    assert found[0].says.startswith("ours has the least r.mean_ms of 3 arms")


def test_who_is_set_aside_is_not_in_it(tmp_path: Path):
    """Without old there is nobody to compare with."""
    found = verdicts(
        contest(tmp_path, TEXT + 'aside = ["old"]\n'), {"ours": 5, "old": 1, "late": 1}
    )
    assert found[0].word == "unknown"


def test_no_more_is_against_one_arm(tmp_path: Path):
    """The writes are compared with those of late, which has fewer."""
    text = TEXT.replace('"stat.disk.writes" = "old"', '"stat.disk.writes" = "late"')
    found = verdicts(contest(tmp_path, text), {"ours": 5, "old": 10, "late": 10})
    assert [v.word for v in found] == ["won", "LOST", "won", "LOST"]


def test_an_arm_that_lacks_runs_is_not_in_it(tmp_path: Path):
    """old lacks one run under load 1."""
    some = [
        r
        for r in results({"ours": 10, "old": 9})
        if r["arm"] == "ours" or r["variables"] != {"load": 1, "seed": 2}
    ]
    found = expect.judge_experiment(contest(tmp_path), some)
    assert [v.word for v in found] == ["unknown", "unknown", "LOST", "won"]


def test_of_half_made_results_nothing_is_told(tmp_path: Path):
    """An interrupted experiment leaves some trials of each arm, and not the same trials: here seed
    1 of `ours`, and seed 2 of the others."""
    some = [
        r
        for r in results({"ours": 9, "old": 10, "late": 1})
        if r["variables"]["seed"] <= 2 and (r["variables"]["seed"] == 1) == (r["arm"] == "ours")
    ]
    experiment = contest(tmp_path)
    assert expect.judge_experiment(experiment, some) == []
    one, other = ([r for r in some if r["arm"] == arm] for arm in ("ours", "old"))
    claim = lead.compare_less("r.mean_ms", one, other)
    assert (claim.met, claim.trials) == (None, 0)
    assert page.expectations_section(Study(experiment, some))


def test_the_terminal_and_the_page_say_lost(tmp_path: Path):
    """Ours has a mean of 11 ms, and the best of the others 10 ms."""
    experiment = contest(tmp_path)
    found = results({"ours": 11, "old": 10, "late": 1})
    printed = "\n".join(summary.expectation_lines(experiment, found))
    assert re.search(r"LOST  ours has the least r.mean_ms of 2 arms at load 1", printed)
    html = page.expectations_section(Study(experiment, found))
    assert '<tr class="unmet"><td><b>LOST</b></td><td>ours has the least' in html


def test_the_comparison_tells_of_each_measure_how_often_it_is_won_and_what_is_lost(tmp_path: Path):
    """Of two matches of the mean none is won, of two of the writes both."""
    html = contests.contests_table(
        [Study(contest(tmp_path), results({"ours": 11, "old": 10, "late": 1}))]
    )
    mean, writes = re.findall(r"<tr>(<td>.*</td>)</tr>", html)
    assert mean.startswith('<td><a href="contest/report.html">contest</a></td><td>ours</td>')
    assert (
        "<td>r.mean_ms</td><td>all that promise as much</td><td>2</td><td>0</td><td>0</td>" in mean
    )
    assert "<summary>10.0 %, to old</summary>" in mean
    assert "<li>load = 2: 22, by 10.0 % more than old&#x27;s 20; difference 2 (95 %" in mean
    assert "<td>stat.disk.writes</td><td>old</td><td>2</td><td>2</td><td>0</td><td></td>" in writes


def test_the_comparison_does_not_count_where_nobody_else_is(tmp_path: Path):
    experiment = contest(tmp_path, TEXT + 'aside = ["old"]\n')
    html = contests.contests_table([Study(experiment, results({"ours": 11, "late": 1}))])
    assert html == ""


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('arm = "ours"\nmetrics', 'arm = "our"\nmetrics', 'unknown arm "our"'),
        ('["r.mean_ms"]', '["x.mean_ms"]', 'unknown job "x"'),
        ('["r.mean_ms"]', '["r.mean"]', 'unknown metric "r.mean"'),
        ('bound = "stat.disk.reads"', 'bound = "stat.disk.red"', 'unknown counter "disk.red"'),
        ('= "old"}', '= "ol"}', 'unknown arm "ol"'),
        ('= "old"}', '= "ours"}', '"ours": is the arm of the contest'),
        ('metrics = ["r.mean_ms"]\n', "", 'the key "metrics" is missing'),
        ("bound_times = 1.5", 'aside = ["l"]', 'unknown arm "l"'),
        ("bound_times", "bound_time", 'unknown key "bound_time"'),
    ],
)
def test_a_bad_contest_is_refused_with_words(tmp_path: Path, old: str, new: str, why: str):
    """`old` in TEXT is replaced by `new`."""
    assert TEXT.count(old) == 1
    with pytest.raises(BadExperiment, match=re.escape(why)):
        contest(tmp_path, TEXT.replace(old, new))


def test_a_number_of_values_has_no_unit_and_a_time_has_its_own() -> None:
    """The metric counts reads over 450 ms."""
    assert expect.format_figure(3, "read.over_450_ms") == "3"
    assert expect.format_figure(3, "read.max_ms") == "3 ms"
