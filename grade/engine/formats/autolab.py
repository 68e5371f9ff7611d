"""Write Autolab's form: the text for people, and as the last line the scores by problem.

A driver prints this file. The problems are the lab's groups, and must be defined with these names.
The scoreboard has the columns that autolab-scoreboard.json defines. If the grader failed there is
no file, and so no last line with scores: Autolab then reports that the autograding failed.
"""

import json

from grade.engine.formats import describe_for_student
from grade.engine.formats.autolab_scoreboard import scoreboard_row
from grade.engine.record import Record

FILE = "autolab.txt"


def text(record: Record) -> str | None:
    """Return Autolab's form, or None if the grader failed."""
    if not record.has_score:
        return None
    lines = [] if record.status == "graded" else [f"{record.status}: {record.message}"]
    for test in record.tests:
        lines += [
            f"{test.points:g}/{test.most:g} {test.group}: {test.title}",
            describe_for_student(test),
        ]
    scores = {group.name: group.points for group in record.groups}
    last = {"scores": scores, "scoreboard": scoreboard_row(record)}
    return "\n".join([*lines, json.dumps(last)]) + "\n"
