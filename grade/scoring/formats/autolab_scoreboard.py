"""Autolab's column specification: to be pasted where the lab's scoreboard is set up.

The score, and below it what is measured, where less is better.
"""

import json

from grade.scoring.record import Outcome, Record

FILE = "autolab-scoreboard.json"
NOT_MEASURED = "-"  # the test failed before there was a figure


def measured(record: Record) -> list[Outcome]:
    """The tests that have a column."""
    return [test for test in record.tests if test.measured and not test.hidden]


def entries(record: Record) -> list[float | str]:
    """A submission's row."""
    figures = (NOT_MEASURED if t.value is None else t.value for t in measured(record))
    return [record.score, *figures]


def text(record: Record) -> str | None:
    if record.status != "graded":
        return None
    columns = [{"hdr": f"{t.title} ({t.unit})" if t.unit else t.title} for t in measured(record)]
    score = {"hdr": "Score"}
    return json.dumps({"scoreboard": [score, *(c | {"asc": 1} for c in columns)]}, indent=1) + "\n"
