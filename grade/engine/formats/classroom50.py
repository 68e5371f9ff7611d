"""Write Classroom 50's result.json. Its runner's environment says who handed in what.

If the grader failed there is no file.

Classroom 50 has only whole points. So each of its tests is a group of the lab, and the group's
points are rounded down. The submission's time is that of the graded commit, for which the caller
sets SUBMITTED_AT.
"""

import json
import math
import os
from datetime import UTC, datetime
from typing import Any

from grade.engine.formats import describe_for_student
from grade.engine.record import GroupResult, Record

FILE = "classroom50/result.json"
RUNNERS = {  # field: variable of the runner's environment
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "assignment_type": "ASSIGNMENT_TYPE",
    "owner": "OWNER",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}
SUBMITTED_AT = "SUBMITTED_AT"  # in ISO 8601, as `git log -1 --format=%cI` has it


def format_utc(when: datetime) -> str:
    """Return a time as the form needs it, in UTC."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def group_entry(record: Record, group: GroupResult) -> dict[str, Any]:
    """Return the entry of a group of tests."""
    return {
        "test-name": group.name,
        "passed": group.points == group.most,
        "score": math.floor(group.points),
        "max-score": math.floor(group.most),
        "output": "\n".join(
            describe_for_student(test) for test in record.tests_of_group(group.name)
        ),
    }


def text(record: Record) -> str | None:
    """Return result.json, or None if the grader failed or the runner's variables are incomplete."""
    if not record.has_score:
        return None
    identity = {field: os.environ.get(name, "") for field, name in RUNNERS.items()}
    if not all(identity.values()):
        return None
    now = datetime.now(UTC)
    submitted = os.environ.get(SUBMITTED_AT)
    rows = [group_entry(record, group) for group in record.groups]
    whole = {
        "schema": "classroom50/result/v1",
        **identity,
        "datetime": format_utc(datetime.fromisoformat(submitted) if submitted else now),
        "graded_at": format_utc(now),
        "score": sum(row["score"] for row in rows),
        "max-score": sum(row["max-score"] for row in rows),
        "tests": rows,
    }
    return json.dumps(whole, indent=1) + "\n"
