"""{comparison}: a paper's findings in the paper's order, with our figures, verdicts and causes.

The argument is the paper's name, as `paper` in expectations begins: "Mogul 1994". The body is YAML:
each place of the paper (section, table or figure), in the paper's order, and a note about it:

    "4.1": figures 4-1 to 4-4
    "4.2": "not reproduced: this kernel has no network"

A row of the table is a place in an experiment where the finding was asked. A place of the paper
without findings has its note alone, and must have one. A finding whose place is not listed comes
after those that are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from docutils import nodes
from sphinx.application import Sphinx

from book.ext import markdown, stored
from book.ext.inventory import Experiment, list_experiments
from book.ext.sphinx.measured import FromYaml
from sluice.experiment.findings import classify, group_places, paper_name, paper_place
from sluice.experiment.result import BadResult
from sluice.experiment.verdict import DIFFERS

HEADS = [
    "in the paper",
    "finding, with the paper's figure",
    "where we ask",
    "came",
    "ours",
    "cause",
]
NO_PLACE = "elsewhere"
NOT_MEASURED = "not measured yet"


@dataclass(frozen=True)
class Asked:
    """An expectation that asks a finding: its experiment, and its stored verdict and sentence."""

    experiment: str
    finding: str
    word: str
    why: str
    cause: str


def find_expectations(one: Experiment, paper: str) -> Iterator[Asked]:
    """Yield the expectations of an experiment that ask findings of a paper. Checks are none."""
    verdicts = stored.read_results(one.name)["verdicts"] if stored.is_stored(one.name) else []
    stored_verdict = {(verdict["says"], verdict["paper"]): verdict for verdict in verdicts}
    for row in one.toml.get("expectations", []):
        finding = row.get("finding") or row.get("paper", "")
        if row.get("check") or paper_name(finding) != paper:
            continue
        unmeasured = {"word": NOT_MEASURED, "why": row["says"]}
        verdict = stored_verdict.get((row["says"], row["paper"]), unmeasured)
        cause = row.get("differs", "") if verdict["word"] == DIFFERS else ""
        yield Asked(one.name, finding, verdict["word"], verdict["why"], cause)


def group_by_finding(paper: str) -> dict[str, list[Asked]]:
    """Return all expectations that ask findings of a paper, by finding."""
    found: dict[str, list[Asked]] = {}
    for one in list_experiments():
        for row in find_expectations(one, paper):
            found.setdefault(row.finding, []).append(row)
    return found


def finding_words(finding: str, rows: list[Asked]) -> str:
    """Return the finding in words, and how many of the places that ask it confirm it."""
    says = markdown.escape(finding.partition(":")[2].strip())
    [places] = next(iter(group_places(classify(finding, row.word) for row in rows).values()))
    confirmed = sum(one.is_confirmed for one in places)
    return f"{says} (in {confirmed} of {len(rows)} places)" if len(rows) > 1 else says


def finding_rows(where: str, finding: str, rows: list[Asked]) -> Iterator[list[str]]:
    """Yield the rows of a finding: one for each expectation that asks it."""
    first = [where, finding_words(finding, rows)]
    for row in rows:
        link = f"{{doc}}`/reference/experiments/{row.experiment}`"
        yield [*first, link, row.word, markdown.escape(row.why), markdown.escape(row.cause)]
        first = ["", ""]


def place_rows(place: str, note: str, found: dict[str, list[Asked]]) -> Iterator[list[str]]:
    """Yield the rows of a place in the paper."""
    here = {said: rows for said, rows in found.items() if paper_place(said) == place}
    name = f"**{markdown.escape(place)}**" if place else NO_PLACE
    where = f"{name}: {markdown.escape(note)}" if note else name
    if not here:
        yield [where, "", "", "", "", ""]
    for said, rows in here.items():
        yield from finding_rows(where, said, rows)
        where = ""


def comparison_table(paper: str, notes: dict[str, str]) -> str:
    """Return the table of a paper. Raises BadResult if no expectation has the paper's name.

    It is raised, too, if a listed place has neither a finding nor a note.
    """
    found = group_by_finding(paper)
    if not found:
        raise BadResult(f'no expectation is of the paper "{paper}"')
    asked = {paper_place(said) for said in found}
    for place, note in notes.items():
        if not note and place not in asked:
            raise BadResult(f'"{place}": no finding is asked there, so it needs a note')
    others = sorted(asked - notes.keys(), key=lambda place: (not place, place))
    places = notes | dict.fromkeys(others, "")
    rows = [row for place, note in places.items() for row in place_rows(place, note, found)]
    return markdown.format_table(HEADS, rows)


class Comparison(FromYaml):
    """The directive {comparison}; see the head of the file."""

    required_arguments = 1
    final_argument_whitespace = True

    def make_nodes(self, body: dict | None) -> list[nodes.Node]:
        """Return the nodes of the table."""
        notes = {str(place): str(note or "") for place, note in (body or {}).items()}
        return self.parse_text_to_nodes(comparison_table(self.arguments[0], notes))


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("comparison", Comparison)
