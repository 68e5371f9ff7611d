"""A lab's worked example: one run, told in lines that a person reads.

In the lab's folder, example.py has `SCENARIO`, what the machine does, and `told(run)`, what was
seen of it as text. Beside it are that text for the kernel that is handed out, before.txt, and for
the solution's, after.txt. The book shows both; `make example LAB=` tells what this tree's kernel
does, beside after.txt. A lab without holes has after.txt alone.

The texts have places, counts and rounded times only, so that they stay as they are when the kernel
gets a little faster or slower.
"""

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from grade.definition.lab import BadLab, Lab, module
from grade.engine import tree
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

MODULE, BEFORE, AFTER = "example.py", "before.txt", "after.txt"
BUDGET_S = 20  # of a processor, for one machine


def columns(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table as text: the columns end below one another, but for the last, which begins so."""
    lines = [list(heads), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(
            [cell.rjust(width) for cell, width in zip(line[:-1], widths[:-1], strict=True)]
            + line[-1:]
        ).rstrip()
        + "\n"
        for line in lines
    )


def own(lab: Lab) -> ModuleType:
    """The lab's example. Raises BadLab if it has none."""
    path = lab.folder / MODULE
    if not path.exists():
        raise BadLab(f"{path}: the lab {lab.name} has no example")
    return module(path)


def run(kernel: Path, folder: Path, scenario: Scenario) -> Run:
    """What this kernel did. Raises Wrong if its machine did not end well."""
    return Workbench(kernel, kernel, folder, "", BUDGET_S).run(scenario)


def told(lab: Lab, kernel: Path, folder: Path) -> str:
    """The text of this kernel. Raises Wrong if its machine did not end well."""
    mine = own(lab)
    return mine.told(run(kernel, folder, mine.SCENARIO))


def solved(lab: Lab, folder: Path) -> str:
    """The text of the solution. A lab's SOLVED is the scenario that asks its kernel for the same,
    where students give their work a name of its own."""
    mine = own(lab)
    scenario = getattr(mine, "SOLVED", mine.SCENARIO)
    return mine.told(run(lab.reference, folder, scenario))


def handed_out(lab: Lab, folder: Path) -> Path:
    """The kernel that students of the lab begin with, built."""
    files: dict[str, str] = {}
    for hole in lab.holes:
        files |= tree.with_hole(hole, files.get(hole.file))
    return tree.build(folder, lab, files)


def texts(lab: Lab, folder: Path) -> dict[str, str]:
    """What before.txt and after.txt should say, by these names. Only in the staff's tree."""
    made = {AFTER: solved(lab, folder / "after")}
    if lab.holes:
        kernel = handed_out(lab, folder / "kernel")
        made[BEFORE] = told(lab, kernel, folder / "before")
    return made
