"""The verdict on an expectation, and the runs that it is about."""

from dataclasses import dataclass

from grade.measure.result import setting


@dataclass(frozen=True)
class Verdict:
    """met: None if runs are missing. details: further lines, for those who want to see more.
    contest: an expectation that is not met is a lost contest, and not a failure."""

    says: str
    met: bool | None
    why: str
    details: tuple[str, ...] = ()
    contest: bool = False

    @property
    def word(self) -> str:
        words = {True: "won", False: "LOST"} if self.contest else {True: "as said", False: "NOT SO"}
        return words.get(self.met, "unknown")

    @property
    def failed(self) -> bool:
        return self.met is False and not self.contest


def trials(results: list[dict], arm: str, where: dict) -> list[dict]:
    """The runs of an arm with these values."""
    return [
        result
        for result in results
        if result["arm"] == arm and where.items() <= result["variables"].items()
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
