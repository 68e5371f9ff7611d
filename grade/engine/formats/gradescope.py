"""Write Gradescope's results.json.

If the grader failed there is no file: Gradescope then reports that the autograder failed, and
records no score.

Students see the points of hidden tests, and so their total, only when the grades are published.
"""

import json

from grade.engine.formats import describe_for_student
from grade.engine.record import Outcome, Record

FILE = "gradescope/results.json"


def test_entry(number: str, test: Outcome) -> dict[str, object]:
    """Return the entry of a test."""
    return {
        "name": f"{test.group}: {test.title}",
        "number": number,
        "score": test.points,
        "max_score": test.most,
        "status": "passed" if test.has_all_points else "failed",
        "output": describe_for_student(test),
        "output_format": "text",
        "visibility": "after_published" if test.hidden else "visible",
    }


def leaderboard_entries(record: Record) -> list[dict[str, object]]:
    """Return an entry for each measured figure; smaller figures are better."""
    return [
        {"name": f"{test.title} ({test.unit})", "value": test.value, "order": "asc"}
        for test in record.tests
        if test.measured and test.value is not None and not test.hidden
    ]


def text(record: Record) -> str | None:
    """Return results.json, or None if the grader failed."""
    if not record.has_score:
        return None
    tests = [
        test_entry(f"{i}.{j}", test)
        for i, group in enumerate(record.groups, 1)
        for j, test in enumerate(record.tests_of_group(group.name), 1)
    ]
    output = "" if record.status == "graded" else f"{record.status}: {record.message}"
    whole = {
        "score": record.score,
        "output": output,
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": tests,
        "leaderboard": leaderboard_entries(record),
        "extra_data": {"lab": record.lab, "nonce": record.nonce},
    }
    return json.dumps(whole, indent=1) + "\n"
