"""Write Autolab's column specification, to be pasted where the lab's scoreboard is set up.

Its columns are the score, and after it the measured figures. Smaller figures are better.
"""

import json

from grade.engine.record import Outcome, Record

FILE = "autolab-scoreboard.json"
NOT_MEASURED = "-"  # the test failed before it measured, or was not run


def scoreboard_row(record: Record) -> list[float | str]:
    """Return a submission's row: a value for each column, even if it was refused."""
    values = {test.id: test.value for test in record.tests if test.value is not None}
    return [record.score, *(values.get(column, NOT_MEASURED) for column in record.columns)]


def column_spec(test: Outcome) -> dict[str, object]:
    """Return the column of a measured figure; smaller figures are better."""
    return {"hdr": f"{test.title} ({test.unit})" if test.unit else test.title, "asc": 1}


def text(record: Record) -> str | None:
    """Return the column specification, or None unless the submission was graded."""
    if record.status != "graded":
        return None
    columns = [column_spec(test) for test in record.tests if test.id in record.columns]
    return json.dumps({"scoreboard": [{"hdr": "Score"}, *columns]}, indent=1) + "\n"
