"""The certificate, from which anyone can make the grade again."""

import json

from grade.scoring import certificate
from grade.scoring.record import Record

FILE = certificate.FILE


def text(record: Record) -> str | None:
    made = certificate.certificate(record)
    return made and json.dumps(made, indent=1) + "\n"
