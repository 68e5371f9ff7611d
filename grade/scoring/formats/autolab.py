"""Autolab: the text for people, and as the last line the scores by problem.

A driver prints this file. The problems are the lab's groups; the scoreboard has the
score and what was measured. Source: docs.autolabproject.com, "Guide for Lab Authors".
"""

import json

from grade.scoring.formats import shown
from grade.scoring.record import Record

FILE = "autolab.txt"


def text(record: Record) -> str:
    lines = [] if record.status == "graded" else [f"{record.status}: {record.message}"]
    for test in record.tests:
        lines += [f"{test.points:g}/{test.most:g} {test.group}: {test.title}", shown(test)]
    measured = [test.value for test in record.tests if test.value is not None and not test.hidden]
    scores = {group.name: group.points for group in record.groups}
    last = json.dumps({"scores": scores, "scoreboard": [record.score, *measured]})
    return "\n".join([*lines, last]) + "\n"
