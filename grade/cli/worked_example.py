"""Shows a lab's worked example, as this tree's kernel does it and as the solution does."""

import inspect
import tempfile
from pathlib import Path

from grade.definition.lab import BadLab, Lab, find_lab
from grade.engine import example, tree
from sluice.host.out import expect_folder
from sluice.host.paths import KERNEL, ROOT


def write_texts(lab: Lab, out: Path, folder: Path) -> None:
    """Write the texts of the lab's example anew."""
    if lab.handed_out:
        raise BadLab(f"--out={out}: only the staff's tree can make the example; leave --out away")
    expect_folder(out)
    texts = example.expected_texts(lab, folder)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")
        print(out / name)


OTHERS = f"""\
The solution's kernel has the functions of all labs. Those of other labs that are not written in
this tree may make the difference: {tree.UNSOLVED} names them. `make grade LAB=%s` says
whether your functions are right."""


def print_example(lab: Lab, folder: Path) -> None:
    """Print the example of this tree's kernel, and of the solution."""
    about = inspect.getdoc(example.import_example(lab))
    mine = example.describe_kernel(lab, KERNEL, folder)
    solved = (lab.folder / example.AFTER).read_text(encoding="utf-8")
    print(f"{about}\n\nyour kernel:\n\n{mine}")
    if mine == solved:
        print("the solution does the same")
        return
    print(f"the solution:\n\n{solved}")
    if (ROOT / tree.UNSOLVED).exists():
        print(OTHERS % lab.name)


def run_example(lab_name: str, out: Path | None = None) -> int:
    """Print the example; or, with the lab's folder, make its texts anew.

    Returns the exit status. Raises Wrong if the example does not run.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        lab = find_lab(lab_name)
        if out:
            write_texts(lab, out, Path(folder))
        else:
            print_example(lab, Path(folder))
    return 0
