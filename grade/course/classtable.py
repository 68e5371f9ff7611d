"""A class's table: CSV, a row on one line for each submission."""

import csv
import io

from grade.engine.record import Record
from grade.trust.likeness import Pair
from grade.trust.untrusted_text import cell

HEAD = ("name", "status", "score", "most", "late_days", "late_points", "counts")


def like(name: str, alike: list[Pair]) -> str:
    """Whom a submission is like, and in what."""
    found = (pair for pair in alike if name in (pair.one, pair.other))
    return "; ".join(
        f"{p.other if p.one == name else p.one}: {p.share:.0%} {p.says}" for p in found
    )


def text(records: dict[str, Record], alike: list[Pair]) -> str:
    """Name, status, score, what is lost by being late and what counts, the points of each test,
    similar submissions, and why it was not graded. What the grader failed to score has empty cells
    where others have points."""
    tests = list(dict.fromkeys(test.id for record in records.values() for test in record.tests))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*HEAD, *tests, "like", "message"])
    for name, record in records.items():
        points = {test.id: test.points for test in record.tests}
        late = (record.late.days, record.late.lost) if record.late else (0, 0)
        numbers = (record.score, record.most, *late, record.counts)
        row = [f"{number:g}" for number in (*numbers, *(points.get(t, 0) for t in tests))]
        if not record.scored:
            row = ["", f"{record.most:g}", f"{late[0]:g}", "", "", *("" for _ in tests)]
        last = (cell(like(name, alike)), cell(record.message))
        writer.writerow([cell(name), record.status, *row, *last])
    return out.getvalue()
