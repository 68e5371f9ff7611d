"""Counts the distinct findings of each paper, and in how many places each was asked.

An expectation is a place. Expectations with one finding are places of that finding: those whose
`finding` is equal, or, if it is not given, whose `paper` is. What no paper states is counted apart:
our own expectations, and checks (`check`), whose figure follows from arithmetic or from how the
load was set up. Contests are not counted: to lose one is a result.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sluice.experiment.aligned import format_table
from sluice.experiment.verdict import AS_SAID, AS_THE_PAPER, DIFFERS, NOT_SO, Verdict

OURS = "(our own expectations)"
CHECKS = "(checks of arithmetic and set-up)"
CONFIRMED, IN_PART, DIFFER, OPEN = "confirmed", "in part", "differ", "open"
STATES = (CONFIRMED, IN_PART, DIFFER, NOT_SO, OPEN)
PLACES = "places"  # the column that says in how many of all places findings are confirmed


@dataclass(frozen=True)
class Finding:
    """A place in which a finding was asked. paper: the paper's name, OURS or CHECKS; finding: the
    sentence that is equal in all places of one finding; word: of the verdict."""

    paper: str
    word: str
    finding: str

    @property
    def is_confirmed(self) -> bool:
        """True if the place's expectation is met."""
        return self.word in (AS_SAID, AS_THE_PAPER)


def paper_name(finding: str) -> str:
    """Return the name of a paper: "Mogul 1994" of "Mogul 1994, 4.1: up to 8 s"."""
    return finding.partition(":")[0].partition(",")[0] or OURS


def paper_place(finding: str) -> str:
    """Return where in its paper a finding stands: "4.1" of "Mogul 1994, 4.1: up to 8 s"."""
    return finding.partition(":")[0].partition(",")[2].strip()


def classify(finding: str, word: str, check: str = "") -> Finding:
    """Return the place that a verdict's finding, word and check make."""
    return Finding(CHECKS if check else paper_name(finding), word, finding)


def verdict_findings(verdicts: Iterable[Verdict]) -> list[Finding]:
    """Return the places among verdicts: all verdicts except those of contests."""
    return [classify(v.finding or v.paper, v.word, v.check) for v in verdicts if not v.contest]


def state_of(places: list[Finding]) -> str:
    """Return the state of a finding, of STATES, from all its places.

    One place that is NOT_SO makes the finding NOT_SO. Else the finding is CONFIRMED if all places
    are confirmed, and IN_PART if only some are.
    """
    if any(one.word == NOT_SO for one in places):
        return NOT_SO
    confirmed = sum(one.is_confirmed for one in places)
    if confirmed:
        return CONFIRMED if confirmed == len(places) else IN_PART
    return DIFFER if any(one.word == DIFFERS for one in places) else OPEN


def group_places(places: Iterable[Finding]) -> dict[str, list[list[Finding]]]:
    """Return the places of each distinct finding, by paper. An expectation of ours, and a check, is
    a finding of its own."""
    found: dict[str, dict[object, list[Finding]]] = {}
    for number, one in enumerate(places):
        same = number if one.paper in (OURS, CHECKS) else one.finding
        found.setdefault(one.paper, {}).setdefault(same, []).append(one)
    return {paper: list(groups.values()) for paper, groups in found.items()}


def count_states(groups: list[list[Finding]], states: Iterable[str]) -> list[str]:
    """Return how many distinct findings there are, and how many have each of the states."""
    found = [state_of(places) for places in groups]
    return [str(len(groups)), *(str(found.count(state)) for state in states)]


def confirmed_places(groups: list[list[Finding]]) -> str:
    """Return in how many of all places the findings are confirmed."""
    places = [one for group in groups for one in group]
    return f"{sum(one.is_confirmed for one in places)} of {len(places)}"


def count_by_paper(places: Iterable[Finding]) -> list[list[str]]:
    """Return a table of the distinct findings' counts: a head, and a row for each paper. Empty if
    there are no findings of papers."""
    grouped = group_places(places)
    names = sorted(grouped.keys() - {OURS, CHECKS})
    rows = [
        [name, *count_states(grouped[name], STATES), confirmed_places(grouped[name])]
        for name in names
    ]
    return [["findings of", "findings", *STATES, PLACES], *rows] if rows else []


def count_apart(places: Iterable[Finding]) -> list[list[str]]:
    """Return a table of what no paper states: a head, and rows for our own expectations and for
    checks. Empty if there are none."""
    grouped = group_places(places)
    states = [state for state in STATES if state != IN_PART]
    names = [name for name in (OURS, CHECKS) if name in grouped]
    rows = [[name, *count_states(grouped[name], states)] for name in names]
    return [["of no paper", "expectations", *states], *rows] if rows else []


def format_findings(places: list[Finding]) -> list[str]:
    """Return both tables as lines of text, with an empty line between them; none if there are no
    findings."""
    tables = [format_table(rows) for rows in (count_by_paper(places), count_apart(places)) if rows]
    return [line for table in tables for line in ["", *table]][1:]
