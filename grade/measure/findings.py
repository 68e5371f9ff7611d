"""How many findings of each paper agree with ours, differ for a known cause, or fail."""

from collections import Counter
from collections.abc import Iterable

from grade.measure.summary import aligned
from grade.measure.verdict import AS_THE_PAPER, DIFFERS, NOT_APART, NOT_SO, UNKNOWN, Verdict

WORDS = (AS_THE_PAPER, DIFFERS, NOT_SO, NOT_APART, UNKNOWN)


def paper(verdict: Verdict) -> str:
    """The paper of a finding: "Mogul 1994" of "Mogul 1994, 4.1: up to 8 s"."""
    return verdict.paper.partition(":")[0].partition(",")[0]


def table(verdicts: Iterable[Verdict]) -> list[str]:
    """Lines of a table with a row for each paper; none if no verdict is on a paper's finding.
    A last line says how many compare arms by too few trials for an interval."""
    counts: dict[str, Counter[str]] = {}
    few = 0
    for verdict in verdicts:
        if verdict.paper:
            counts.setdefault(paper(verdict), Counter())[verdict.word] += 1
            few += not verdict.sure
    if not counts:
        return []
    rows = [[name, *(str(counts[name][word]) for word in WORDS)] for name in sorted(counts)]
    unsure = [f"{few} of them compare arms with too few trials for an interval"] if few else []
    return aligned([["findings of", *WORDS], *rows]) + unsure
