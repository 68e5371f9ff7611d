"""Tables of the book's pages that commands write.

A comment (MARK) stands before each such table. A row is found by its first cells, its names.
"""

from pathlib import Path

import pytest

from sluice.experiment import repeat
from sluice.host import page_tables

MARK = "<!-- table: some -->"
PAGE = f"""Before.

{MARK}

| name | by | n |
| --- | --- | --- |
| `a` | x | 1 |
| `a` | y | 2 |

After | all.
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return a page with a table."""
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_a_row_takes_the_place_of_the_one_with_its_names(page: Path) -> None:
    """With two names, a row is replaced if both are equal, and added otherwise."""
    page_tables.put_rows(page, MARK, [["`a`", "y", "7"], ["`b`", "x", "8"]], names=2)
    wanted = PAGE.replace("| `a` | y | 2 |\n", "| `a` | y | 7 |\n| `b` | x | 8 |\n")
    assert page.read_text(encoding="utf-8") == wanted
    assert page_tables.read_rows(page, MARK)[1:] == [["`a`", "y", "7"], ["`b`", "x", "8"]]


def test_a_whole_table_is_replaced(page: Path) -> None:
    page_tables.put_table(page, MARK, [["one"], ["2"]])
    text = page.read_text(encoding="utf-8")
    assert f"{MARK}\n\n| one |\n| --- |\n| 2 |\n\nAfter | all.\n" in text


@pytest.mark.parametrize("put", [page_tables.put_rows, page_tables.put_table])
def test_a_page_without_the_table_is_named_and_stays(page: Path, put) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=r"page\.md: there is no table behind <!-- other -->"):
        put(page, "<!-- other -->", [["`a`", "x", "1"]])
    assert page.read_text(encoding="utf-8") == PAGE


def test_a_compilers_moves_are_put_in_place_of_its_older_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row says how much an experiment's results move with another compiler: how many figures,
    their mean and largest change, and how many verdicts."""
    page = tmp_path / "clock.md"
    page.write_text(f"{repeat.TABLE}\n\n| a | b |\n| --- | --- |\n| `e` | gcc 15.3.0 | old |\n")
    monkeypatch.setattr(repeat, "PAGE", page)
    way = "riscv64-unknown-elf-gcc_15.3.0-24_15.3.0"
    repeat.put_moves([repeat.Moved("e", way, [0.5, 3.0, 1.0], ["one is other"])])
    rows = page_tables.read_rows(page, repeat.TABLE)
    assert rows == [["`e`", "gcc 15.3.0", "3", "1.00 %", "3.00 %", "1"]]
