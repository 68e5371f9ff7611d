"""Write Submitty's validation_results.json, as a custom validator does."""

import json

from grade.engine.formats import describe_for_student
from grade.engine.record import Record

FILE = "submitty/validation_results.json"


def text(record: Record) -> str:
    """Return validation_results.json."""
    if not record.has_score:  # the validator failed: no points are recorded
        whole = {"status": "failure", "message": f"{record.status}: {record.message}"}
        return json.dumps(whole, indent=1) + "\n"
    full = record.status == "graded" and record.score == record.most
    messages = [
        {
            "message": f"{test.group}: {test.title}\n{describe_for_student(test)}",
            "status": "failure",
        }
        for test in record.tests
        if not test.has_all_points
    ]
    if record.status != "graded":
        messages = [{"message": f"{record.status}: {record.message}", "status": "failure"}]
    data = {
        "score": record.score / record.most,
        "message": messages or "all tests passed",
        "status": "success" if full else "failure",
    }
    return json.dumps({"status": "success", "data": data}, indent=1) + "\n"
