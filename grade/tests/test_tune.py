"""The search for tunables: what it draws, what it believes, and what a file may ask of it."""

import random
import re
from pathlib import Path

import pytest

from grade.commands import tune
from grade.commands.tune import Search
from grade.measure.load import load, read_toml
from grade.measure.schema import BadExperiment

FILE = tune.FILES / "sluice.toml"
CHOICES = {"sluice.free": [0, 50, 90], "sluice.gap": [10, 30], "sluice.stay": [0, 100]}
HAND = {"sluice.free": 90, "sluice.gap": 30, "sluice.stay": 100}
MS = 1_000_000


def small(**more: object) -> Search:
    """A search among few values."""
    whole = tune.search_of(FILE)
    row = whole.tune | {"values": CHOICES, "metrics": ["read.mean_ms"], "rounds": 3} | more
    return Search(whole.path, row, whole.arm | {"tunables": HAND})


def result(arm: str, load: str, seed: int, mean_ms: float) -> dict:
    line = {"job": "read", "response_ns": {"mean": mean_ms * MS}, "histogram": [[100, 1]]}
    return {"arm": arm, "variables": {"load": load, "seed": seed}, "jobs": [line]}


def measuring(monkeypatch: pytest.MonkeyPatch, mean_ms) -> list:
    """Have mean_ms(values, load, seed) be what is measured. Returns what was asked for."""
    asked = []

    def measured(search, size, arms, names, jobs, seeds):
        values = {arm["name"]: arm["tunables"] for arm in [search.arm, *arms]}
        asked.append((names, seeds))
        loads = ("steady", "log")
        return [
            result(name, load, seed, mean_ms(values[name], load, seed))
            for name in names
            for load in loads
            for seed in seeds
        ]

    monkeypatch.setattr(tune, "measured", measured)
    return asked


def test_candidates_differ_and_change_what_the_file_allows() -> None:
    drawn = tune.drawn(HAND, CHOICES, 8, random.Random(1))
    assert len({tuple(values.items()) for values in drawn}) == 8
    for values in drawn:
        assert values.keys() == HAND.keys() and values != HAND
        assert all(values[name] in CHOICES[name] for name in values)
    assert drawn == tune.drawn(HAND, CHOICES, 8, random.Random(1))


def test_a_candidate_changes_about_a_third_of_the_values() -> None:
    best = {f"sluice.{n}": 0 for n in range(9)}
    drawn = tune.drawn(best, {name: [0, 1, 2] for name in best}, 200, random.Random(1))
    changes = [sum(values[name] != 0 for name in best) for values in drawn]
    assert sum(changes) / len(changes) == pytest.approx(3, abs=0.4)
    assert min(changes) >= 1


def test_a_difference_is_paired_by_setting_and_averaged_over_settings() -> None:
    found = [
        result(arm, load, seed, 10 * scale * seed)
        for arm, scales in (("new", (2, 0.5)), ("old", (1, 1)))
        for load, scale in zip(("steady", "log"), scales, strict=True)
        for seed in (1, 2, 3)
    ]
    by_trial = tune.differences(found, "new", "old", ["read.mean_ms"])
    assert len(by_trial) == 6
    assert max(by_trial.values()) == pytest.approx(0.6931, abs=1e-4)
    assert tune.by_seed(by_trial) == pytest.approx({1: 0, 2: 0, 3: 0})


def test_the_search_finds_what_is_less_with_all_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    measuring(monkeypatch, lambda v, _, seed: 10 + seed + v["sluice.free"] / 10 + v["sluice.gap"])
    best, rows = tune.searched(small(), 1)
    assert (best["sluice.free"], best["sluice.gap"]) == (0, 10)
    assert rows[-1].startswith("The best: ")
    assert "free 0, gap 10" in rows[-1]


def test_what_is_less_with_the_first_seed_alone_is_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = min(run.variables["seed"] for run in load(FILE).runs)
    asked = measuring(monkeypatch, lambda v, _, seed: 10 - (seed == first and v != HAND) * 5)
    best, rows = tune.searched(small(finalists=2), 1)
    assert best == HAND
    assert rows[-1] == "The best: by hand, which changes none."
    assert {len(names) for names, seeds in asked if first not in seeds} == {3}  # and the best


def test_what_is_less_with_most_seeds_is_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    measuring(monkeypatch, lambda v, _, seed: 10 - (v != HAND) * (0.1 if seed % 5 else -0.2))
    best, _ = tune.searched(small(), 1)
    assert best == HAND


@pytest.mark.parametrize(
    ("trials", "text"),
    [
        ([0.01] * 5, "**+1.0 % (+1.0 to +1.0)**"),
        ([-0.01, 0.02, 0, 0.01, -0.02], "+0.0 % (-1.8 to +1.8)"),
        ([0.01, 0.02], "+1.5 %"),
    ],
)
def test_a_difference_is_bold_if_it_is_told_apart_from_none(trials: list, text: str) -> None:
    assert tune.told(trials) == text


def test_what_is_held_back_is_in_no_part_of_the_search() -> None:
    sizes = read_toml(FILE)[0]["sizes"]
    for name in ("load", "drive", "seed"):
        assert not set(sizes["full"][name]) & set(sizes[tune.HELD][name]), name


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('arm = "by hand"', 'arm = "by han"', 'unknown arm "by han"; did you mean "by hand"?'),
        ('"sluice.stay" = [0,', '"sluice.sta" = [0,', 'unknown tunable "sluice.sta"'),
        ('"sluice.early" = [10, 20,', '"sluice.early" = [10, 101,', "not in 0 to 100"),
        ('"sluice.gap" = [10, 30, 60, 100]', '"sluice.gap" = 10', "must be a list of values"),
        ('["read.mean_ms", "read.std', '["read.mean", "read.std', 'unknown metric "read.mean"'),
        ("rounds = 1 ", "round = 1 ", 'unknown key "round"'),
    ],
)
def test_a_wrong_search_is_refused_with_words(tmp_path: Path, old: str, new: str, why: str) -> None:
    text = FILE.read_text()
    assert text.count(old) >= 1
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BadExperiment, match=re.escape(why)):
        load(path)
