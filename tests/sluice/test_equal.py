"""An experiment whose arms are equal to the digit fails.

Two arms, `one` and `other`, have two trials each in the settings rw=a and rw=b; in each test only
the values differ. `may` are the rows of the file that allow two arms to be equal.
"""

from types import SimpleNamespace

import pytest

from sluice.experiment import equal_arms


def results(other: list[float], setting: str = "a") -> list[dict]:
    """Return the trials of two arms, of which the first has 1.5 and 2.5."""
    return [
        {"arm": arm, "variables": {"rw": setting, "seed": seed}, "stats": {"x": value}}
        for arm, values in (("one", [1.5, 2.5]), ("other", other))
        for seed, value in enumerate(values)
    ]


def judge(found: list[dict], *may: dict) -> list[str]:
    """Return the verdicts on equal arms, as texts."""
    experiment = SimpleNamespace(
        plot={"lead": "stat.x"}, equal=[{"where": {}, **row} for row in may]
    )
    verdicts = equal_arms.judge_equal_arms(experiment, found)
    return [f"{v.word}: {v.says}; {v.why}" for v in verdicts]


@pytest.fixture(autouse=True)
def stats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a metric read from the results made here."""
    monkeypatch.setattr(
        equal_arms.significance,
        "seed_values",
        lambda t, _: {r["variables"]["seed"]: r["stats"]["x"] for r in t},
    )


def test_arms_that_are_equal_in_a_setting_fail() -> None:
    """They differ in the setting a, and are equal in b."""
    found = results([1.5, 2.6]) + results([1.5, 2.5], "b")
    (said,) = judge(found)
    assert said.startswith("NOT SO: one and other are not the same thing; stat.x is equal to the")
    assert "all 2 trials" in said and "b" in said.split("trials")[1]


def test_arms_that_may_be_equal_are_named_in_the_file() -> None:
    """Another pair of arms does not count."""
    assert judge(results([1.5, 2.5]), {"arms": ["other", "one"]}) == []
    assert judge(results([1.5, 2.5]), {"arms": ["other", "third"]}) != []


def test_arms_may_be_equal_in_the_settings_that_the_file_says_only() -> None:
    """Allowed in a, they still fail in b."""
    found = results([1.5, 2.5]) + results([1.5, 2.5], "b")
    (said,) = judge(found, {"arms": ["one", "other"], "where": {"rw": "a"}})
    assert "b" in said.split("trials")[1]
    assert judge(found, {"arms": ["one", "other"], "where": {"rw": ["a", "b"]}}) == []


def test_arms_that_differ_in_a_trial_do_not_fail() -> None:
    assert judge(results([1.5, 2.5000001])) == []
