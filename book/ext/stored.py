"""Stored results as the book's pages ask for them, and what to say where there are none."""

from functools import cache

from book.ext.inventory import experiments
from sluice.experiment import sets
from sluice.experiment.result import BadResult
from sluice.experiment.summary import number
from sluice.host.nearest import meant
from sluice.results import documents, store
from sluice.results.documents import Source


class NotStored(Exception):
    """The experiment exists, but its results, or those of this arm, are not stored."""


@cache
def named(name: str) -> dict:
    """The TOML of an experiment. BadResult for a name that is none."""
    for one in experiments():
        if one.name == name:
            return one.toml
    names = [one.name for one in experiments()]
    raise BadResult(f"there is no experiment {name}; {meant(name, names)}")


@cache
def read(name: str) -> dict:
    """What is stored of an experiment; NotStored if nothing is."""
    named(name)
    try:
        return store.read(name)
    except BadResult:
        raise NotStored(name) from None


def is_stored(name: str) -> bool:
    try:
        return bool(read(name))
    except NotStored:
        return False


def arms(toml: dict) -> list[str]:
    return [arm["name"] for arm in sets.arms_of(toml)]


def check(come_from: Source) -> None:
    """Raise BadResult if the source names an experiment or an arm that there is not."""
    for key in ("from", "metric"):
        if key not in come_from:
            raise BadResult(f"{come_from}: lacks {key}")
    toml = named(come_from["from"])
    arm = come_from.get("arm")
    if arm not in arms(toml):
        raise BadResult(f"{come_from['from']} has no arm {arm}; {meant(str(arm), arms(toml))}")
    known = {"from", "metric", "arm", "is", "digits", *toml.get("sweep", {})}
    for variable in sorted(come_from.keys() - known):
        near = meant(variable, sorted(known))
        raise BadResult(f"{come_from['from']} has no variable {variable}; {near}")


def value(come_from: Source) -> str:
    """The number that a source names, as it is to be printed.

    BadResult if there is no such experiment, arm, variable or metric; NotStored if it has not
    been measured yet.
    """
    check(come_from)
    wanted = {name: said for name, said in come_from.items() if name != "digits"}
    kept = read(wanted["from"])
    if all(row["arm"] != wanted["arm"] for row in kept["rows"]):  # an arm that is new
        raise NotStored(wanted["from"])
    metrics = {metric for row in kept["rows"] for metric in row["measured"]}
    if wanted.get("is", "measured") == "measured" and wanted["metric"] not in metrics:
        asked_later = wanted["metric"]
        raise BadResult(
            f"{wanted['from']} has no metric {asked_later} stored: make results E={wanted['from']}"
        )
    found = documents.value(wanted, read)
    digits = come_from.get("digits")
    return number(found) if digits is None else f"{found:,.{digits}f}"


def interval(come_from: Source) -> str:
    """The 95 % interval of a measured number, or the range over trials of an extreme, in words;
    "" if none is stored. Call it after `value`, which checks the source."""
    wanted = {name: said for name, said in come_from.items() if name != "digits"}
    if wanted.get("is", "measured") != "measured":
        return ""
    kept = documents.row(wanted, read).get("interval", {}).get(wanted["metric"])
    if not kept or kept[0] == kept[1]:
        return ""
    digits = come_from.get("digits")
    low, high = (number(end) if digits is None else f"{end:,.{digits}f}" for end in kept)
    return f"{low} to {high}"


def not_measured(*names: str) -> str:
    """What stands in place of figures that are lacking."""
    lacking = [name for name in dict.fromkeys(names) if not is_stored(name)]
    return "; ".join(f"not measured yet: make results E={name}" for name in lacking)


def sentence(*names: str) -> str:
    """The same as a sentence; "" if nothing is lacking."""
    words = not_measured(*names)
    return words and f"{words[0].upper()}{words[1:]}."
