"""Counts how many findings of each paper agree with ours, differ for a known cause, or fail.

Our own expectations, which no paper states, have a row of their own. Contests have none: to lose
one is a result.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sluice.experiment.aligned import format_table
from sluice.experiment.verdict import (
    AS_SAID,
    AS_THE_PAPER,
    DIFFERS,
    NO_DIFFERENCE,
    NOT_DECIDED,
    NOT_JUDGED,
    NOT_SO,
    UNKNOWN,
    Verdict,
)

AS_EXPECTED = "as expected"
ALWAYS = (AS_EXPECTED, DIFFERS, NOT_SO)  # have a column in each table
WORDS = (*ALWAYS, NO_DIFFERENCE, NOT_DECIDED, NOT_JUDGED, UNKNOWN)
OURS = "(our own expectations)"


@dataclass(frozen=True)
class Finding:
    """A verdict as it is counted: its paper's name or OURS, and one of WORDS."""

    paper: str
    word: str


def paper_name(paper: str) -> str:
    """Return the name of a paper: "Mogul 1994" of "Mogul 1994, 4.1: up to 8 s"."""
    return paper.partition(":")[0].partition(",")[0] or OURS


def classify(paper: str, word: str) -> Finding:
    """Return the finding that a verdict's paper and word make."""
    met = word in (AS_SAID, AS_THE_PAPER)
    return Finding(paper_name(paper), AS_EXPECTED if met else word)


def verdict_findings(verdicts: Iterable[Verdict]) -> list[Finding]:
    """Return the findings among verdicts: all verdicts except those of contests."""
    return [classify(v.paper, v.word) for v in verdicts if not v.contest]


def count_by_paper(findings: Iterable[Finding]) -> list[list[str]]:
    """Return a table of the findings' counts: a head, and a row for each paper, ours last. Empty if
    there are no findings. A word of open verdicts has a column only if some finding has it."""
    counts: dict[str, Counter[str]] = {}
    for one in findings:
        counts.setdefault(one.paper, Counter())[one.word] += 1
    names = sorted(counts, key=lambda name: (name == OURS, name))
    words = [word for word in WORDS if word in ALWAYS or any(row[word] for row in counts.values())]
    rows = [[name, *(str(counts[name][word]) for word in words)] for name in names]
    return [["findings of", *words], *rows] if rows else []


def format_findings(findings: list[Finding]) -> list[str]:
    """Return the table of the findings' counts as lines of text; none if there are no findings."""
    rows = count_by_paper(findings)
    return format_table(rows) if rows else []
