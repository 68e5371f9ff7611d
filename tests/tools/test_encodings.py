"""Text is read and written in UTF-8 whatever the locale is: no host code leaves that to Python.

The Makefile switches on Python's UTF-8 mode, but `import sluice` is in others' programs. Tests are
started by `make test`, so they need not say it.
"""

import ast
import io
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from test_printing import latin1  # noqa: F401 (a fixture)

from sluice.host.paths import ROOT

# The place of the mode or of the encoding among the arguments of a call without names.
MODES = {"open": 0, "fdopen": 1, "NamedTemporaryFile": 0, "TemporaryFile": 0, "TextIOWrapper": None}
TEXTS = {"read_text": 0, "write_text": 1, "getoutput": 9, "getstatusoutput": 9, "popen": 9}
STARTS = ("run", "Popen", "check_output", "call", "check_call")
# modules and classes whose open() moves no text
OTHERS = ("os", "tarfile", "zipfile", "archive", "webbrowser", "BMP")
# A file that may leave the encoding to Python, and why.
OURS = {"sluice/host/printing.py": "the encoding of the terminal is asked for, and given by place"}


def is_true(node: ast.expr | None) -> bool:
    """Return whether an expression is a constant that counts as true."""
    return isinstance(node, ast.Constant) and bool(node.value)


def mode_of(call: ast.Call, name: str) -> str:
    """Return the mode in which a call opens a file; "" if it is not a constant."""
    named = {word.arg: word.value for word in call.keywords}
    place = 1 if name == "open" and isinstance(call.func, ast.Name) else MODES[name]
    given = call.args[place] if place is not None and len(call.args) > place else None
    mode = named.get("mode", given)
    if mode is None:
        return "w+b" if name.endswith("TemporaryFile") else "r"
    return str(mode.value) if isinstance(mode, ast.Constant) else ""


def leaves_it_to_python(call: ast.Call) -> bool:
    """True if a call moves text and does not say in which encoding. The function's name tells what
    it moves; for x.f() the name is f, and `owner` is x."""
    named = {word.arg: word.value for word in call.keywords}
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if "encoding" in named or None in named:  # None: by **words, which may have it
        return False
    if name in TEXTS:
        return len(call.args) <= TEXTS[name]
    if name in STARTS:
        return is_true(named.get("text")) or is_true(named.get("universal_newlines"))
    if name not in MODES or (name == "open" and isinstance(owner, ast.Name) and owner.id in OTHERS):
        return False
    return "b" not in mode_of(call, name)


def faults(source: bytes) -> Iterator[int]:
    """Yield the lines of the calls that leave the encoding to Python."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and leaves_it_to_python(node):
            yield node.lineno


@pytest.mark.native
@pytest.mark.parametrize(
    "line",
    [
        *("path.read_text()", "path.write_text('x')", "open('x')", "path.open('w')", "open(x, m)"),
        *("subprocess.run(x, text=True)", "Popen(x, text=True)", "io.TextIOWrapper(x)"),
        *("os.fdopen(3, 'w')", "tempfile.NamedTemporaryFile('w')", "os.popen('x')"),
    ],
)
def test_a_call_without_an_encoding_is_found(line: str) -> None:
    assert list(faults(line.encode())) == [1]


@pytest.mark.native
@pytest.mark.parametrize(
    "line",
    [
        *("path.read_text(encoding='utf-8')", "path.read_text('utf-8')", "path.write_text(x, 'u')"),
        *("open('x', 'rb')", "path.open('wb')", "os.open('x', 0)", "subprocess.run(x)"),
        *("tempfile.TemporaryFile()", "Popen(x, text=True, encoding='utf-8')"),
    ],
)
def test_a_call_with_an_encoding_or_of_bytes_is_not(line: str) -> None:
    assert list(faults(line.encode())) == []


@pytest.mark.native
def test_all_host_code_says_its_encoding() -> None:
    tops = ("sluice", "grade", "book", "tools")
    ours = [path for top in tops for path in ROOT.glob(f"{top}/**/*.py")]
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in ours
        if str(path.relative_to(ROOT)) not in OURS
        for line in faults(path.read_bytes())
    ]
    assert len(ours) > 100 and found == []


# A program that uses the package. It prints results and a message with a letter beyond ASCII.
REPLAYS = """
import sys, warnings
sys.path.insert(0, {package!r})
import sluice
warnings.simplefilter("error", EncodingWarning)
table = sluice.read({trace!r}, format="spc")
result = sluice.replay(table, drive="fixed", size_mb=64, buffers=256, events=True)
print(result.summary)
print(result.response_ns.tolist(), len(result.events))
try:
    sluice.replay(table, drive="\\u00e9")
except sluice.BadReplay as error:
    print(ascii(str(error)))
"""
# An environment in which Python takes the encoding of the locale.
NARROW = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a program that reads a trace, replays it and makes a mistake."""
    trace = tmp_path_factory.mktemp("trace") / "some.spc"
    rows = (f"0,{64 * n},8192,{'RW'[n % 2]},{n / 10:.3f}\n" for n in np.arange(20))
    trace.write_text("".join(rows), encoding="utf-8")
    return REPLAYS.format(package=str(ROOT), trace=str(trace))


def run_surrounded(script: str, **env: str) -> str:
    """Return the program's output in these surroundings, in which each call without an encoding is
    an error."""
    words = [sys.executable, "-X", "warn_default_encoding", "-c", script]
    done = subprocess.run(words, env=os.environ | env, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout.decode("ascii")


def test_the_package_does_the_same_in_every_locale(script: str) -> None:
    pytest.importorskip("sluice")
    usual = run_surrounded(script, PYTHONUTF8="1", LC_ALL="C.UTF-8")
    assert "unknown drive" in usual and "\\xe9" in usual
    assert run_surrounded(script, **NARROW, LC_ALL="C") == usual


def test_the_package_does_the_same_in_iso_8859(
    script: str,
    latin1: dict[str, str],  # noqa: F811
) -> None:
    pytest.importorskip("sluice")
    assert run_surrounded(script, **NARROW, **latin1) == run_surrounded(script, PYTHONUTF8="1")


def test_the_terminals_encoding_is_the_only_one_that_is_asked_for() -> None:
    """In printing.py, one call wraps the terminal and leaves the encoding to Python."""
    text = (ROOT / "sluice/host/printing.py").read_bytes()
    assert len(list(faults(text))) == 1 and io.TextIOWrapper.__name__.encode() in text
