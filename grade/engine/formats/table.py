"""Write CSV for the staff: a row for each test; a submission without tests has one row."""

import csv
import io

from grade.engine.record import Record
from grade.trust.untrusted_text import format_cell

FILE = "result.csv"
COLUMNS = ("lab", "status", "group", "test", "hidden", "points", "most", "value", "unit", "came")


def text(record: Record) -> str:
    """Return the table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    if not record.tests:
        empty = ("", "", "", 0 if record.has_score else "", record.most, "", "")
        writer.writerow((record.lab, record.status, *empty, format_cell(record.message)))
    for test in record.tests:
        value = "" if test.value is None else test.value
        row = (test.group, test.name, int(test.hidden), test.points, test.most, value, test.unit)
        writer.writerow((record.lab, record.status, *row, format_cell(test.came)))
    return out.getvalue()
