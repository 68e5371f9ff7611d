"""The search for tunables: what it tries, what it believes, and what a file may ask of it.

A search tries candidates, which are values of policies and tunables (CHOICES), with the first
seeds; the best of them, the finalists, are tried with the other seeds, and the best is believed
only if it is better than the arm `by hand` with all of them. In these tests no run is made: a
function of the run's variables gives its mean time in ms, so each test says what would be
better.
"""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sluice.experiment.load import load, read_toml
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import BadExperiment, Run
from sluice.sweep import search_report as tune
from sluice.sweep import tuning
from sluice.sweep.tuning import Found, Search

FILE = tune.FILES / "sluice.toml"
CHOICES = {"update": ["ipu", "aipu"], "sluice.free": [0, 50, 90], "sluice.gap": [10, 30]}
HAND = {"update": "ipu", "sluice.free": 90, "sluice.gap": 30}

MeanMs = Callable[[dict], float | None]  # of a run's variables, with all values of CHOICES


def small(**more: object) -> Search:
    """Return a search among few values, under two loads."""
    whole = tuning.read_search(FILE)
    opened = replace(
        whole.opened, sweep=whole.opened.sweep | {"load": ["steady", "log"], "drive": ["rz58"]}
    )
    row = {"values": CHOICES, "metrics": ["read.mean_ms"], "candidates": 24, "finalists": 4}
    return Search(whole.path, opened, whole.tune | row | more)


class Measurer:
    """Replacement for the runs: a function gives their results. Notes the runs that would be
    made."""

    def __init__(self, mean_ms: MeanMs) -> None:
        self.mean_ms = mean_ms
        self.made: list[Run] = []

    def find(self, run: Run) -> dict | None:
        value = self.mean_ms(HAND | run.variables)
        return None if value is None else {"read.mean_ms": value}

    def measure(self, runs: list[Run], done: Callable[[], None]) -> list[str]:
        """Note the runs, report each as ended, and return a message for each that fails."""
        self.made += runs
        for _ in runs:
            done()
        return [f"{run.name}: ended" for run in runs if self.find(run) is None]


def search_by(mean_ms: MeanMs, **more: object) -> Found:
    """Return what the search finds if runs take what this function says; None means that a run
    fails."""
    return tuning.run_search(small(**more), Measurer(mean_ms), lambda: None)


def test_the_search_finds_what_is_less_with_all_seeds_be_it_a_value_or_a_policy() -> None:
    """The mean time grows with both tunables, and is 5 ms more under ipu. So the best candidate has
    the lowest values and aipu."""
    came = search_by(
        lambda v: 10 + v["sluice.free"] / 10 + v["sluice.gap"] + 5 * (v["update"] == "ipu")
    )
    best = came.best.point
    assert (best["update"], best["sluice.free"], best["sluice.gap"]) == ("aipu", 0, 10)
    assert best.keys() == {"arm", *CHOICES}
    assert len(came.finalists) == 4 and len(came.candidates) == 24


def test_what_is_less_with_the_first_seed_alone_is_not_believed() -> None:
    """With the first seed, free = 0 takes 5 ms in the place of 10, with all others 10. So it leads
    to the finals, where it is no better than the arm by hand."""
    first = tuning.read_search(FILE).seeds[0][0]
    came = search_by(lambda v: 10 - 5 * (v["seed"] == first and v["sluice.free"] == 0))
    assert came.best is None and came.settings == {}
    assert [c.point["sluice.free"] for c in came.finalists] == [0, 0, 0, 0]


def test_what_is_less_with_most_seeds_is_not_told_apart() -> None:
    """gap = 10 takes less time with four of five seeds, and more with the fifth."""
    came = search_by(lambda v: 10 - (v["sluice.gap"] == 10) * (0.1 if v["seed"] % 5 else -0.2))
    assert came.best is None


def test_candidates_are_screened_with_the_first_seeds_and_finalists_get_the_others() -> None:
    """The runs are those of two loads, with each seed of 24 candidates or 4 finalists, and always
    of the arm by hand. One call reports the end of each run."""
    measurer, search, ended = Measurer(lambda v: 10 + v["sluice.free"]), small(), []
    tuning.run_search(search, measurer, lambda: ended.append(1))
    first, others = search.seeds
    screened = [run for run in measurer.made if run.variables["seed"] in first]
    judged = [run for run in measurer.made if run.variables["seed"] in others]
    assert len(screened) == 2 * len(first) * (24 + 1) and len(judged) == 2 * len(others) * (4 + 1)
    assert len(ended) == len(measurer.made) == search.runs
    assert {run.config["engine"] for run in measurer.made} == {"twin"}


def test_a_candidate_that_fails_is_none() -> None:
    """Candidates with free = 0 fail, so 50 is the best."""
    came = search_by(lambda v: None if v["sluice.free"] == 0 else 10 + v["sluice.free"])
    assert came.best.point["sluice.free"] == 50
    assert 0 < len(came.candidates) < 24


def test_an_arm_that_fails_is_said() -> None:
    """All runs fail, also those of the arm by hand."""
    with pytest.raises(RunFailed, match="ended"):
        search_by(lambda v: None)


def test_equal_files_give_equal_candidates() -> None:
    """Times are random, and the same for the same values; two searches try the same candidates."""
    chance = random.Random(1)
    values: dict[tuple, float] = {}

    def by_chance(v: dict) -> float:
        return values.setdefault(tuple(v.items()), 5 + chance.random())

    one, again = search_by(by_chance), search_by(by_chance)
    assert one == again
    assert len({tuple(c.point.items()) for c in one.candidates}) > 4


def test_the_search_says_in_which_settings_it_gains() -> None:
    """gap = 10 halves the time under the load `log`, and changes nothing under `steady`. If all
    candidates take the same time, the summary says that none is better."""
    came = search_by(lambda v: 20 - 10 * (v["load"] == "log" and v["sluice.gap"] == 10))
    assert all(len(row["read.mean_ms"]) == 5 for row in came.settings.values())
    text = "\n".join(tune.search_summary(small(), came))
    assert "| steady, rz58 | +0.0 % (+0.0 to +0.0) |" in text
    assert "| log, rz58 | **-50.0 % (-50.0 to -50.0)** |" in text
    assert "gap 10" in text
    nothing = "\n".join(tune.search_summary(small(), search_by(lambda v: 1)))
    assert "None of them is significantly better" in nothing


def test_what_was_found_becomes_an_arm() -> None:
    """Values that were not searched stay those of the arm by hand."""
    point = {"arm": "by hand", "update": "aipu", "sluice.free": 0, "sluice.gap": 30}
    arm = small().to_arm(point, "found")
    assert (arm["name"], arm["policies"]["update"]) == ("found", "aipu")
    assert (arm["tunables"]["sluice.free"], arm["tunables"]["sluice.stay"]) == (0, 320)
    assert small().changed_values(point) == {"update": "aipu", "sluice.free": 0}
    load(FILE, tune.HELD, arms=[arm])


def test_a_difference_is_paired_by_setting_and_averaged_over_settings() -> None:
    """Twice as much under one load and half as much under the other cancel out: differences are
    logarithms, and log 2 is 0.6931."""

    def trials(scales: tuple) -> dict:
        """Return results of three seeds under two loads, of which each takes a multiple of 10
        ms."""
        return {
            (("load", name), ("seed", seed)): {"read.mean_ms": 10 * scale * seed}
            for name, scale in zip(("steady", "log"), scales, strict=True)
            for seed in (1, 2, 3)
        }

    new, old = trials((2, 0.5)), trials((1, 1))
    assert tuning.differences_by_seed(new, old, ["read.mean_ms"]) == pytest.approx(
        {1: 0, 2: 0, 3: 0}
    )
    settings = tuning.differences_by_setting(new, old, ["read.mean_ms"])
    assert settings[("load", "steady"),]["read.mean_ms"] == pytest.approx([0.6931] * 3, abs=1e-4)


@pytest.mark.parametrize(
    ("trials", "text"),
    [
        ([0.01] * 5, "**+1.0 % (+1.0 to +1.0)**"),
        ([-0.01, 0.02, 0, 0.01, -0.02], "+0.0 % (-1.8 to +1.8)"),
        ([0.01, 0.02], "+1.5 %"),
    ],
)
def test_a_difference_is_bold_if_it_is_told_apart_from_none(trials: list, text: str) -> None:
    """trials: the logarithms of the ratios. Two trials have no interval."""
    assert tune.format_difference(trials) == text


def test_what_is_held_back_is_in_no_part_of_the_search() -> None:
    """The size `HELD` has other loads, drives and seeds, with which the found arm is judged."""
    sizes = read_toml(FILE)[0]["sizes"]
    for name in ("load", "drive", "seed"):
        assert not set(sizes["full"][name]) & set(sizes[tune.HELD][name]), name


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('arm = "by hand"', 'arm = "by han"', 'unknown arm "by han"; did you mean "by hand"?'),
        ('"sluice.stay" = [0,', '"sluice.sta" = [0,', 'unknown tunable "sluice.sta"'),
        ('update = ["ipu", "aipu"', 'update = ["ipu", "aip"', 'unknown update policy "aip"'),
        ('"sluice.early" = [0, 10,', '"sluice.early" = [0, 101,', "not in 0 to 100"),
        ('"sluice.gap" = [10, 30, 60, 100]', '"sluice.gap" = 10', "must be a list of values"),
        ('["read.mean_ms", "read.std', '["read.mean", "read.std', 'unknown metric "read.mean"'),
        ("candidates = 128", "candidate = 128", 'unknown key "candidate"'),
        ("screened = 1", "screened = 4", "must have 5 seeds more, to judge"),
    ],
)
def test_a_wrong_search_is_refused_with_words(tmp_path: Path, old: str, new: str, why: str) -> None:
    text = FILE.read_text()
    assert text.count(old) >= 1
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BadExperiment, match=re.escape(why)):
        tuning.read_search(path)
