"""The word that names a format of traces, with options: what --format takes, and format= in Python.

    msr
    disksim
    csv:columns=time,op,offset,size;unit=us
    :bad=0.001                           (the format that the file looks like)

So options reach the reader wherever a format's name does: through experiments, sweeps and caches.
"""

import re
from dataclasses import dataclass, field

from sluice.host.nearest import suggest
from sluice.trace.errors import BadTraceFile

UNITS_PS = {
    "s": 10**12,
    "ms": 10**9,
    "us": 10**6,
    "ns": 1000,
    "ps": 1,
    "100ns": 10**5,
    "10ms": 10**10,
}
COLUMNS, UNIT, BAD = "columns", "unit", "bad"
TYPED = {COLUMNS: "--columns", UNIT: "--time-unit", BAD: "--bad-lines"}
SHARE = re.compile(r"(\d+\.?\d*|\.\d+)(%?)", re.A)


class BadWord(BadTraceFile):
    """The error for a word that names no format as it should."""


@dataclass(frozen=True)
class Word:
    """A format's name, or "" for the one that a file looks like, and its options by name."""

    name: str
    options: dict[str, str] = field(default_factory=dict)

    def bad_share(self) -> float:
        """Return the share of lines that may be bad, from 0 to 1."""
        return parse_share(self.options.get(BAD, "0"))


def parse_share(text: str) -> float:
    """Return a share, given as 0.001 or 0.1%. Raises BadWord."""
    found = SHARE.fullmatch(text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 2.0
    if share > 1:
        raise BadWord(f"{TYPED[BAD]} {text}: must be a share of the lines, as 0.1% or 0.001")
    return share


def parse_word(text: str) -> Word:
    """Return a word's name and options. Raises BadWord for options that do not exist, or are not as
    they should be."""
    name, _, rest = text.partition(":")
    options = {}
    for item in filter(None, rest.split(";")):
        key, equals, value = item.partition("=")
        if key not in TYPED or not equals:
            raise BadWord(f'format "{text}": "{item}" is no option; {suggest(key, TYPED)}')
        options[key] = value
    if UNIT in options and options[UNIT] not in UNITS_PS:
        raise BadWord(f"{TYPED[UNIT]} {options[UNIT]}: must be one of {', '.join(UNITS_PS)}")
    parse_share(options.get(BAD, "0"))
    return Word(name, options)


def format_word(name: str, columns: str = "", unit: str = "", bad: str = "") -> str:
    """Return the word for a format with these options, of which those that are empty were not
    given. Raises BadWord."""
    given = {COLUMNS: columns, UNIT: unit, BAD: bad}
    options = ";".join(f"{key}={value}" for key, value in given.items() if value)
    if not options:
        return name
    text = f"{name}{';' if ':' in name else ':'}{options}"
    parse_word(text)
    return text
