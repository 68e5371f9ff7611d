"""The host's packages are those of book/architecture.toml; each imports only packages below it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from book.ext.architecture import read_architecture
from grade.engine import certificate
from sluice.experiment import runner
from sluice.host.paths import ROOT

pytestmark = pytest.mark.check

TOPS = ("sluice", "grade", "book", "tools")
ORDER = list(read_architecture()["packages"])


def modules(package: str) -> list[Path]:
    """Return the modules of a package."""
    return sorted((ROOT / package).rglob("*.py"))


def list_imports(path: Path) -> Iterator[str]:
    """Yield the modules of the tree that a module imports, wherever in it that stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: an import names the whole module"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.startswith(tuple(f"{top}." for top in TOPS)))


def test_architecture_toml_lists_every_package() -> None:
    """Above the packages only sluice/api.py and the files __init__.py may stand."""
    found = [path.parent for top in TOPS for path in (ROOT / top).glob("*/__init__.py")]
    assert sorted(ORDER) == sorted(path.relative_to(ROOT).as_posix() for path in found)
    above = {
        path.relative_to(ROOT).as_posix() for top in TOPS for path in (ROOT / top).glob("*.py")
    }
    assert above == {"sluice/api.py", *(f"{top}/__init__.py" for top in TOPS)}


def test_sluice_debug_loads_neither_numpy_nor_rich() -> None:
    """`sluice debug` is at its prompt in a second or two. To load these packages would take half a
    second more."""
    verb = "sluice.cli.verbs.debug, sluice.debug.stop, sluice.debug.stored_run"
    said = f"import sys, {verb}; print({{'numpy', 'rich'}} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", said], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_a_package_imports_only_packages_below_it_in_the_table() -> None:
    """ORDER has the packages, the highest first."""
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for i, package in enumerate(ORDER)
        for path in modules(package)
        for name in list_imports(path)
        if "/".join(name.split(".")[:2]) not in ORDER[i:]
    }
    assert not wrong, "\n".join(sorted(wrong))


def test_no_two_packages_have_a_module_of_one_name() -> None:
    homes: dict[str, str] = {}
    for package in (p for p in ORDER if not p.endswith("/cli")):
        for path in (ROOT / package).glob("[!_]*.py"):
            if path.stem == "command":  # the command of a tool
                continue
            other = homes.setdefault(path.stem, package)
            assert other == package, f"{path.name} is in {other}/ and in {package}/"


@pytest.mark.parametrize(
    ("patterns", "begin"),
    [(runner.CODE, "sluice/experiment/run.py"), (certificate.GRADER, "grade/engine/grading.py")],
    ids=["run", "grade"],
)
def test_the_code_that_workers_compare_is_all_that_makes_a_run_or_a_grade(
    patterns: tuple[str, ...], begin: str
) -> None:
    """Each module that a worker's work imports, directly or not, is part of the code's hash."""
    hashed = {path for pattern in patterns for path in ROOT.glob(pattern)}
    found, waiting = set(), [ROOT / begin]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            for name in list_imports(path):
                file = ROOT / f"{name.replace('.', '/')}.py"
                above = file.parent.with_suffix(".py")  # if this is a name in a module
                waiting += [p for p in (file, above) if p.exists()]
    assert len(found) > 10
    assert found <= hashed, sorted(map(str, found - hashed))
