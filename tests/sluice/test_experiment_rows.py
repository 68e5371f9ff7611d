"""Rows in an experiment's file stand for tables, and what is wrong in a row has its line.

ROWS writes the first two tables of TABLES as rows: a list of columns, and a list of values for each
table.
"""

from pathlib import Path

import pytest
from small_experiment import random_reads

from sluice.experiment.load import load
from sluice.experiment.locate import Lines
from sluice.experiment.rows import parse_experiment
from sluice.experiment.schema import BadExperiment

TABLES = """\
[[published]]
arm = "a"
where = {load = 1, seed = 2}
value = "x"

[[published]]
arm = "b"
where = {load = 1, seed = 3}
value = "y"

[[published]]
arm = "c"
"""
ROWS = """\
[[published]]
where = {load = 1}
columns = ["arm", "where.seed", "value"]
rows = [
    ["a", 2, "x"],  # a note
    # and a line of it
    ["b", 3, "y"],
]

[[published]]
arm = "c"
"""


def test_rows_are_the_tables_that_they_stand_for() -> None:
    assert parse_experiment(ROWS) == parse_experiment(TABLES)


def test_a_key_of_a_row_is_in_the_rows_line_and_a_shared_one_where_it_stands() -> None:
    """Lines finds the line of a key by its path."""
    lines = Lines(ROWS)
    assert [lines.line(("published", i, "arm")) for i in range(3)] == [5, 7, 11]
    assert [lines.line(("published", i, "where")) for i in range(3)] == [2, 2, 10]
    assert lines.line(("published", 1), "y") == 7


ARMS = '[[arms]]\ncolumns = ["name", "policies.update"]\nrows = [\n    ["PU", "pu"],\n]\n'


@pytest.mark.parametrize(
    ("old", "new", "at", "said"),
    [
        ('"pu"],', '"pu"],\n["AIPU"],', 4, "row 2 must be a list of 2 values, one for each column"),
        ('["PU", "pu"]', '["PU", "px"]', 3, 'unknown update policy "px"'),
        ('"policies.update"', '"polices.update"', 3, 'unknown key "polices"; did you mean'),
        ('"policies.update"', '"name"', 1, 'the column "name" is given twice'),
        ('columns = ["name", "policies.update"]\n', "", 2, '"rows" needs "columns", a list of'),
        ('    ["PU", "pu"],\n', "", 2, '"rows" must be a list of lists, at least one'),
        ("[[arms]]\n", '[[arms]]\nname = "x"\n', 2, 'the column "name" is given twice'),
    ],
)
def test_what_is_wrong_in_rows_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, at: int, said: str
) -> None:
    """at: the line, counted from the table of arms."""
    assert old in ARMS
    text = random_reads("rows are read", 10, 1)
    first = text.count("\n") + 2  # the line of [[arms]]
    path = tmp_path / "rows.toml"
    path.write_text(f"{text}\n{ARMS}")
    assert load(path).arms[-1] == "PU"
    path.write_text(f"{text}\n{ARMS.replace(old, new)}")
    with pytest.raises(BadExperiment) as refused:
        load(path)
    assert f"rows.toml:{first + at}: {said}" in str(refused.value)
