"""Parse the roles and directives by which pages of the book ask for stored results.

    {result}`from=EXPERIMENT, arm=ARM, VARIABLE=VALUE, METRIC, digits=N`

stands for a number. A fence of one of DIRECTIVES holds YAML that names an experiment and metrics
(book/ext/sphinx/measured.py draws them). The source of a number is written as in documents.py.
The page itself contains no number, so no number in it can be out of date.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from sluice.experiment.records import Unchecked
from sluice.results.documents import Source, parse_source

ROLE = re.compile(r"\{result\}`([^`]+)`")
DIRECTIVES = ("results", "chart")
FENCE = re.compile(
    rf"^(`{{3,}}|:{{3,}})\{{({'|'.join(DIRECTIVES)})\}}[^\n]*\n(.*?)^\1\s*$", re.M | re.S
)


def parse_columns(body: Unchecked) -> dict[str, Source]:
    """Return the columns of a {results} table: their sources, by head."""
    shared = {"from": body["from"]} if "from" in body else {}
    return {head: shared | parse_source(words) for head, words in body["columns"].items()}


def cells(body: Unchecked) -> list[Source]:
    """Return the source of each cell of a {results} table; without `rows`, that of each column."""
    rows = [parse_source(words) for words in body["rows"].values()] if "rows" in body else [{}]
    return [column | row for row in rows for column in parse_columns(body).values()]


def parse_metrics(body: Unchecked) -> list[Source]:
    """Return the sources of the figures in a {chart}: one for each panel and arm, or one for each
    panel if it draws all arms."""
    at = {name: str(said) for name, said in body.get("at", {}).items()}
    shared = {"from": body["from"], "is": "drawn"} | at
    arms = [{"arm": arm} for arm in body["arms"]] if "arms" in body else [{}]
    return [
        shared | arm | {"metric": metric} for metric in body["metrics"].values() for arm in arms
    ]


def requested_sources(path: Path) -> Iterator[Source]:
    """Yield every source that a page asks for."""
    text = path.read_text(encoding="utf-8")
    for words in ROLE.findall(text):
        yield parse_source(words)
    for _, kind, words in FENCE.findall(text):
        body = yaml.safe_load(words)
        yield from cells(body) if kind == "results" else parse_metrics(body)
