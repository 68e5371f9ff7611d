"""Write a record in many forms: one file each, found by listing this folder.

    FILE = "name.ext"                       in the folder of the results
    def text(record: Record) -> str | None  its contents; None: nothing is written

NAME.schema.json beside a form says what its platform documents: a JSON Schema with its source (for
XML and CSV, of their elements and rows as JSON; for text, of the last line).
tests/grade/test_forms.py checks what is written against it.

Forms for students give only the name and points of a hidden test, and the command that repeats a
test in the student's own tree (`describe_for_student`). The form for people gives the command for
this tree.
"""

import importlib
import pkgutil
from pathlib import Path

from grade.engine.record import COST_FILE, Outcome, Record
from grade.trust.untrusted_text import write_text

MOST_SHOWN = 1000  # longest line, in characters


def clip_line(line: str) -> str:
    """Return the line, cut if it is too long for a page: a wild kernel can cause long messages."""
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]} ..."


def describe_for_student(test: Outcome, again: str = "", debug: str = "") -> str:
    """Return what a student may read about a test.

    again, debug: the commands that repeat and debug the test; empty if they are those of a
    student's tree.
    """
    if test.hidden:
        return "A hidden test."
    lines = [test.about]
    if test.expected:
        lines += [f"expected: {test.expected}", f"found:    {test.came}"]
    if test.picture:
        lines.append(f"          {test.picture}")
    if not test.has_all_points:
        again, debug = again or test.at_home, debug or f"{test.at_home} GDB=1"
        lines += [f"again:    {again}", f"in gdb:   {debug}"]
    return "\n".join(clip_line(line) for line in lines if line)


def write_all(record: Record, folder: Path) -> list[Path]:
    """Write the record in every form, and its cost.

    Returns the paths of the forms, in the order of the forms' names.
    """
    made = []
    for found in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        form = importlib.import_module(f"{__name__}.{found.name}")
        path, text = folder / form.FILE, form.text(record)
        if text is None:
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        made.append(path)
    write_text(folder / COST_FILE, record.cost.to_json())
    return made
