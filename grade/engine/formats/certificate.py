"""Write the certificate, from which anyone can make the grade again."""

import json

from grade.engine import certificate
from grade.engine.record import Record

FILE = certificate.FILE


def text(record: Record) -> str | None:
    """Return the certificate as JSON, or None if nothing was graded."""
    made = certificate.make_certificate(record)
    return json.dumps(made, indent=1) + "\n" if made else None
