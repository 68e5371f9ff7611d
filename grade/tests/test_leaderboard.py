"""The table of a class's measured figures."""

import re

from grade.scoring import leaderboard
from grade.scoring.record import Outcome, Record


def record(mean_ms: float | None, worst_ms: float | None, secret_ms: float = 1) -> Record:
    """Of somebody's submission; None: not measured."""

    def test(name: str, value: float | None, hidden: bool = False) -> Outcome:
        limits = {"value": value, "full": 10.0, "none": 90.0, "unit": "ms"}
        return Outcome("g", name, "", hidden, 1, 1, **(limits if value is not None else {}))

    tests = [test("mean", mean_ms), test("worst", worst_ms), test("secret", secret_ms, True)]
    return Record("open", "Own", "7", tests=tests)


CLASS = {
    "ada": record(12, 80),
    "bob": record(11, 20),
    "cyd": record(30, 15),
    "eve": record(5, None),
}


def names(page: str) -> list[str]:
    return re.findall(r"<tr><td>(\w+)</td>", page)


def test_who_has_the_best_mean_place_is_first_and_who_was_not_measured_is_not_there() -> None:
    page = leaderboard.table(CLASS)
    assert names(page) == ["bob", "cyd", "ada"]


def test_the_best_of_each_column_stands_out_and_hidden_tests_have_none() -> None:
    page = leaderboard.table(CLASS)
    assert re.findall(r"<b>(.*?)</b>", page) == ["11", "15"]
    assert "mean (ms)" in page and "secret" not in page


def test_the_limits_of_points_stand_above_all() -> None:
    page = leaderboard.table(CLASS)
    assert page.index("all points up to") < page.index("none from") < page.index("bob")


def test_a_class_of_a_lab_that_measures_nothing_has_no_leaderboard() -> None:
    assert leaderboard.table({"ada": record(None, None)}) == ""
