"""mypy finds nothing in the modules of sluice/ and grade/ that have strict types."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sluice.host.paths import BUILD, ROOT

# All tests run in one worker, because two runs of mypy at once break each other's cache.
pytestmark = [pytest.mark.check, pytest.mark.xdist_group("mypy")]

EXEMPT = {"grade.cli.*", "sluice.cli.*", "sluice.twin.engine", "sluice.twin.resident"}


def run_mypy(*words: object) -> subprocess.CompletedProcess[str]:
    """Run mypy with the checked-in settings; its answer is in stdout."""
    line = [sys.executable, "-m", "mypy", f"--cache-dir={BUILD / 'mypy'}", *words]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_types_are_right() -> None:
    done = run_mypy()
    assert done.returncode == 0, done.stdout


def test_a_wrong_type_is_noticed(tmp_path: Path) -> None:
    module = tmp_path / "wrong.py"
    module.write_text("def f(x: int) -> str:\n    return x\n")
    assert "Incompatible return value" in run_mypy(module).stdout


def test_no_further_module_is_exempt() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows = settings["tool"]["mypy"]["overrides"]
    exempt = {name for row in rows if row.get("ignore_errors") for name in row["module"]}
    assert exempt <= EXEMPT, "give the module types, or fix them: the list only gets shorter"
