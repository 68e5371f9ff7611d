"""The figures in documents that come from experiments: found, checked, and put in.

A comment before a table names the source of each column, parted by `;`:

    <!-- results: from=mogul-4.1-fast; read.mean_ms; read.max_ms -->
    | fast | mean | longest |
    |---|---|---|
    | async, PU <!-- arm=async+PU --> | 14.3 | 55 |

A source is words parted by commas: from=EXPERIMENT, arm=ARM, VARIABLE=VALUE, a metric, and
is=model or is=published for what the model or the paper says, is=low or is=high for the ends of
the interval (store.py). The first holds for all columns; a comment in a row's first cell holds for
the row, and without an arm that cell is the arm's name. Cells without a digit and cells in italics
are no figures of ours. In text the source follows the figure:
`319 ms<!-- result: from=..., arm=..., read.max_ms -->`. A measured figure in text is quoted with
its interval: as its two ends, or with both of them in the same paragraph.

A table of figures that come from elsewhere says so: <!-- host: make bench --> is what a
command measured on some machine, <!-- checked: FILE::TEST --> what that test of tests
computes and compares, <!-- unchecked: why --> anything else.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sluice.experiment.result import BadResult
from sluice.host.paths import ROOT

MARK = re.compile(r"^<!-- (results|host|checked|unchecked): (.*?) -->\n", re.M | re.S)
TABLE = re.compile(r"(?:^\|.*\n)+", re.M)
IN_TEXT = re.compile(
    r"(?P<number>[\d,]*\d(?:\.\d+)?)(?: [^\d\s<]+)?(?P<mark><!-- result: (?P<source>.*?) -->)", re.S
)
STRAY = re.compile(r"<!-- results?\b")
COMMENT = re.compile(r"<!-- (.*?) -->")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
FENCED = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1`*[ \t]*$", re.M | re.S)  # code
ITALICS = re.compile(r"\*[^*]+\*")

ENDS = ("low", "high")  # of an interval

Read = Callable[[str], dict]  # what is stored of an experiment
Source = dict[str, str]


@dataclass(frozen=True)
class Figure:
    """A figure printed at [start, end) of a document, and where it comes from."""

    path: Path
    line: int
    start: int
    end: int
    printed: str
    source: Source

    @property
    def place(self) -> str:
        """A place in a document, for messages."""
        return f"{self.path.name}:{self.line}"


def documents() -> list[Path]:
    """All documents that may quote results."""
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted(p for top in ("book", "grade") for p in ROOT.glob(f"{top}/**/*.md")),
    ]


def source(words: str) -> Source:
    """A source as it is written; a word without = is the metric."""
    parts = [part.strip() for part in words.split(",") if part.strip()]
    pairs = [part.split("=", 1) if "=" in part else ["metric", part] for part in parts]
    return {name.strip(): value.strip() for name, value in pairs}


def tables(text: str) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """Each table, with the mark before it, if there is one."""
    marks = {mark.end(): mark for mark in MARK.finditer(text)}
    for table in TABLE.finditer(text):
        yield table, marks.get(table.start())


def cells(row: str) -> list[re.Match[str]]:
    """The cells of a row, without the bars."""
    return list(re.finditer(r"[^|\n]+(?=\|)", row))


def is_figures(table: str) -> bool:
    """True if at least half of a table's cells, without the first of each row, begin with a
    digit."""
    body = [cell[0].strip() for row in table.splitlines()[2:] for cell in cells(row)[1:]]
    filled = [cell for cell in body if cell]
    return sum(cell[0].isdigit() for cell in filled) * 2 >= max(len(filled), 1)


def row_figures(row: str, columns: list[Source]) -> Iterator[tuple[re.Match[str], Source]]:
    """The figures of a row, with their sources. Raises BadResult for a cell that is not one."""
    label, *others = cells(row)
    here = {name: v for comment in COMMENT.findall(label[0]) for name, v in source(comment).items()}
    name = COMMENT.sub("", label[0]).strip()
    if not any(re.search(r"\d", cell[0]) for cell in others):
        return
    if len(others) != len(columns):
        raise BadResult(f"{len(others)} columns, but {len(columns)} sources")
    for cell, column in zip(others, columns, strict=True):
        words = cell[0].strip()
        if NUMBER.fullmatch(words):
            yield cell, {"arm": name} | column | here
        elif words and not ITALICS.fullmatch(words):
            raise BadResult(f'"{words}" is neither a figure nor in italics')


def table_figures(table: str, mark: str) -> Iterator[tuple[int, int, Source]]:
    """The places of a table's figures, and their sources."""
    first, *columns = [source(words) for words in mark.split(";")]
    sources = [first | column for column in columns]
    at = 0
    for n, row in enumerate(table.splitlines(keepends=True)):
        for cell, come_from in row_figures(row, sources) if n > 1 else ():
            start = at + cell.start() + cell[0].index(cell[0].strip())
            yield start, start + len(cell[0].strip()), come_from
        at += len(row)


def expect_no_strays(path: Path, text: str) -> None:
    """Raise BadResult for a comment that stands at no figure, or before no table."""
    used = {m.start("mark") for m in IN_TEXT.finditer(text)}
    used |= {mark.start() for _, mark in tables(text) if mark}
    for stray in STRAY.finditer(text):
        if stray.start() not in used:
            line = text.count("\n", 0, stray.start()) + 1
            raise BadResult(f"{path.name}:{line}: there is no figure or table at this comment")


def figures(path: Path) -> Iterator[Figure]:
    """All figures of a document that come from experiments. Raises BadResult for a wrong mark."""
    text = path.read_text(encoding="utf-8")
    found = [(*m.span("number"), source(m["source"])) for m in IN_TEXT.finditer(text)]
    expect_no_strays(path, text)
    for table, mark in tables(text):
        if mark and mark[1] == "results":
            try:
                rows = list(table_figures(table[0], mark[2]))
            except BadResult as error:
                line = text.count("\n", 0, table.start()) + 1
                raise BadResult(f"{path.name}:{line}: {error}") from None
            found += [(table.start() + a, table.start() + b, s) for a, b, s in rows]
    for start, end, come_from in sorted(found, key=lambda row: row[0]):
        yield Figure(path, text.count("\n", 0, start) + 1, start, end, text[start:end], come_from)


def without_interval(path: Path) -> list[Figure]:
    """The measured figures in text whose paragraph does not have both ends of their interval."""
    text = path.read_text(encoding="utf-8")
    in_text = {mark.start("number") for mark in IN_TEXT.finditer(text)}
    found = [one for one in figures(path) if one.start in in_text]
    ends = {
        (text.count("\n\n", 0, one.start), *sorted(one.source.items()))
        for one in found
        if one.source.get("is") in ENDS
    }

    def lacks(one: Figure) -> bool:
        kinds = ENDS if one.source.get("is", "measured") in ("measured", *ENDS) else ()
        place = text.count("\n\n", 0, one.start)
        return any((place, *sorted((one.source | {"is": k}).items())) not in ends for k in kinds)

    return [one for one in found if lacks(one)]


def unmarked(path: Path) -> list[int]:
    """The first lines of tables of figures whose source is not given. Code has no tables."""
    text = FENCED.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), path.read_text(encoding="utf-8"))
    bare = [table for table, mark in tables(text) if not mark and is_figures(table[0])]
    return [text.count("\n", 0, table.start()) + 1 for table in bare]


def checked(path: Path) -> list[str]:
    """The tests, as FILE::TEST, that are said to compare a table of the document."""
    return [
        mark[2]
        for _, mark in tables(path.read_text(encoding="utf-8"))
        if mark and mark[1] == "checked"
    ]


def row(come_from: Source, read: Read) -> dict:
    """The stored row that a source names. Raises BadResult if it names none, or several."""
    wanted = dict(come_from)
    name, arm, metric = (wanted.pop(key, None) for key in ("from", "arm", "metric"))
    wanted.pop("is", None)
    if not name or not metric:
        raise BadResult(f"{come_from}: lacks from=EXPERIMENT or a metric")
    rows = [
        row
        for row in read(name)["rows"]
        if row["arm"] == arm and all(str(row["at"].get(k)) == v for k, v in wanted.items())
    ]
    if len(rows) != 1:
        raise BadResult(f"{name} has {len(rows)} rows of arm={arm} {wanted or ''}".rstrip())
    return rows[0]


def value(come_from: Source, read: Read) -> float:
    """The stored value that a source names. Raises BadResult if it names none, or several."""
    found, kind = row(come_from, read), come_from.get("is", "measured")
    name, metric = come_from["from"], come_from["metric"]
    of = "interval" if kind in ENDS else kind
    if metric not in found.get(of, {}):
        raise BadResult(f"{name} has no {of} {metric} stored: make results E={name}")
    stored = found[of][metric]
    return float(stored[ENDS.index(kind)] if kind in ENDS else stored)


def now(figure: Figure, read: Read) -> str:
    """The text that should be printed, with as many decimals as the figure has."""
    try:
        return f"{value(figure.source, read):,.{len(figure.printed.partition('.')[2])}f}"
    except BadResult as error:
        raise BadResult(f"{figure.place}: {error}") from None


def put_in(path: Path, read: Read, only: set[str]) -> tuple[str, list[str]]:
    """A document's text with the stored values of these experiments put in, and what changed."""
    text, said = path.read_text(encoding="utf-8"), []
    for figure in reversed([one for one in figures(path) if one.source.get("from") in only]):
        new = now(figure, read)
        if new != figure.printed:
            said.append(f"{figure.place}: {figure.printed} is now {new}")
            text = text[: figure.start] + new + text[figure.end :]
    return text, said[::-1]
