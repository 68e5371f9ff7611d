"""wrong.toml and attacks.toml of a lab: an error names the entry and its line."""

from dataclasses import replace
from pathlib import Path

import pytest

from grade.definition.lab import (
    ATTACKS,
    WRONG,
    BadLab,
    Edit,
    Lab,
    find_lab,
    load_attacks,
    load_mistakes,
)
from grade.engine import tree

MISTAKES = """\
# A comment.
[waits]
says = "It waits."
loses = ["order"]

[[waits.edits]]
file = "a.c"
function = "f"
old = "x"
new = "y"

[[waits.edits]]  # two of them
file = "b.c"
function = "f"
old = "x"
new = "y"

[absent]
says = "It is not there."
loses = ["order"]
disturbs = ["due"]
edits = []
"""
ATTACK = """\
[few]
says = "It is right for few."
most = 50
named = "queued"

[[few.edits]]
file = "a.c"
text = "int a;"
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Return the lab `smooth` with these files in the place of its own."""
    (tmp_path / WRONG).write_text(MISTAKES)
    (tmp_path / ATTACKS).write_text(ATTACK)
    return replace(find_lab("smooth"), folder=tmp_path)


def test_entries_come_by_name_with_their_edits(lab: Lab) -> None:
    """An attack's edit is text at the end of a file."""
    absent, waits = load_mistakes(lab)
    assert (absent.name, absent.disturbs, absent.edits) == ("absent", {"due"}, ())
    assert (waits.name, waits.says, waits.loses) == ("waits", "It waits.", {"order"})
    assert waits.edits == (Edit("a.c", "f", "x", "y"), Edit("b.c", "f", "x", "y"))
    [few] = load_attacks(lab)
    assert (few.most, few.named, few.loses) == (50, "queued", frozenset())
    assert few.edits == (Edit("a.c", "", "", "int a;"),)


def test_a_lab_without_the_files_has_no_entries(lab: Lab) -> None:
    (lab.folder / WRONG).unlink()
    (lab.folder / ATTACKS).unlink()
    assert load_mistakes(lab) == load_attacks(lab) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('says = "It waits."', "", r"wrong\.toml:2: waits: says: needs a str"),
        (
            '"It waits."',
            '"It waits."\nlooses = []',
            r"wrong\.toml:2: waits: looses: not known; did",
        ),
        (
            '["order"]\nd',
            '["ordre"]\nd',
            r"wrong\.toml:18: absent: the lab has no group ordre; did",
        ),
        (
            'file = "b.c"',
            'flie = "b.c"',
            r"wrong\.toml:12: waits: flie: not known; did you mean",
        ),
        ('file = "a.c"', "", r"wrong\.toml:6: waits: file: needs a str"),
        ("[absent]", "[waits]", r"wrong\.toml: .*waits.*line 18"),
        ("[absent]\n", "", r"wrong\.toml:12: waits: (says|loses|disturbs|edits): not known"),
        ("# A comment.", 'says = "x"', r"wrong\.toml: says: needs a \[NAME\]"),
        ("[absent]", "[Absent]", r"wrong\.toml: Absent: needs a \[NAME\] of a-z"),
    ],
)
def test_an_error_names_the_entry_and_its_line(lab: Lab, old: str, new: str, says: str) -> None:
    """`old` in MISTAKES is replaced by `new`."""
    assert old in MISTAKES
    (lab.folder / WRONG).write_text(MISTAKES.replace(old, new, 1))
    with pytest.raises(BadLab, match=says):
        load_mistakes(lab)


def test_an_edit_that_fits_nowhere_is_named(lab: Lab) -> None:
    """The file and the function exist, and the old words do not."""
    text = MISTAKES.replace("a.c", "kernel/cache/flush.c").replace('"f"', '"start_batch"')
    (lab.folder / WRONG).write_text(text.replace('"x"', '"no such words"'))
    with pytest.raises(BadLab, match=r"wrong\.toml:6: waits: kernel/cache/flush\.c: .*start_batch"):
        tree.apply_edits(load_mistakes(lab)[1].edits)
