"""If tests are many and take long, each run makes some of them, drawn by the commit (whole.py).

SOURCE is a file of tests with marks `drawn`, which pytest runs in a process of its own. The word
SLUICE_DRAW takes the place of the commit. MADE says how many tests of each function are made, and
ALL how many there are.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import whole

from sluice.host.paths import ROOT

SOURCE = """
import pytest
from whole import draw_for_each

@pytest.mark.drawn(3)
@pytest.mark.parametrize("n", range(12))
def test_alone(n):
    pass

@pytest.mark.parametrize("n", [
    pytest.param(n, marks=pytest.mark.drawn(2, among=n % 3, unit=f"pair {n // 6}"))
    for n in range(12)
])
def test_units(n):
    pass

@pytest.mark.xdist_group("one")
@pytest.mark.drawn(4)
@pytest.mark.parametrize("n", range(8))
def test_grouped(n):
    pass

@pytest.mark.parametrize("kind", draw_for_each("ab", 3))
@pytest.mark.parametrize("n", range(4))
def test_kinds(n, kind):
    pass

def test_always():
    pass
"""
MADE = {"test_alone": 4, "test_units": 6, "test_grouped": 2, "test_kinds": 4, "test_always": 1}
ALL = {"test_alone": 12, "test_units": 12, "test_grouped": 8, "test_kinds": 8, "test_always": 1}


def run_tests(folder: Path, *options: str, **environment: str) -> str:
    """Run the tests in a folder, which pass, with this tree's conftest. Returns what is printed."""
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", folder]
    command += ["-p", "conftest", "-rp", *options]
    kept = {k: v for k, v in os.environ.items() if k not in ("FULL", "LAB", "SLUICE_DRAW")}
    environment = kept | {"PYTHONPATH": f"{ROOT}:{ROOT}/tests:{ROOT}/tests/support"} | environment
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def count_made(folder: Path, *options: str, **environment: str) -> tuple[dict[str, int], set, str]:
    """Return how many tests of each function pass, their names, and what is printed."""
    file = folder / "test_many.py"
    file.write_text(SOURCE)
    shown = run_tests(folder, *(options or (str(file),)), **environment)
    names = set(re.findall(r"^PASSED .*::([^@\s]+)", shown, re.M))
    counts = dict.fromkeys(ALL, 0)
    for name in names:
        counts[name.partition("[")[0]] += 1
    return counts, names, shown


def test_each_run_makes_a_share_and_the_word_decides_which(tmp_path: Path) -> None:
    """MADE has how many tests of each function one run makes. Of test_kinds two are of kind `a`."""
    counts, names, shown = count_made(tmp_path, SLUICE_DRAW="a")
    assert counts == MADE
    assert sum(name.startswith("test_kinds[") and "a" in name[10:] for name in names) == 2
    assert "tests were drawn: SLUICE_DRAW=a repeats it" in shown
    assert count_made(tmp_path, SLUICE_DRAW="a")[1] == names
    assert count_made(tmp_path, SLUICE_DRAW="b")[1] != names


def test_workers_draw_what_one_process_draws(tmp_path: Path) -> None:
    alone = count_made(tmp_path, SLUICE_DRAW="a")[1]
    options = (str(tmp_path / "test_many.py"), "-n", "1", "--dist", "loadgroup")
    assert count_made(tmp_path, *options, SLUICE_DRAW="a")[1] == alone


@pytest.mark.parametrize(
    ("options", "full", "word"),
    [((), "1", "a"), ((), "", "all"), (("test_many.py", "-k", "alone or units"), "", "a")],
)
def test_all_are_made_in_full_where_names_choose_and_by_the_word_all(
    options: tuple[str, ...], full: str, word: str, tmp_path: Path
) -> None:
    counts, _, shown = count_made(tmp_path, *options, FULL=full, SLUICE_DRAW=word)
    assert counts == (
        ALL | dict.fromkeys(("test_grouped", "test_kinds", "test_always"), 0) if options else ALL
    )
    assert "were drawn" not in shown


def test_a_function_that_is_named_is_made_whatever_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "test_many.py").write_text(SOURCE)
    counts, _, _ = count_made(tmp_path, "test_many.py::test_alone", SLUICE_DRAW="a")
    assert counts["test_alone"] == ALL["test_alone"]


def test_every_test_is_drawn_by_some_word() -> None:
    units = [f"unit {n}" for n in range(20)]
    drawn = [whole.draw(units, 3, str(word)) for word in range(60)]
    assert {len(chosen) for chosen in drawn} == {7}  # a third of 20, rounded up
    assert set().union(*drawn) == set(units)


def test_single_tests_of_the_folders_with_long_ones_come_first(tmp_path: Path) -> None:
    """A group of several tests comes before all of them, wherever its folders are."""
    test = "import pytest\n\n@pytest.mark.xdist_group({group!r})\ndef test_{name}():\n    pass\n"
    for folder, group in (("grade", "a"), ("kernel", "b"), ("policies", "b"), ("tools", "c")):
        (tmp_path / folder).mkdir()
        text = test.format(name=folder, group=group)
        (tmp_path / folder / f"test_{folder}.py").write_text(text)
    shown = run_tests(tmp_path, str(tmp_path), "-n", "1", "--dist", "loadgroup")
    order = re.findall(r"^PASSED (?:\[gw0\] )?(\w+)/", shown, re.M)
    assert order == ["kernel", "policies", "tools", "grade"]
