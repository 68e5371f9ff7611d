"""Find, check and update the figures in documents that come from experiments.

A comment before a table names the source of each column, separated by `;`:

    <!-- results: from=mogul-4.1-fast; read.mean_ms; read.max_ms -->
    | fast | mean | longest |
    |---|---|---|
    | async, PU <!-- arm=async+PU --> | 14.3 | 55 |

A source is a list of words, separated by commas: from=EXPERIMENT, arm=ARM, VARIABLE=VALUE and a
metric. is=model or is=published asks for the figure of the model or of the paper, is=low or is=high
for an end of the interval (store.py). An arm with a comma in its name is written arm="ARM". The
first source of the comment applies to all columns. A comment in a row's first cell applies to the
row; if neither names an arm, the text of this cell is the arm. Cells without a digit and cells in
italics are not compared. For figures in text, a comment at the end of the document repeats the
words around the figures, with SLOTS in place of the figures:

    <!-- figures:
    from {low} to {high} ms under PU: from=mogul-4.1-fast, arm=delayed+PU, read.max_ms
    -->

These words must occur in the document exactly once; line breaks count as blanks. A measured figure
in text is quoted with its interval: as its two ends, or with both of them in the same paragraph.

A table of figures from elsewhere has another comment: <!-- table: limits --> if
book.ext.architecture writes the table, <!-- host: sluice bench --> if a command measured the
figures on some machine, <!-- checked: FILE::TEST --> if this test in tests/ compares them, and <!--
unchecked: why --> otherwise.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.experiment.result import BadResult
from sluice.host.paths import ROOT
from sluice.results.stored_records import StoredResults, StoredRow

ENDS = ("low", "high")  # of an interval
KINDS = (*ENDS, "model", "published")
MARK = re.compile(
    r"^<!-- (results|host|checked|unchecked): (.*?) -->\n|^<!-- table: \w+ -->\n\n", re.M | re.S
)
TABLE = re.compile(r"(?:^\|.*\n)+", re.M)
FIGURES = re.compile(r"^<!-- figures:\n(.*?)^-->", re.M | re.S)
SLOTS = {name: {} if name == "value" else {"is": name} for name in ("value", *KINDS)}
SLOT = re.compile(r"\{(\w+)\}")
STRAY = re.compile(r"<!-- (results?|figures)\b")
COMMENT = re.compile(r"<!-- (.*?) -->")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
FENCED = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1`*[ \t]*$", re.M | re.S)  # code
UNQUOTED_COMMA = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)')
ITALICS = re.compile(r"\*[^*]+\*")

Read = Callable[[str], StoredResults]  # returns the stored results of an experiment
Source = dict[str, str]


@dataclass(frozen=True)
class Figure:
    """A figure printed at [start, end) of a document, and its source."""

    path: Path
    line: int
    start: int
    end: int
    printed: str
    source: Source

    @property
    def place(self) -> str:
        """The position in the document, for messages."""
        return f"{self.path.name}:{self.line}"


def result_documents() -> list[Path]:
    """Return all documents that may quote results."""
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted(p for top in ("book", "grade") for p in ROOT.glob(f"{top}/**/*.md")),
    ]


def parse_source(words: str) -> Source:
    """Return a source from its text; a word without = is the metric.

    Commas within quotes do not separate words.
    """
    parts = [part.strip() for part in UNQUOTED_COMMA.split(words) if part.strip()]
    pairs = [part.split("=", 1) if "=" in part else ["metric", part] for part in parts]
    return {name.strip(): value.strip().strip('"') for name, value in pairs}


def find_tables(text: str) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """Yield each table, with the mark before it, or None."""
    marks = {mark.end(): mark for mark in MARK.finditer(text)}
    for table in TABLE.finditer(text):
        yield table, marks.get(table.start())


def row_cells(row: str) -> list[re.Match[str]]:
    """Return the cells of a row, without the bars."""
    return list(re.finditer(r"[^|\n]+(?=\|)", row))


def holds_figures(table: str) -> bool:
    """Return whether at least half of a table's cells begin with a digit, not counting empty cells
    and the first cell of each row."""
    body = table.splitlines()[2:]  # without the head, and the line below it
    cells = [cell[0].strip() for row in body for cell in row_cells(row)[1:]]
    filled = [cell for cell in cells if cell]
    with_digit = sum(cell[0].isdigit() for cell in filled)
    return with_digit * 2 >= max(len(filled), 1)


def figures_in_row(row: str, columns: list[Source]) -> Iterator[tuple[re.Match[str], Source]]:
    """Yield the figures of a row, with their sources.

    Raises BadResult for a cell that is not a figure.
    """
    label, *others = row_cells(row)
    of_row: Source = {}
    for comment in COMMENT.findall(label[0]):
        of_row |= parse_source(comment)
    name = COMMENT.sub("", label[0]).strip()
    if not any(re.search(r"\d", cell[0]) for cell in others):
        return
    if len(others) != len(columns):
        raise BadResult(f"{len(others)} columns, but {len(columns)} sources")
    for cell, column in zip(others, columns, strict=True):
        words = cell[0].strip()
        if NUMBER.fullmatch(words):
            yield cell, {"arm": name} | column | of_row
        elif words and not ITALICS.fullmatch(words):
            raise BadResult(f'"{words}" is neither a figure nor in italics')


def figures_in_table(table: str, mark: str) -> Iterator[tuple[int, int, Source]]:
    """Yield the start, end and source of each figure of a table."""
    first, *columns = [parse_source(words) for words in mark.split(";")]
    sources = [first | column for column in columns]
    at = 0
    for n, row in enumerate(table.splitlines(keepends=True)):
        for cell, come_from in figures_in_row(row, sources) if n > 1 else ():
            start = at + cell.start() + cell[0].index(cell[0].strip())
            yield start, start + len(cell[0].strip()), come_from
        at += len(row)


def place_of(path: Path, text: str, at: int) -> str:
    """Return a place in a document, for messages."""
    return f"{path.name}:{text.count(chr(10), 0, at) + 1}"


def expect_placed_marks(path: Path, text: str) -> None:
    """Raise BadResult for a comment that stands before no table, or is not closed."""
    used = {mark.start() for _, mark in find_tables(text) if mark}
    used |= {mark.start() for mark in FIGURES.finditer(text)}
    for stray in STRAY.finditer(text):
        if stray.start() not in used:
            raise BadResult(f"{place_of(path, text, stray.start())}: there is no table here")


def blank_out(found: re.Match[str]) -> str:
    """Return blanks for all characters of a match except line breaks, so that no other place of the
    text moves."""
    return re.sub(r"[^\n]", " ", found[0])


def pattern(words: str) -> str:
    """Return the regular expression for words with slots: each slot matches a number, and is a
    group with the slot's name.

    Raises BadResult if the words have no slot, an unknown slot, or a slot twice.
    """
    parts = SLOT.split(words)  # text and names of slots in turn
    names = parts[1::2]
    if not names or set(names) - SLOTS.keys() or len(set(names)) < len(names):
        raise BadResult(f'"{words}": needs one or more of {{{"}, {".join(SLOTS)}}}, each once')
    parts[::2] = [r"\s+".join(re.escape(word) for word in part.split(" ")) for part in parts[::2]]
    parts[1::2] = [rf"(?P<{name}>{NUMBER.pattern})" for name in names]
    # A number at the beginning must not be the end of a longer number.
    return rf"(?<![\d,.]){''.join(parts)}" if not parts[0] else "".join(parts)


def text_figures(path: Path, text: str) -> Iterator[tuple[int, int, Source]]:
    """Return the places of the figures in text, and their sources. Raises BadResult for words that
    the document does not have, or has more than once."""
    body = FIGURES.sub(blank_out, text)
    for mark in FIGURES.finditer(text):
        for line in mark[1].splitlines():
            words, _, rest = line.partition(": from=")
            try:
                found = list(re.finditer(pattern(words.strip()), body))
                if len(found) != 1:
                    raise BadResult(f'"{words}": stands {len(found)} times in the text, not once')
            except BadResult as error:
                raise BadResult(f"{place_of(path, text, mark.start())}: figures: {error}") from None
            for name in found[0].groupdict():
                yield *found[0].span(name), parse_source(f"from={rest}") | SLOTS[name]


def marked_figures(path: Path) -> Iterator[Figure]:
    """Yield all figures of a document that come from experiments. Raises BadResult for a wrong
    mark."""
    text = path.read_text(encoding="utf-8")
    expect_placed_marks(path, text)
    found = list(text_figures(path, text))
    for table, mark in find_tables(text):
        if mark and mark[1] == "results":
            try:
                rows = list(figures_in_table(table[0], mark[2]))
            except BadResult as error:
                raise BadResult(f"{place_of(path, text, table.start())}: {error}") from None
            found += [(table.start() + a, table.start() + b, s) for a, b, s in rows]
    for start, end, come_from in sorted(found, key=lambda row: row[0]):
        yield Figure(path, text.count("\n", 0, start) + 1, start, end, text[start:end], come_from)


def figures_without_interval(path: Path) -> list[Figure]:
    """Return the measured figures in text whose paragraph lacks an end of their interval."""
    text = path.read_text(encoding="utf-8")
    in_text = {start for start, _, _ in text_figures(path, text)}
    found = [one for one in marked_figures(path) if one.start in in_text]

    def paragraph_and_source(one: Figure, kind: str) -> tuple[object, ...]:
        """Return the number of a figure's paragraph, and its source as a figure of this kind."""
        paragraph = text.count("\n\n", 0, one.start)
        return paragraph, *sorted((one.source | {"is": kind}).items())

    kinds = [one.source.get("is", "measured") for one in found]
    quoted = {
        paragraph_and_source(one, kind)
        for one, kind in zip(found, kinds, strict=True)
        if kind in ENDS
    }
    return [
        one
        for one, kind in zip(found, kinds, strict=True)
        if kind in ("measured", *ENDS)
        and not all(paragraph_and_source(one, end) in quoted for end in ENDS)
    ]


def unmarked_tables(path: Path) -> list[int]:
    """Return the numbers of the first lines of those tables of figures that have no mark. Code is
    ignored."""
    text = FENCED.sub(blank_out, path.read_text(encoding="utf-8"))
    bare = [table for table, mark in find_tables(text) if not mark and holds_figures(table[0])]
    return [text.count("\n", 0, table.start()) + 1 for table in bare]


def checked_tables(path: Path) -> list[str]:
    """Return the tests, as FILE::TEST, that compare tables of the document according to its
    comments."""
    return [
        mark[2]
        for _, mark in find_tables(path.read_text(encoding="utf-8"))
        if mark and mark[1] == "checked"
    ]


def stored_row(come_from: Source, read: Read) -> StoredRow:
    """Return the stored row that a source names. Raises BadResult unless there is exactly one."""
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


def stored_value(come_from: Source, read: Read) -> float:
    """Return the stored value that a source names. Raises BadResult unless there is exactly one."""
    kind = come_from.get("is", "measured")
    found: Mapping[str, Any] = stored_row(come_from, read)
    name, metric = come_from["from"], come_from["metric"]
    of = "interval" if kind in ENDS else kind
    if metric not in found.get(of, {}):
        raise BadResult(f"{name} has no {of} {metric} stored: sluice results store {name}")
    stored = found[of][metric]
    return float(stored[ENDS.index(kind)] if kind in ENDS else stored)


def current_text(figure: Figure, read: Read) -> str:
    """Return the text that the document should print, with as many decimals as the figure has.

    Raises BadResult.
    """
    try:
        return f"{stored_value(figure.source, read):,.{len(figure.printed.partition('.')[2])}f}"
    except BadResult as error:
        raise BadResult(f"{figure.place}: {error}") from None


def update_figures(path: Path, read: Read, only: set[str]) -> tuple[str, list[str]]:
    """Return a document's text with the current values of the experiments `only`, and a message for
    each change."""
    text, said = path.read_text(encoding="utf-8"), []
    for figure in reversed([one for one in marked_figures(path) if one.source.get("from") in only]):
        new = current_text(figure, read)
        if new != figure.printed:
            said.append(f"{figure.place}: {figure.printed} is now {new}")
            text = text[: figure.start] + new + text[figure.end :]
    return text, said[::-1]
