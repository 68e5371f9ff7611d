"""Write PrairieLearn's results.json of an external grader.

If the grader failed there is no file. PrairieLearn then reports a failed job and records no score.
A submission that is refused or does not build is not gradable, so the student may hand in again.
"""

import json

from grade.engine.formats import describe_for_student
from grade.engine.record import Record

FILE = "prairielearn/results.json"


def text(record: Record) -> str | None:
    """Return results.json, or None if the grader failed."""
    if not record.has_score:
        return None
    if record.status != "graded":
        message = f"{record.status}: {record.message}"
        whole = {"gradable": False, "message": message, "format_errors": [message]}
        return json.dumps(whole, indent=1) + "\n"
    tests = [
        {
            "name": f"{test.group}: {test.title}",
            "points": test.points,
            "max_points": test.most,
            "output": describe_for_student(test),
        }
        for test in record.tests
    ]
    score = record.score / record.most
    return json.dumps({"gradable": True, "score": score, "tests": tests}, indent=1) + "\n"
