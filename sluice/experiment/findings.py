"""How many findings of each paper agree with ours, differ for a known cause, or fail.

Our own expectations, which no paper states, have a row of their own. Contests have none: to lose
one is a result.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sluice.experiment.aligned import aligned
from sluice.experiment.verdict import (
    AS_SAID,
    AS_THE_PAPER,
    DIFFERS,
    NOT_APART,
    NOT_SO,
    UNKNOWN,
    Verdict,
)
from sluice.host import printing

AS_EXPECTED = "as expected"
WORDS = (AS_EXPECTED, DIFFERS, NOT_SO, NOT_APART, UNKNOWN)
OURS = "(our own expectations)"


@dataclass(frozen=True)
class Finding:
    """A verdict as it is counted: its paper's name or OURS, one of WORDS, and whether its trials
    suffice for intervals."""

    paper: str
    word: str
    sure: bool


def name_of(paper: str) -> str:
    """The name of a paper: "Mogul 1994" of "Mogul 1994, 4.1: up to 8 s"."""
    return paper.partition(":")[0].partition(",")[0] or OURS


def finding(paper: str, word: str, sure: bool) -> Finding:
    """The finding of a verdict's paper, word and sureness."""
    met = word in (AS_SAID, AS_THE_PAPER)
    return Finding(name_of(paper), AS_EXPECTED if met else word, sure)


def of_verdicts(verdicts: Iterable[Verdict]) -> list[Finding]:
    """The findings among verdicts: all but those of contests."""
    return [finding(v.paper, v.word, v.sure) for v in verdicts if not v.contest]


def counted(findings: Iterable[Finding]) -> list[list[str]]:
    """A head, and a row for each paper, ours the last; none if there are no findings."""
    counts: dict[str, Counter[str]] = {}
    for one in findings:
        counts.setdefault(one.paper, Counter())[one.word] += 1
    names = sorted(counts, key=lambda name: (name == OURS, name))
    rows = [[name, *(str(counts[name][word]) for word in WORDS)] for name in names]
    return [["findings of", *WORDS], *rows] if rows else []


def unsure(findings: Iterable[Finding]) -> str:
    """A sentence that says how many compare arms by too few trials for an interval, or ""."""
    few = sum(not one.sure for one in findings)
    return f"{few} of them compare arms with too few trials for an interval" if few else ""


def table(findings: list[Finding]) -> list[str]:
    """The counts as lines of text; none if there are no findings."""
    rows = counted(findings)
    said = unsure(findings)
    below = printing.filled(said, 0) if said else []
    return [*aligned(rows), *below] if rows else []
