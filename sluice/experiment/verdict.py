"""The verdict on an expectation, and the runs that it is about.

The words of a comparison of two arms follow from the 95 % interval of their difference, over trials
with equal seeds (significance.py):

    as said, as the paper   the whole interval is on the expected side, or within the stated margin
    differs, NOT SO         the whole interval is on the other side; `differs` if the cause is known
    no difference seen      the interval holds 0
    not decided             the arms differ, but the interval holds the stated factor or margin
    not judged              there are too few trials for an interval

Of a figure that is compared with a fixed limit or with a model, the value decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.experiment.records import RunResult, Variables, Where
from sluice.experiment.result import drop_seed

AS_SAID, AS_THE_PAPER = "as said", "as the paper"
DIFFERS, NOT_SO, UNKNOWN = "differs", "NOT SO", "unknown"
NO_DIFFERENCE, NOT_DECIDED, NOT_JUDGED = "no difference seen", "not decided", "not judged"
WON, LOST = "won", "LOST"


@dataclass(frozen=True)
class Verdict:
    """The verdict on an expectation."""

    says: str  # the expectation, in words
    met: bool | None  # None: open
    why: str
    details: tuple[str, ...] = ()  # further lines
    contest: bool = False  # it is of a contest, which may be lost without a failure
    paper: str = ""  # what the source says, if the expectation is the source's
    differs: str = ""  # the known cause of an unmet expectation, which then is no failure
    open: str = ""  # the word of an open comparison; "": runs are missing
    leaning: bool | None = None  # what the values alone say of a comparison: no verdict
    finding: str = ""  # the sentence by which it is counted once, if that is not `paper`
    check: str = ""  # why it is no finding

    @property
    def word(self) -> str:
        """The verdict in one or two words, as "as said"."""
        if self.met is None:
            return self.open or UNKNOWN
        if self.contest:
            return WON if self.met else LOST
        if self.met:
            return AS_THE_PAPER if self.paper and not self.check else AS_SAID
        return DIFFERS if self.differs else NOT_SO

    @property
    def is_explained(self) -> bool:
        """True if the expectation is not met for a known cause."""
        return self.met is False and not self.contest and bool(self.differs)

    @property
    def is_failed(self) -> bool:
        """True if the expectation is not met and no cause is known. A lost contest is no
        failure."""
        return self.met is False and not self.contest and not self.differs

    @property
    def origin(self) -> list[str]:
        """Lines that say what the source has, and why the result is not as expected."""
        lines = [f"the paper: {self.paper}"] if self.paper else []
        return lines + ([f"why it differs: {self.differs}"] if self.is_explained else [])


def matches_variables(where: Where, variables: Variables) -> bool:
    """Return whether each variable in `where` has the value, or one of the list of values, that
    `where` gives."""
    return all(
        name in variables and variables[name] in (said if isinstance(said, list) else [said])
        for name, said in where.items()
    )


def select_trials(results: list[RunResult], arm: str, where: Where) -> list[RunResult]:
    """Return the runs of an arm whose variables match `where`."""
    return [
        result
        for result in results
        if result["arm"] == arm and matches_variables(where, result["variables"])
    ]


def group_by_setting(
    results: list[RunResult], aside: str | None = None
) -> list[tuple[Variables, list[RunResult]]]:
    """Return the trials of each combination of variables. The seed and the variable `aside` are
    ignored."""
    groups: list[tuple[Variables, list[RunResult]]] = []
    for result in results:
        at = {k: v for k, v in drop_seed(result["variables"]).items() if k != aside}
        found = next((trials for other, trials in groups if other == at), None)
        if found is None:
            groups.append((at, [result]))
        else:
            found.append(result)
    return groups


def setting_words(at: Mapping[str, object]) -> str:
    """Return a combination of variables in words."""
    return " at " + ", ".join(f"{name} {value}" for name, value in at.items()) if at else ""
