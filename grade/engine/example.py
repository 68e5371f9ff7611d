"""Build a lab's worked example: one run, described in lines that a person reads.

In the lab's folder, example.py has `SCENARIO`, the work of the machine, and `describe_run(run)`,
which returns a description of its run as text. Beside it are that text for the kernel that is
handed out, before.txt, and for the solution's, after.txt. The book shows both; `sluice lab example`
prints the text for this tree's kernel beside after.txt. A lab without holes has after.txt alone.

The texts contain only places, counts and rounded times, so that they do not change when the kernel
becomes a little faster or slower.
"""

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from grade.definition.lab import BadLab, Lab, import_file
from grade.engine import tree
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

MODULE, BEFORE, AFTER = "example.py", "before.txt", "after.txt"
BUDGET_S = 20  # processor seconds of one machine


def format_columns(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table as text.

    Cells are aligned to the right, except for those of the last column, which are aligned to the
    left.
    """
    table = [list(heads), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    text = ""
    for *cells, last in table:
        aligned = [cell.rjust(width) for cell, width in zip(cells, widths[:-1], strict=True)]
        text += "  ".join([*aligned, last]).rstrip() + "\n"
    return text


def import_example(lab: Lab) -> ModuleType:
    """Return the module of the lab's example. Raises BadLab if the lab has none."""
    path = lab.folder / MODULE
    if not path.exists():
        raise BadLab(f"{path}: the lab {lab.name} has no example")
    return import_file(path)


def run_scenario(kernel: Path, folder: Path, scenario: Scenario) -> Run:
    """Run the scenario on this kernel and return the run. Raises Wrong if it did not end well."""
    return Workbench(kernel, kernel, folder, "", BUDGET_S).run(scenario)


def describe_kernel(lab: Lab, kernel: Path, folder: Path) -> str:
    """Return the example's text for this kernel. Raises Wrong if its machine did not end well."""
    mine = import_example(lab)
    text: str = mine.describe_run(run_scenario(kernel, folder, mine.SCENARIO))
    return text


def describe_solution(lab: Lab, folder: Path) -> str:
    """Return the example's text for the solution.

    A lab where students name their own policy has a scenario SOLVED, which asks the solution's
    kernel for the same work.
    """
    mine = import_example(lab)
    scenario = getattr(mine, "SOLVED", mine.SCENARIO)
    text: str = mine.describe_run(run_scenario(lab.reference, folder, scenario))
    return text


def build_handed_out_kernel(lab: Lab, folder: Path) -> Path:
    """Build the kernel with which students of the lab begin; return its path."""
    files: dict[str, str] = {}
    for hole in lab.holes:
        files |= tree.cut_hole(hole, files.get(hole.file))
    return tree.build_kernel(folder, lab, files)


def expected_texts(lab: Lab, folder: Path) -> dict[str, str]:
    """Return the expected contents of before.txt and after.txt, by file name.

    This needs the staff's tree.
    """
    made = {AFTER: describe_solution(lab, folder / "after")}
    if lab.holes:
        kernel = build_handed_out_kernel(lab, folder / "kernel")
        made[BEFORE] = describe_kernel(lab, kernel, folder / "before")
    return made
