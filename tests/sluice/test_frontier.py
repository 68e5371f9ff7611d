"""The picture of what a power cut loses beside what reads wait (frontier).

Each arm of the experiment crash-frontier is a point: the age of its oldest loss in s (AGE) and the
time of its slow reads in ms (READ), under one of several loads. The front has the arms than which
no other is better in both. `kept` has the stored results.
"""

import copy
import re
from itertools import combinations
from pathlib import Path

import pytest

from sluice.experiment.result import BadResult
from sluice.results import frontier, store, update
from sluice.results.frontier import AGE, LOADS, READ, Picture
from sluice.results.stored_records import StoredResults, StoredRow


@pytest.fixture(scope="module")
def kept() -> StoredResults:
    """Return the stored results of the experiment."""
    return store.read_stored(frontier.EXPERIMENT)


def picture_of(kept: StoredResults, load: str) -> Picture:
    """Return the picture of one load."""
    rows = frontier.load_rows(kept, load)
    return frontier.make_picture(rows, frontier.make_scale(rows))


def point(row: StoredRow) -> tuple[float, float]:
    """Return the age and the response time of a row."""
    return row["measured"][AGE], row["measured"][READ]


def row_of(arm: str, age_s: float, read_ms: float) -> StoredRow:
    """Return a stored row with these figures, under the load hot."""
    measured = {AGE: age_s, READ: read_ms, frontier.WRITES: 100}
    return {"arm": arm, "at": {"load": "hot"}, "trials": 1, "measured": measured}


def test_readmes_picture_is_that_of_the_stored_results(kept: StoredResults) -> None:
    """The picture in the tree is equal to one that is drawn now."""
    drawn = frontier.draw_frontier(kept, frontier.SHOWN)
    assert frontier.PICTURE.read_text() == drawn, "sluice results tables draws it anew"


@pytest.mark.parametrize("load", LOADS)
def test_each_arm_has_one_label_and_no_label_touches_another_or_a_mark(
    kept: StoredResults, load: str
) -> None:
    """All labels are inside the picture's frame."""
    shown = picture_of(kept, load)
    arms = [arm for mark in shown.marks for arm in mark.arms]
    assert sorted(arms) == sorted(row["arm"] for row in frontier.load_rows(kept, load))
    said = [label.words for label in shown.labels]
    assert all(said.count(mark.label()) == 1 for mark in shown.marks)
    boxes = [label.box for label in shown.labels]
    assert not [pair for pair in combinations(boxes, 2) if frontier.overlap(*pair)]
    marks = [mark.box() for mark in shown.marks]
    assert not [(box, mark) for box in boxes for mark in marks if frontier.overlap(box, mark)]
    for left, top, right, bottom in boxes:
        assert frontier.LEFT < left < right < frontier.RIGHT
        assert frontier.TOP < top < bottom < frontier.BOTTOM


@pytest.mark.parametrize("load", LOADS)
def test_no_arm_is_better_than_one_of_the_front_and_each_other_arm_is_worse_than_one(
    kept: StoredResults, load: str
) -> None:
    """An arm is in the front if and only if no other arm is at least as good in both figures. Of
    arms with equal figures one stands for all."""
    rows = frontier.load_rows(kept, load)
    front = {row["arm"] for row in frontier.find_front(rows)}
    assert front
    points_of_front = {point(row) for row in rows if row["arm"] in front}
    for row in rows:
        age, read = point(row)
        others = [point(one) for one in rows if point(one) != (age, read)]
        better = [(a, r) for a, r in others if a <= age and r <= read]
        assert ((age, read) in points_of_front) == (not better), row["arm"]


@pytest.mark.parametrize("load", LOADS)
def test_a_mark_is_further_right_the_older_and_higher_the_slower(
    kept: StoredResults, load: str
) -> None:
    """Each two arms are compared. A picture's y grows downwards, so the slower read has the less y.
    Arms that are nearer than SHARED_PX share a mark, so their order cannot be seen."""
    shown = picture_of(kept, load)
    places = {arm: (mark.x, mark.y) for mark in shown.marks for arm in mark.arms}
    for one, other in combinations(frontier.load_rows(kept, load), 2):
        (x, y), (to_x, to_y) = places[one["arm"]], places[other["arm"]]
        (age, read), (to_age, to_read) = point(one), point(other)
        assert x == to_x or (x < to_x) == (age < to_age) or abs(x - to_x) < frontier.SHARED_PX
        assert y == to_y or (y < to_y) == (read > to_read) or abs(y - to_y) < frontier.SHARED_PX


def test_equal_ratios_are_equal_distances_and_the_drawn_circle_is_where_the_figures_are() -> None:
    """Both axes are logarithmic. A circle has the colour of its arm's family, as PU; HAC, which is
    the best of all in both figures, has the colour of the best."""
    steps = [frontier.age_position(seconds) for seconds in (1, 10, 100)]
    assert steps[1] - steps[0] == pytest.approx(steps[2] - steps[1])
    scale = frontier.Scale(10, 1000)
    middle = (frontier.TOP + frontier.BOTTOM) / 2
    assert scale.height(100) == pytest.approx(middle)
    rows = [row_of("PU 30 s", 10, 400), row_of("HAC", 2, 50)]
    drawn = frontier.draw_frontier({"rows": rows}, "hot")
    found = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+" fill="([^"]+)" f', drawn)
    at = frontier.make_scale(rows)
    assert found == [
        (f"{frontier.age_position(row['measured'][AGE]):.1f}", f"{at.height(read):.1f}", colour)
        for row, read, colour in zip(
            rows, (400, 50), (frontier.FAMILIES["PU"], frontier.BEST), strict=True
        )
    ]


def test_a_picture_says_as_safe_only_if_it_is_so(kept: StoredResults) -> None:
    """The words compare PU with 30 s and AIPU with 15 s. They are left out if AIPU loses more."""
    said = "as safe, but slow reads"
    slow = {row["arm"]: point(row)[1] for row in frontier.load_rows(kept, "hot")}
    times = round(slow["PU 30 s"] / slow["AIPU 15 s"])
    drawn = frontier.draw_frontier(kept, "hot")
    assert said in drawn
    assert f"take 1/{times} of the time" in drawn
    later = copy.deepcopy(kept)
    for row in frontier.load_rows(later, "hot"):
        if row["arm"] == "AIPU 15 s":
            row["measured"][AGE] = 17
    assert said not in frontier.draw_frontier(later, "hot")


def test_arms_at_one_place_share_a_mark() -> None:
    """10 s and 10.01 s are one place."""
    rows = [row_of("HAC", 10, 50), row_of("ACP", 10.01, 50), row_of("IPU", 30, 40)]
    shown = frontier.make_picture(rows, frontier.make_scale(rows))
    assert [mark.label() for mark in shown.marks] == ["HAC, ACP", "IPU"]


def test_results_that_cannot_be_drawn_are_refused() -> None:
    """No results of this load; an age left of the axis; and more labels than there are places."""
    with pytest.raises(BadResult, match="no results of load=mail are stored"):
        frontier.draw_frontier({"rows": [row_of("HAC", 10, 50)]}, "mail")
    with pytest.raises(BadResult, match=r"an age of 0\.1 s is not on the picture's axis"):
        frontier.draw_frontier({"rows": [row_of("HAC", 0.1, 50)]}, "hot")
    crowd = [row_of(f"a policy with a long name, {i}", 10 + i, 50) for i in range(40)]
    with pytest.raises(BadResult, match="no place for the label a policy with a long name"):
        frontier.draw_frontier({"rows": crowd}, "hot")


def test_putting_results_into_documents_draws_the_picture_if_it_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first time there is no picture, the second time it is equal."""
    path = tmp_path / "front" / "frontier.svg"
    monkeypatch.setattr(frontier, "PICTURE", path)
    update.update_documents({frontier.EXPERIMENT})
    assert f"drawn: {path}" in capsys.readouterr().out
    assert path.read_text().startswith("<svg")
    update.update_documents({frontier.EXPERIMENT})
    assert "drawn" not in capsys.readouterr().out
