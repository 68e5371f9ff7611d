"""The verdict on an expectation, and the runs that it is about."""

from dataclasses import dataclass

from sluice.experiment.result import setting

AS_SAID, AS_THE_PAPER = "as said", "as the paper"
DIFFERS, NOT_SO, UNKNOWN = "differs", "NOT SO", "unknown"
NOT_APART = "not told apart"
WON, LOST = "won", "LOST"
AHEAD, BEHIND = "ahead", "behind"  # of a contest with too few trials for an interval


@dataclass(frozen=True)
class Verdict:
    """met: None if runs are missing, or two arms are not told apart, as `undecided` says.
    details: further lines, for those who want to see more.
    contest: an expectation that is not met is a lost contest, and not a failure.
    sure: the trials suffice for intervals.
    paper: what the source says, if the expectation is the source's. differs: why the result
    differs from what was expected, if that was found out; then an expectation that is not met is
    no failure."""

    says: str
    met: bool | None
    why: str
    details: tuple[str, ...] = ()
    contest: bool = False
    paper: str = ""
    differs: str = ""
    undecided: bool = False
    sure: bool = True

    @property
    def word(self) -> str:
        if self.met is None:
            return NOT_APART if self.undecided else UNKNOWN
        if self.contest:
            good, bad = (WON, LOST) if self.sure else (AHEAD, BEHIND)
            return good if self.met else bad
        if self.met:
            return AS_THE_PAPER if self.paper else AS_SAID
        return DIFFERS if self.differs else NOT_SO

    @property
    def explained(self) -> bool:
        """Not met, with a cause that is known."""
        return self.met is False and not self.contest and bool(self.differs)

    @property
    def failed(self) -> bool:
        return self.met is False and not self.contest and not self.differs

    @property
    def origin(self) -> list[str]:
        """Lines that say what the source has, and why the result is not as expected."""
        lines = [f"the paper: {self.paper}"] if self.paper else []
        return lines + ([f"why it differs: {self.differs}"] if self.explained else [])


def within(where: dict, variables: dict) -> bool:
    """True if each variable that is named has the value, or one of the list of values, said of
    it."""
    return all(
        name in variables and variables[name] in (said if isinstance(said, list) else [said])
        for name, said in where.items()
    )


def trials(results: list[dict], arm: str, where: dict) -> list[dict]:
    """The runs of an arm with these values."""
    return [
        result for result in results if result["arm"] == arm and within(where, result["variables"])
    ]


def by_setting(results: list[dict], aside: str | None = None) -> list[tuple[dict, list[dict]]]:
    """The trials of each combination of variables; the seed, and one more, left aside."""
    groups: list[tuple[dict, list[dict]]] = []
    for result in results:
        at = {k: v for k, v in setting(result["variables"]).items() if k != aside}
        found = next((trials for other, trials in groups if other == at), None)
        if found is None:
            groups.append((at, [result]))
        else:
            found.append(result)
    return groups


def words(at: dict) -> str:
    """A combination of variables for people."""
    return " at " + ", ".join(f"{name} {value}" for name, value in at.items()) if at else ""
