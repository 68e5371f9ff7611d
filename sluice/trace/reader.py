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
from sluice.trace.bound import Format, bind_module
from sluice.trace.errors import BadTraceFile
from sluice.trace.format_words import (
    BAD,
    COLUMNS,
    TYPED,
    UNIT,
    BadWord,
    Word,
    format_word,
    parse_word,
)
from sluice.trace.stream import (
    BOM,
    HEAD,
    LeftOut,
    compression,
    join_tables,
    open_unpacked,
    read_head,
)
from sluice.trace.units import place_side_by_side

Seen = Callable[[int], None]  # called with how many requests have been read since the last call


@cache
def known_formats() -> dict[str, ModuleType]:
    """Return the formats by name: every module in formats/."""
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    return {name: importlib.import_module(f"{formats.__name__}.{name}") for name in names}


def find_format(path: Path, name: str) -> Format:
    """Return the format of this name or, if the name is empty, the format that the file looks like.

    name: may have options, as format_words.py says. The format of a table is bound to the file's
    columns. Raises BadTraceFile.
    """
    try:
        word = parse_word(name)
    except BadWord as error:
        raise BadTraceFile(f"{path}: {error}") from None
    if word.name and word.name not in known_formats():
        near = suggest(word.name, known_formats())
        raise BadTraceFile(f'{path}: unknown format "{word.name}"; {near}')
    head = read_head(path).removeprefix(BOM)
    if len(head) < HEAD and not head.strip():
        what = "has only blank lines" if head else "is empty"
        raise BadTraceFile(f"{path}: {what}: it has no request")
    module = known_formats()[word.name or guess_name(path, word, head)]
    found = module.bind(word, path, head) if hasattr(module, "bind") else module
    if found is module and word.options:
        expect_no_columns(path, word, module)
        found = bind_module(module)
    return found.allowing(word.bad_share()) if BAD in word.options else found


def complete_word(path: Path, name: str) -> str:
    """Return the word for a file's format: the format's name, also if the file told it, with the
    options that `name` has. Raises BadTraceFile."""
    found = find_format(path, name).__name__.rpartition(".")[2]
    return format_word(found, **parse_word(name).options)


def guess_name(path: Path, word: Word, head: bytes) -> str:
    """Return the name of the format that a file looks like, as its name and its first bytes tell,
    and the options that the user gave. Raises BadTraceFile."""
    known = known_formats()
    if COLUMNS in word.options:
        return "parquet" if known["parquet"].looks_like(path.name, head) else "csv"
    alike = [one for one, module in known.items() if module.looks_like(path.name, head)]
    fitting = [one for one in alike if not hasattr(known[one], "LAST_RESORT")] or alike
    units = {getattr(known[one], "UNIT", ""): one for one in fitting}
    if len(fitting) > 1 and word.options.get(UNIT) in units:
        return units[word.options[UNIT]]
    if len(fitting) == 1:
        return fitting[0]
    looks = f"looks like {' and '.join(fitting)}" if fitting else "looks like no known format"
    there = ", ".join(known)
    if fitting and all(units):
        hint = f"; the file does not tell the unit of its times: --time-unit {'|'.join(units)} does"
    elif fitting:
        hint = ""
    else:
        tells = "--format, or format= in Python, also tells the first wrong line"
        hint = f"; {tells}; or name the columns: --columns time,op,offset,size"
    raise BadTraceFile(f"{path}: {looks}: say which it is, of {there}{hint}")


def expect_no_columns(path: Path, word: Word, module: ModuleType) -> None:
    """Raise BadTraceFile if options were given that a format does not take."""
    own = getattr(module, "UNIT", "")
    for key in (COLUMNS, UNIT):
        if key in word.options and word.options[key] != own:
            name = module.__name__.rpartition(".")[2]
            raise BadTraceFile(
                f"{path}: {TYPED[key]} {word.options[key]}: the format {name} says itself what its "
                f"columns and times are: give --format csv with it, or leave it out"
            )


def describe_format(path: Path, name: str) -> list[str]:
    """Return what a file is taken for, in lines for people, before it is used: the format, whether
    that is a guess, and what of its columns and times was guessed. Raises BadTraceFile."""
    found, given = find_format(path, name), parse_word(name).name
    short = found.__name__.rpartition(".")[2]
    how = "as you say" if given else "guessed; --format says another"
    lines = [f"{path.name}: read as {short}: {found.ABOUT} ({how})"]
    packed = compression(path)
    lines += [f"packed by {packed}"] if packed else []
    return lines + list(getattr(found, "said", []))


def read_requests(
    path: Path,
    name: str = "",
    count: int | None = None,
    seen: Seen = lambda n: None,
    left_out: LeftOut | None = None,
) -> np.ndarray:
    """Return the requests of a trace, or its first `count` requests, in the order of time.

    The first is at time 0; the table has shape (requests,) and dtype REQUEST. name: of the format,
    with options as in find_format(), or ""; seen: called with the
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
