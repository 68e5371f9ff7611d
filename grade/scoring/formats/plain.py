"""The record itself."""

from grade.scoring.record import Record

FILE = "result.json"


def text(record: Record) -> str:
    return record.text()
