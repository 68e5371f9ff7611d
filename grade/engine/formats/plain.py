"""Write the record itself."""

from grade.engine.record import Record

FILE = "result.json"


def text(record: Record) -> str:
    """Return the record as JSON."""
    return record.to_json()
