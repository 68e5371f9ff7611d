"""The certificate, from which anyone can make the grade again."""

import json

from grade.engine import certificate
from grade.engine.record import Record

FILE = certificate.FILE


def text(record: Record) -> str | None:
    made = certificate.certificate(record)
    return made and json.dumps(made, indent=1) + "\n"
