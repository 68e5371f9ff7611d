"""`make fair` calls the right points unfair, of points that are made up.

A lab is fair if each case gets the same points whatever the nonce, a number from which scenarios
are drawn. Cases are the reference, wrong answers (which lose in their groups only) and attacks
(which have at most some points). The lab here has the groups rise (20 points) and fall (80).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from grade.cli import fair
from grade.definition.lab import BadLab, Edit, Group, Lab
from grade.engine import answers, fairness, tree
from grade.engine.fairness import Case, Points
from grade.trust.compiler import BuildFailed

GROUPS = tuple(Group(name, points, False, None) for name, points in (("rise", 20), ("fall", 80)))
LAB = Lab("lab", Path(), "Lab", 1, (), (), GROUPS, {})
EDITS = (Edit("a.c", "f", "1", "2"),)
WRONG = Case("wrong", EDITS, frozenset({"rise"}))


def unfair(case: Case, *of_rise: float, fall: float = 80) -> list[str]:
    """Return the complaints about these points in the group `rise`, of nonces 1, 2 and so on."""
    by_nonce: dict[str, Points] = {
        str(i): {"rise": rise, "fall": fall} for i, rise in enumerate(of_rise, 1)
    }
    return fairness.judge_case(LAB, case, by_nonce).unfair


def test_the_same_loss_with_each_nonce_is_fair() -> None:
    """Differences of half a point are allowed."""
    assert unfair(WRONG, 10, 10.5, 9.5) == []


@pytest.mark.parametrize(
    ("case", "rise", "fall", "complaint"),
    [
        (WRONG, (10, 12), 80, "rise depends on the nonce: 10 with NONCE=1, 12 with NONCE=2"),
        (WRONG, (19.5, 19), 80, "rise loses no points with NONCE=1"),
        (WRONG, (10, 10), 79, "fall loses points with NONCE=1"),
        (Case("reference"), (20, 19.9), 80, "rise has 19.9 points with NONCE=2"),
        (Case("attack", EDITS, most=50), (10, 11), 40, "51 points with NONCE=2"),
        (Case("attack", EDITS, WRONG.loses, most=99), (1, 20), 0, "rise loses no points"),
    ],
)
def test_an_unfair_loss_is_told_with_a_nonce_that_shows_it(
    case: Case, rise: tuple[float, ...], fall: float, complaint: str
) -> None:
    """rise, fall: the case's points in these groups."""
    found = unfair(case, *rise, fall=fall)
    assert len(found) == 1 and complaint in found[0]


def test_in_a_lab_that_is_answered_by_numbers_the_nonce_chooses_the_student(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The nonce itself changes nothing there: the name determines the machine."""
    seen: list[str] = []
    form = 'student = "{}"'.format
    monkeypatch.setattr(answers, "solved_form", lambda lab, who, edits: form(who))
    monkeypatch.setattr(
        fairness, "grade_groups", lambda lab, bench, only: seen.append(answers.student(bench)) or {}
    )
    for nonce in "12":
        fairness.grade_with_nonce("first-block", [(WRONG, Path()), (WRONG, Path())], nonce, "")
    assert seen == ["Student 1", "Student 1", "Student 2", "Student 2"]


def test_a_mistake_that_does_not_build_is_no_mistake_and_an_attack_has_no_points(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A wrong answer that does not build is a fault of the lab; an attack that does not build has
    failed."""

    def build(*_: object) -> Path:
        raise BuildFailed("a.c:3: error: misleading indentation")

    monkeypatch.setattr(tree, "build_kernel", build)
    monkeypatch.setattr(tree, "solution_files", lambda *_: {})
    with pytest.raises(BadLab, match=r"lab: wrong does not build: a\.c:3: error"):
        fairness.build_case(LAB, WRONG, tmp_path)
    assert fairness.build_case(LAB, Case("attack", EDITS, most=50), tmp_path) is None


def test_an_interrupt_prints_the_points_of_the_nonces_that_are_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of 20 nonces are done."""

    def grade(*_: object) -> Iterator[dict[str, Any]]:
        """Yield the points with two nonces, and then be interrupted."""
        for nonce, rise in (("10", 12), ("9", 10)):
            yield {"nonce": nonce, "points": {"wrong": {"rise": rise, "fall": 80}}}
        raise KeyboardInterrupt

    monkeypatch.setattr(fair, "grade_cases", grade)
    asked = fair.FairRequest(20, 1)
    with pytest.raises(KeyboardInterrupt, match="the table is of 2 of 20 nonces"):
        fair.collect_points(MagicMock(), asked, LAB, [WRONG])
    said = capsys.readouterr().out
    assert "rise 10 to 12 of 20" in said
    assert "rise depends on the nonce: 10 with NONCE=9, 12 with NONCE=10" in said
