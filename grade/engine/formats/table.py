"""CSV: a row for each test, for the staff; a submission without tests has one row."""

import csv
import io

from grade.engine.record import Record
from grade.trust.untrusted_text import cell

FILE = "result.csv"
COLUMNS = ("lab", "status", "group", "test", "hidden", "points", "most", "value", "unit", "came")


def text(record: Record) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    if not record.tests:
        empty = ("", "", "", 0 if record.scored else "", record.most, "", "")
        writer.writerow((record.lab, record.status, *empty, cell(record.message)))
    for test in record.tests:
        value = "" if test.value is None else test.value
        row = (test.group, test.name, int(test.hidden), test.points, test.most, value, test.unit)
        writer.writerow((record.lab, record.status, *row, cell(test.came)))
    return out.getvalue()
