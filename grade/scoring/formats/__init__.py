"""Forms of a record: one file each, found by listing this folder.

    FILE = "name.ext"                    in the folder of the results
    def text(record: Record) -> str      what is in it

Forms that students see tell of a hidden test its name and points only (`shown`).
"""

import importlib
import pkgutil
from pathlib import Path

from grade.scoring.record import Outcome, Record


def shown(test: Outcome) -> str:
    """What a student may read of a test."""
    if test.hidden:
        return "A hidden test."
    lines = [test.about]
    if test.expected:
        lines += [f"expected: {test.expected}", f"came:     {test.came}"]
    if test.picture:
        lines.append(f"          {test.picture}")
    if not test.passed:
        lines += [f"again:    {test.reproduce}", f"in gdb:   {test.debug}"]
    return "\n".join(line for line in lines if line)


def write_all(record: Record, folder: Path) -> list[Path]:
    """Write the record in every form; the paths, by name."""
    made = []
    for found in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        form = importlib.import_module(f"{__name__}.{found.name}")
        path = folder / form.FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(form.text(record))
        made.append(path)
    return made
