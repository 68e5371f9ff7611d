"""{published}: the tables and figures of a paper, cell by cell, with ours and the verdict.

The argument is the paper's name, as `place` in [[published]] begins: "Mogul 1994". The body is
YAML: each table and figure of the paper, in the paper's order, and a note about it:

    "table 4-1":
    "figure 4-2": no figure of it is in the text that we have

A row of a table is a cell of the paper in a setting of ours. A table of the paper without cells has
its note alone, and must have one. All places of cells must be listed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from docutils import nodes
from sphinx.application import Sphinx

from book.ext import markdown, stored
from book.ext.inventory import Experiment, list_experiments
from book.ext.sphinx.measured import FromYaml
from sluice.experiment.findings import paper_name, paper_place
from sluice.experiment.result import BadResult
from sluice.experiment.schema import MEASURED, MODEL_SAYS
from sluice.experiment.summary import format_number
from sluice.experiment.verdict import setting_words
from sluice.report.wording import metric_words

EXPERIMENT = "experiment"
HEADS = ["arm and setting", "what", "the paper", "ours", "came"]
COMPUTED = ["the paper's model", "our model"]  # more heads, if the paper has a model's figures
NOT_STORED = "·"
NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Cell:
    """A figure of a paper in a setting of ours: a row of [[published]] and a row of results.

    ours: None if none is stored; base: the row of the arm `than`.
    """

    experiment: Experiment
    row: dict
    ours: dict | None
    base: dict | None

    @property
    def setting(self) -> dict:
        """The setting."""
        return self.ours["at"] if self.ours else self.row.get("where", {})

    @property
    def key(self) -> tuple[str, ...]:
        """The attributes that all cells of one line share."""
        words = (self.row["arm"], setting_words(self.setting), self.row["metric"])
        return (self.experiment.name, *words, other_words(self.row))


def is_of(row: dict, at: dict) -> bool:
    """Return True if a row's `where` holds in a setting. A value of `where` may be a list."""
    return all(
        at.get(name) in (said if isinstance(said, list) else [said])
        for name, said in row.get("where", {}).items()
    )


def result_rows(name: str) -> list[dict]:
    """Return the stored rows of an experiment; none if it is not stored."""
    return stored.read_results(name)["rows"] if stored.is_stored(name) else []


def cells_of(one: Experiment) -> Iterator[Cell]:
    """Yield the cells of papers that an experiment has: one for each setting that is stored."""
    rows = result_rows(one.name)
    for row in one.toml.get("published", []):
        here = [found for found in rows if found["arm"] == row["arm"] and is_of(row, found["at"])]
        for ours in here or [None]:
            # The figure may be a difference from another arm, in the same setting or a given one.
            at = ours["at"] | row.get("than_where", {}) if ours else {}
            base = next((r for r in rows if r["arm"] == row.get("than") and r["at"] == at), None)
            yield Cell(one, row, ours, base)


def our_figure(cell: Cell) -> str:
    """Return our figure of a cell in words, with its interval if one is stored.

    If the paper's figure compares two arms, ours is the difference in percent, with both values.
    """
    metric, whose = cell.row["metric"], cell.row.get("whose", MEASURED)
    value = cell.ours and cell.ours[whose].get(metric)
    if value is None:
        return NOT_STORED
    if "than" in cell.row:
        base = cell.base and cell.base["measured"].get(metric)
        if not base:
            return NOT_STORED
        both = f"{format_number(value)} against {format_number(base)}"
        percent = 100 * (value / base - 1)
        return f"{percent:+.{0 if abs(percent) >= 10 else 1}f} % ({both})"
    ends = cell.ours["interval"].get(metric) if cell.ours and whose == MEASURED else None
    if not ends or ends[0] == ends[1]:
        return format_number(value)
    return f"{format_number(value)} ({format_number(ends[0])} to {format_number(ends[1])})"


def asks(row: dict, cell: Cell) -> bool:
    """Return True if an expectation of a paper asks the arm and metric of a cell in its setting.

    Expectations along a variable, or about a model, ask several settings or none.
    """
    finding = row.get("finding") or row.get("paper", "")
    return (
        paper_name(finding) == paper_name(cell.row.get("place", ""))
        and (row["arm"], row["metric"]) == (cell.row["arm"], cell.row["metric"])
        and row.get("than") != MODEL_SAYS
        and not row.keys() & {"along", "crosses"}
        and is_of(row, cell.setting)
    )


def find_cell_expectations(cell: Cell) -> list[dict]:
    """Return the expectations that ask a cell: the best of three sets that is not empty.

    Those of the cell's figure and of its place in the paper; those of its figure; or those of its
    place, which compare the cell with another arm than the figure does.
    """
    rows = [row for row in cell.experiment.toml.get("expectations", []) if asks(row, cell)]
    place = paper_place(cell.row.get("place", ""))
    of_figure = [row for row in rows if row.get("than") == cell.row.get("than")]
    of_place = [r for r in rows if paper_place(r.get("finding") or r.get("paper", "")) == place]
    return [row for row in of_figure if row in of_place] or of_figure or of_place


def verdict_words(cell: Cell) -> str:
    """Return the words of the verdicts on the expectations that ask a cell."""
    kept = stored.read_results(cell.experiment.name) if cell.ours else {"verdicts": []}
    words = {(one["says"], one["paper"]): one["word"] for one in kept["verdicts"]}
    found = []
    for row in find_cell_expectations(cell):
        word = words.get((row["says"], row.get("paper", "")), "not measured yet")
        against = "" if row.get("than") == cell.row.get("than") else f" (against {row['than']})"
        found.append(word + against)
    return ", ".join(dict.fromkeys(found)) or NOT_ASKED


def other_words(row: dict) -> str:
    """Return the arm and setting from which a figure is the difference.

    What is equal to the figure's own is left out.
    """
    than = row.get("than", "")
    arm = than if than != row["arm"] else ""
    return f"{arm}{setting_words(row.get('than_where', {}))}".strip()


def cell_row(cells: list[Cell], computed: bool) -> list[str]:
    """Return a line of a table: the cells of one setting, measured and computed.

    computed: the table has the two columns of models; they are empty if the paper computes nothing.
    """
    by_kind = {cell.row.get("whose", MEASURED): cell for cell in cells}
    one, measured = cells[0], by_kind.get(MEASURED)
    model = next((cell for kind, cell in by_kind.items() if kind != MEASURED), None)
    than = f", difference from {other_words(one.row)}" if "than" in one.row else ""
    arm = one.row["arm"] + setting_words(one.setting) + than
    line = [arm, metric_words(one.row["metric"]).heading]
    if measured:
        line += [measured.row["value"], our_figure(measured), verdict_words(measured)]
    else:
        line += ["", "", ""]
    if computed:
        line += [model.row["value"], our_figure(model)] if model else ["", ""]
    return [markdown.escape(words) for words in line]


def cell_table(cells: list[Cell], linked: bool) -> str:
    """Return a table of cells, a line for each setting; "" if there are none.

    linked: with a link to the experiment in each line.
    """
    computed = any(cell.row.get("whose", MEASURED) != MEASURED for cell in cells)
    lines: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        lines.setdefault(cell.key, []).append(cell)
    heads = HEADS + COMPUTED if computed else HEADS
    rows = [cell_row(of_line, computed) for of_line in lines.values()]
    if linked:
        heads = [EXPERIMENT, *heads]
        names = [of_line[0].experiment.name for of_line in lines.values()]
        links = [f"{{doc}}`/reference/experiments/{name}`" for name in names]
        rows = [[link, *row] for link, row in zip(links, rows, strict=True)]
    return markdown.format_table(heads, rows) if rows else ""


def published_tables(paper: str, notes: dict[str, str]) -> str:
    """Return the tables of a paper.

    Raises BadResult for a place with cells that is not listed, and for a listed place that has
    neither cells nor a note.
    """
    places: dict[str, list[Cell]] = {}
    for cell in (cell for one in list_experiments() for cell in cells_of(one)):
        where = cell.row.get("place", "")
        if paper_name(where) == paper:
            places.setdefault(paper_place(where), []).append(cell)
    for place in places.keys() - notes.keys():
        raise BadResult(f'cells of {paper} are of "{place}", which is not listed')
    parts = []
    for place, note in notes.items():
        if not note and place not in places:
            raise BadResult(f'"{place}": no cell is of it, so it needs a note')
        said = f": {markdown.escape(note)}" if note else ""
        parts.append(f"**{markdown.escape(place[0].upper() + place[1:])}**{said}\n")
        if place in places:
            parts.append(cell_table(places[place], linked=True))
    return "\n".join(parts)


class Published(FromYaml):
    """The directive {published}; see the head of the file."""

    required_arguments = 1
    final_argument_whitespace = True

    def make_nodes(self, body: dict | None) -> list[nodes.Node]:
        """Return the nodes of the tables."""
        notes = {str(place): str(note or "") for place, note in (body or {}).items()}
        return self.parse_text_to_nodes(published_tables(self.arguments[0], notes))


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("published", Published)
