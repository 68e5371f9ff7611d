"""Forms of a record: one file each, found by listing this folder.

    FILE = "name.ext"                       in the folder of the results
    def text(record: Record) -> str | None  what is in it; None: nothing to write

What its platform documents of a form is in NAME.schema.json beside it, a JSON Schema with
its source (of XML and CSV, for their elements and rows as JSON; of text, for the last line):
grade/tests/test_forms.py holds what is written against it.

Forms that students see tell of a hidden test its name and points only, and how a test is asked
again in a tree of their own (`shown`). People read how it is where it was graded.
"""

import importlib
import pkgutil
from pathlib import Path

from grade.scoring.record import Outcome, Record

MOST_SHOWN = 1000  # characters of a line


def clipped(line: str) -> str:
    """A line that fits a page, however much a wild kernel gave cause to say."""
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]} ..."


def shown(test: Outcome, again: str = "", debug: str = "") -> str:
    """What a student may read of a test; how it is asked again, if not as at home."""
    if test.hidden:
        return "A hidden test."
    lines = [test.about]
    if test.expected:
        lines += [f"expected: {test.expected}", f"found:    {test.came}"]
    if test.picture:
        lines.append(f"          {test.picture}")
    if not test.passed:
        again, debug = again or test.at_home, debug or f"{test.at_home} GDB=1"
        lines += [f"again:    {again}", f"in gdb:   {debug}"]
    return "\n".join(clipped(line) for line in lines if line)


def write_all(record: Record, folder: Path) -> list[Path]:
    """Write the record in every form; the paths, by the forms' names."""
    made = []
    for found in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        form = importlib.import_module(f"{__name__}.{found.name}")
        path, text = folder / form.FILE, form.text(record)
        if text is None:
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        made.append(path)
    return made
