"""Make a new lab (`sluice lab new`) as a copy of a small one that works (grade/staff/newlab).

The copy passes its own proof (`make test LAB=NAME`). The teacher then changes it step by step, and
types the proof again after each step. The book's page "Writing a lab" builds the same lab.
"""

import shutil
from pathlib import Path

from grade.definition.lab import LABS, WORD, BadLab, load_labs
from grade.engine.tree import NOT_HANDED_OUT
from sluice.host.paths import ROOT

TEMPLATE = ROOT / "grade" / "staff" / "newlab"
NAME, ORDER = "LABNAME", "order = 0"  # the words of the template that a copy replaces


def expect_name(name: str) -> None:
    """Raise BadLab unless a lab of this name can be made."""
    if not WORD.fullmatch(name):
        raise BadLab(
            f'NAME={name}: the name of a lab has letters a-z, digits and "-", and begins with a '
            "letter, as in NAME=my-lab"
        )
    if (LABS / name).exists():
        raise BadLab(f"NAME={name}: grade/labs/{name} exists already: choose another name")
    if NOT_HANDED_OUT("", [name]):
        raise BadLab(
            f"NAME={name}: no student's tree has a folder of this name: choose another name"
        )


def fill_in(text: str, name: str, order: int) -> str:
    """Return a text of the template with the lab's name and order filled in."""
    return text.replace(NAME, name).replace(ORDER, f"order = {order}")


def make_lab(name: str) -> Path:
    """Make the lab and return its folder. Raises BadLab; then nothing was made."""
    expect_name(name)
    if not TEMPLATE.exists():
        raise BadLab("grade/staff is missing: this is a student's tree, and makes no new labs")
    order = 1 + max((lab.order for lab in load_labs()), default=0)
    folder = LABS / name
    shutil.copytree(TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder / "lab.toml", folder / "handout.md"):
        path.write_text(fill_in(path.read_text(encoding="utf-8"), name, order), encoding="utf-8")
    return folder
