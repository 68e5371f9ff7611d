"""The record itself."""

from grade.engine.record import Record

FILE = "result.json"


def text(record: Record) -> str:
    return record.text()
