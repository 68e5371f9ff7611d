"""Autolab: the text for people, and as the last line the scores by problem.

A driver prints this file. The problems are the lab's groups, and must be defined with these names.
The scoreboard has the columns that autolab-scoreboard.json defines. A submission that could not be
scored has no row there.
"""

import json

from grade.scoring.formats import shown
from grade.scoring.formats.autolab_scoreboard import entries
from grade.scoring.record import NOT_SCORED, Record

FILE = "autolab.txt"


def text(record: Record) -> str:
    lines = [] if record.status == "graded" else [f"{record.status}: {record.message}"]
    for test in record.tests:
        lines += [f"{test.points:g}/{test.most:g} {test.group}: {test.title}", shown(test)]
    scores = {group.name: group.points for group in record.groups}
    last = {"scores": scores}
    if record.status != NOT_SCORED:
        last["scoreboard"] = entries(record)
    return "\n".join([*lines, json.dumps(last)]) + "\n"
