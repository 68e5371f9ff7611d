"""Autolab's column specification, to be pasted where the lab's scoreboard is set up.

It has the score, and below it the measured figures, of which less is better.
"""

import json

from grade.engine.record import Outcome, Record

FILE = "autolab-scoreboard.json"
NOT_MEASURED = "-"  # the test failed before there was a figure, or was not asked


def entries(record: Record) -> list[float | str]:
    """A submission's row: a value for each column, also if it was refused."""
    values = {test.id: test.value for test in record.tests if test.value is not None}
    return [record.score, *(values.get(column, NOT_MEASURED) for column in record.columns)]


def column(test: Outcome) -> dict:
    """The column of a measured figure, of which less is better."""
    return {"hdr": f"{test.title} ({test.unit})" if test.unit else test.title, "asc": 1}


def text(record: Record) -> str | None:
    if record.status != "graded":
        return None
    columns = [column(test) for test in record.tests if test.id in record.columns]
    return json.dumps({"scoreboard": [{"hdr": "Score"}, *columns]}, indent=1) + "\n"
