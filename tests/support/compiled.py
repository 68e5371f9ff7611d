"""Return figures that depend on the compiler of the kernel and the programs.

In virtual time an instruction takes time, and a program's size decides where files lie. So a figure
in a test or a text holds for one compiler. If another compiler made the kernel, a test checks only
what does not depend on the compiler, and warns.
"""

import re
import subprocess
import warnings
from functools import cache
from typing import TypeVar

from grade.code.objects import PREFIX

T = TypeVar("T")
OF_TEXTS = 12  # the GCC that made the kernel whose figures are in documents
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@cache
def compiler() -> int:
    """Return the major version of the kernel's GCC."""
    line = [f"{PREFIX}gcc", "-dumpversion"]
    version = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return int(version.split(".")[0])


def figure(of: dict[int, T]) -> T | None:
    """Return the figure for the kernel's compiler. Without one, warn and return None."""
    if compiler() not in of:
        warnings.warn(
            f"the kernel's compiler is GCC {compiler()}: figures of GCC "
            f"{' and '.join(map(str, of))} were not compared",
            stacklevel=2,
        )
    return of.get(compiler())


def made_by_that_of_texts() -> bool:
    """True if the figures in documents are this kernel's. Warn otherwise."""
    return figure({OF_TEXTS: True}) is not None


def shape(text: str) -> str:
    """Return a table without its figures: each number is a 0, bars and blanks are one blank."""
    return re.sub(r"[\s.#]+", " ", NUMBER.sub("0", text)).strip()
