"""The table of a class's measured figures.

A record has the measured tests mean, worst and secret (hidden), in ms, and a test that is right or
wrong. Students are ranked by their mean place in the visible measured tests.
"""

import re

from grade.course import leaderboard
from grade.engine.record import Outcome, Record


def record(mean_ms: float | None, worst_ms: float | None, secret_ms: float = 1) -> Record:
    """Return a student's record with these values; None: not measured."""

    def test(name: str, value: float | None, hidden: bool = False) -> Outcome:
        """Return the outcome of a measured test; 10 or less is all points, 90 none."""
        limits = {"value": value, "full": 10.0, "none": 90.0, "unit": "ms"}
        found = limits if value is not None else {}
        return Outcome("g", name, "", hidden, 0.5, 1, measured=True, **found)

    tests = [test("mean", mean_ms), test("worst", worst_ms), test("secret", secret_ms, True)]
    return Record("open", "Own", "7", tests=[*tests, right_or_wrong("order", "sweep", 1)])


def right_or_wrong(group: str, name: str, points: float, hidden: bool = False) -> Outcome:
    """Return a test that measures nothing, and is worth one point."""
    return Outcome(group, name, "", hidden, points, 1)


CLASS = {
    "ada": record(12, 80),
    "bob": record(11, 20),
    "cyd": record(30, 15),
    "eve": record(5, None),
}


def names(page: str) -> list[str]:
    """Return the students of the table, in its order."""
    return re.findall(r"<tr><td>(\w+)</td>", page)


def test_who_has_the_best_mean_place_is_first_and_who_was_not_measured_is_not_there() -> None:
    """eve lacks the second figure."""
    page = leaderboard.format_leaderboard(CLASS)
    assert names(page) == ["bob", "cyd", "ada"]


def test_who_is_wrong_elsewhere_is_not_ranked_however_fast_and_the_page_says_why() -> None:
    """Three submissions with shortest seek first once led the elevator's leaderboard."""
    fast, sly = record(1, 1), record(2, 2)
    fast.tests += [right_or_wrong("rise", "up", 0), right_or_wrong("rise", "on", 0)]
    sly.tests.append(right_or_wrong("long", "thousands", 0, hidden=True))
    page = leaderboard.format_leaderboard(CLASS | {"fay": fast, "sly": sly})
    assert names(page) == ["bob", "cyd", "ada"]
    assert re.findall(r"<b>(.*?)</b>", page) == ["11", "15"]
    assert "Not ranked" in page and "fay (rise); sly (long)" in page
    assert "Not ranked" not in leaderboard.format_leaderboard(CLASS)


def test_a_class_where_nobody_is_right_has_the_limits_and_no_ranks() -> None:
    """The only student fails a test that measures nothing."""
    wrong = record(1, 1)
    wrong.tests.append(right_or_wrong("rise", "up", 0))
    page = leaderboard.format_leaderboard({"fay": wrong})
    assert names(page) == [] and "all points up to" in page and "fay (rise)" in page


def test_the_best_of_each_column_stands_out_and_hidden_tests_have_none() -> None:
    page = leaderboard.format_leaderboard(CLASS)
    assert re.findall(r"<b>(.*?)</b>", page) == ["11", "15"]
    assert "mean (ms)" in page and "secret" not in page


def test_figures_that_are_printed_alike_share_a_place() -> None:
    """Two right solutions differ by a few instructions. Such a difference earns no better place."""
    page = leaderboard.format_leaderboard({"ada": record(199.40001, 5), "bob": record(199.4, 5)})
    assert re.findall(r"<tr><td>(\w+)</td><td>([\d.]+)</td>", page) == [
        ("ada", "1.0"),
        ("bob", "1.0"),
    ]
    assert re.findall(r"<b>(.*?)</b>", page) == ["199.4", "5", "199.4", "5"]


def test_the_limits_of_points_stand_above_all() -> None:
    page = leaderboard.format_leaderboard(CLASS)
    assert page.index("all points up to") < page.index("none from") < page.index("bob")


def test_a_class_of_a_lab_that_measures_nothing_has_no_leaderboard() -> None:
    assert leaderboard.format_leaderboard({"ada": record(None, None)}) == ""
