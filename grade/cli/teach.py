"""`make newlab`, `make solution`: for people who write labs and teach with them.

The options are the Makefile's variables. An empty one has not been given.
"""

import argparse
import sys
from pathlib import Path

from grade.course import release
from grade.definition.lab import BadLab, named
from grade.engine import template
from sluice.host.interrupt import stoppable
from sluice.host.paths import ROOT


def newlab(choice: argparse.Namespace) -> None:
    """Make a new lab, and say what to do next."""
    folder = template.new_lab(choice.name).relative_to(ROOT)
    print(f"{folder}: a small lab that works, for you to change; begin with {folder}/lab.toml")
    print(f"its proof: make test LAB={choice.name}")


def solution(choice: argparse.Namespace) -> None:
    """Write a lab's solution for students."""
    for file in release.release(named(choice.lab), choice.out, choice.student):
        print(choice.out / file)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="grade.cli.teach", description=__doc__)
    verbs = parser.add_subparsers(required=True)
    add = verbs.add_parser("newlab")
    add.set_defaults(do=newlab)
    add.add_argument("--name", required=True, help="of the lab to be made")
    add = verbs.add_parser("solution")
    add.set_defaults(do=solution)
    add.add_argument("--lab", required=True)
    add.add_argument("--out", type=Path, required=True, help="the folder to make")
    add.add_argument("--student", default="", help="if the lab is answered by numbers")
    return parser.parse_args()


def main() -> int:
    """Run the command. Its exit status is 0 if it made what was asked for."""
    choice = arguments()
    try:
        choice.do(choice)
    except BadLab as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(stoppable(main, "nothing was made"))
