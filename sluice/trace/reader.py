"""Reads a trace of any format, by the module of formats/ that is named or that recognises it."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from sluice.host.nearest import suggest
from sluice.trace import formats
from sluice.trace.errors import BadTraceFile
from sluice.trace.stream import BOM, HEAD, LeftOut, join_tables, open_unpacked, read_head
from sluice.trace.units import place_side_by_side

Seen = Callable[[int], None]  # called with how many requests have been read since the last call


@cache
def known_formats() -> dict[str, ModuleType]:
    """Return the formats by name: every module in formats/."""
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    return {name: importlib.import_module(f"{formats.__name__}.{name}") for name in names}


def find_format(path: Path, name: str) -> ModuleType:
    """Return the format of this name or, if the name is empty, the format that the file looks like.
    Raises BadTraceFile."""
    there = ", ".join(known_formats())
    if name and name not in known_formats():
        raise BadTraceFile(f'{path}: unknown format "{name}"; {suggest(name, known_formats())}')
    head = read_head(path).removeprefix(BOM)
    if len(head) < HEAD and not head.strip():
        what = "has only blank lines" if head else "is empty"
        raise BadTraceFile(f"{path}: {what}: it has no request")
    if name:
        return known_formats()[name]
    fitting = [one for one, module in known_formats().items() if module.looks_like(path.name, head)]
    if len(fitting) != 1:
        looks = f"looks like {' and '.join(fitting)}" if fitting else "looks like no known format"
        tells = "--format, or format= in Python, also tells the first wrong line"
        hint = "" if fitting else f"; {tells}"
        raise BadTraceFile(f"{path}: {looks}: say which it is, of {there}{hint}")
    return known_formats()[fitting[0]]


def read_requests(
    path: Path,
    name: str = "",
    count: int | None = None,
    seen: Seen = lambda n: None,
    left_out: LeftOut | None = None,
) -> np.ndarray:
    """Return the requests of a trace, or its first `count` requests, in the order of time.

    The first is at time 0; the table has shape (requests,) and dtype REQUEST. seen: called with the
    number of further requests read; left_out: counts the requests that are left out. Raises
    BadTraceFile.
    """
    left_out = LeftOut() if left_out is None else left_out
    left_out.most = count
    if not path.exists():
        raise BadTraceFile(f"{path}: there is no such file")
    module, pieces, left = find_format(path, name), [], count
    with open_unpacked(path) as stream:
        for piece in module.read(path, stream, left_out):
            pieces.append(piece[:left])
            seen(len(pieces[-1]))
            left = None if left is None else left - len(pieces[-1])
            if left == 0:
                break
    found = join_tables(pieces)
    if getattr(module, "SEVERAL", False):
        found = place_side_by_side(found)
    if not len(found):
        why = f"; left out: {left_out}" if left_out.counts else ""
        raise BadTraceFile(f"{path}: has no request{why}")
    found = found[np.argsort(found["time_ns"], kind="stable")]
    found["time_ns"] -= found["time_ns"][0]
    return found
