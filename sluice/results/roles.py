"""The roles and directives by which pages of the book ask for stored results.

    {result}`from=EXPERIMENT, arm=ARM, VARIABLE=VALUE, METRIC, digits=N`

stands for a number. A fence of one of DIRECTIVES holds YAML that names an experiment and metrics
(book/ext/sphinx/measured.py draws them). The source of a number is written as in documents.py.
The page itself contains no number, so no number in it can be out of date.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from sluice.results.documents import Source, source

ROLE = re.compile(r"\{result\}`([^`]+)`")
DIRECTIVES = ("results", "chart")
FENCE = re.compile(
    rf"^(`{{3,}}|:{{3,}})\{{({'|'.join(DIRECTIVES)})\}}[^\n]*\n(.*?)^\1\s*$", re.M | re.S
)


def columns(body: dict) -> dict[str, Source]:
    """The columns of a {results} table: their heads, and their sources."""
    shared = {"from": body["from"]} if "from" in body else {}
    return {head: shared | source(words) for head, words in body["columns"].items()}


def lines(body: dict) -> list[Source]:
    """The metrics of a {chart}, one for each panel."""
    return [{"from": body["from"], "metric": metric} for metric in body["metrics"].values()]


def asked(path: Path) -> Iterator[Source]:
    """Every experiment and metric that a page asks for."""
    text = path.read_text(encoding="utf-8")
    for words in ROLE.findall(text):
        yield source(words)
    for _, kind, words in FENCE.findall(text):
        body = yaml.safe_load(words)
        yield from columns(body).values() if kind == "results" else lines(body)
