"""`make example`: a lab's worked example, as this tree's kernel does it and as the solution does.

The options are the Makefile's variables. An empty one has not been given.
"""

import argparse
import inspect
import sys
import tempfile
from pathlib import Path

from grade.definition.lab import BadLab, Lab, named
from grade.engine import example, tree
from grade.engine.assertions import Wrong
from sluice.host.interrupt import stoppable
from sluice.host.out import BadOut, expect_folder
from sluice.host.paths import KERNEL, ROOT


def make(lab: Lab, out: Path, folder: Path) -> None:
    """Write the texts of the lab's example anew."""
    if lab.handed_out:
        raise BadLab(f"OUT={out}: only the staff's tree can make the example; leave OUT= out")
    expect_folder(out)
    texts = example.texts(lab, folder)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")
        print(out / name)


OTHERS = f"""\
The solution's kernel has the functions of all labs. Those of other labs that are not written in
this tree may make the difference: {tree.UNSOLVED} names them. `make grade LAB=%s` says
whether your functions are right."""


def show(lab: Lab, folder: Path) -> None:
    """Print the example of this tree's kernel, and of the solution."""
    about = inspect.getdoc(example.own(lab))
    mine = example.told(lab, KERNEL, folder)
    solved = (lab.folder / example.AFTER).read_text(encoding="utf-8")
    print(f"{about}\n\nyour kernel:\n\n{mine}")
    if mine == solved:
        print("the solution does the same")
        return
    print(f"the solution:\n\n{solved}")
    if (ROOT / tree.UNSOLVED).exists():
        print(OTHERS % lab.name)


def main() -> int:
    """Run the command. Its exit status is 0 if the example was made."""
    parser = argparse.ArgumentParser(prog="grade.cli.worked_example", description=__doc__)
    parser.add_argument("--lab", required=True)
    parser.add_argument("--out", default="", help="the lab's folder; makes its texts anew")
    choice = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        try:
            lab = named(choice.lab)
            if choice.out:
                make(lab, Path(choice.out), Path(folder))
            else:
                show(lab, Path(folder))
        except (BadLab, BadOut) as error:
            print(error, file=sys.stderr)
            return 2
        except Wrong as wrong:
            print(f"expected: {wrong.expected}\nfound: {wrong.came}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(stoppable(main, "no example was made"))
