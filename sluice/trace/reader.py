"""Reads a trace of any format, with the module of formats/ that is named or that knows it."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from sluice.host.nearest import meant
from sluice.trace import formats
from sluice.trace.errors import BadTraceFile
from sluice.trace.stream import BOM, HEAD, LeftOut, head_of, joined, opened
from sluice.trace.units import side_by_side

Seen = Callable[[int], None]  # called with how many requests have been read since the last call


@cache
def known() -> dict[str, ModuleType]:
    """The formats by name: every module in formats/."""
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    return {name: importlib.import_module(f"{formats.__name__}.{name}") for name in names}


def format_named(path: Path, name: str) -> ModuleType:
    """The format of this name, or if the name is empty, the one that the file looks like. Raises
    BadTraceFile."""
    there = ", ".join(known())
    if name and name not in known():
        raise BadTraceFile(f'{path}: unknown format "{name}"; {meant(name, known())}')
    head = head_of(path).removeprefix(BOM)
    if len(head) < HEAD and not head.strip():
        what = "has only blank lines" if head else "is empty"
        raise BadTraceFile(f"{path}: {what}: it has no request")
    if name:
        return known()[name]
    fitting = [one for one, module in known().items() if module.looks_like(path.name, head)]
    if len(fitting) != 1:
        looks = f"looks like {' and '.join(fitting)}" if fitting else "looks like no known format"
        tells = "FORMAT=, or format= in Python, also tells the first wrong line"
        hint = "" if fitting else f"; {tells}"
        raise BadTraceFile(f"{path}: {looks}: say which it is, of {there}{hint}")
    return known()[fitting[0]]


def read(
    path: Path,
    name: str = "",
    count: int | None = None,
    seen: Seen = lambda n: None,
    left_out: LeftOut | None = None,
) -> np.ndarray:
    """The requests of a trace, or the first `count` of them, in the order of time, the first at
    time 0: shape (requests,), dtype REQUEST. What is left out is counted in `left_out`. Raises
    BadTraceFile."""
    left_out = LeftOut() if left_out is None else left_out
    left_out.most = count
    if not path.exists():
        raise BadTraceFile(f"{path}: there is no such file")
    module, pieces, left = format_named(path, name), [], count
    with opened(path) as stream:
        for piece in module.read(path, stream, left_out):
            pieces.append(piece[:left])
            seen(len(pieces[-1]))
            left = None if left is None else left - len(pieces[-1])
            if left == 0:
                break
    found = joined(pieces)
    if getattr(module, "SEVERAL", False):
        found = side_by_side(found)
    if not len(found):
        why = f"; left out: {left_out}" if left_out.counts else ""
        raise BadTraceFile(f"{path}: has no request{why}")
    found = found[np.argsort(found["time_ns"], kind="stable")]
    found["time_ns"] -= found["time_ns"][0]
    return found


def lines() -> list[str]:
    """The formats, a line each, for people."""
    return [f"{name}: {module.ABOUT}" for name, module in known().items()]
