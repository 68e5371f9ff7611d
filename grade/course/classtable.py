"""Write a class's table: CSV, with one line for each submission."""

import csv
import io

from grade.engine.record import Record
from grade.trust.likeness import Pair
from grade.trust.untrusted_text import format_cell

HEAD = ("name", "status", "score", "most", "late_days", "late_points", "counts")


def describe_similar(name: str, alike: list[Pair]) -> str:
    """Return the names of the submissions similar to this one, each with what is similar."""
    found = (pair for pair in alike if name in (pair.one, pair.other))
    return "; ".join(
        f"{p.other if p.one == name else p.one}: {p.share:.0%} {p.says}" for p in found
    )


def format_table(records: dict[str, Record], alike: list[Pair]) -> str:
    """Return the table as CSV.

    The columns are name, status, score, late days, lost points, points that count, the points of
    each test, similar submissions, and the message. A submission that the grader failed to score
    has empty cells in place of points.
    """
    tests = list(dict.fromkeys(test.id for record in records.values() for test in record.tests))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*HEAD, *tests, "like", "message"])
    for name, record in records.items():
        points = {test.id: test.points for test in record.tests}
        late = (record.late.days, record.late.lost) if record.late else (0, 0)
        numbers = (record.score, record.most, *late, record.counts)
        row = [f"{number:g}" for number in (*numbers, *(points.get(t, 0) for t in tests))]
        if not record.has_score:
            row = ["", f"{record.most:g}", f"{late[0]:g}", "", "", *("" for _ in tests)]
        last = (format_cell(describe_similar(name, alike)), format_cell(record.message))
        writer.writerow([format_cell(name), record.status, *row, *last])
    return out.getvalue()
