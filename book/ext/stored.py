"""Look up stored results as the book's pages ask for them, and say what is lacking."""

from functools import cache

from book.ext.inventory import list_experiments
from sluice.experiment import sets
from sluice.experiment.result import BadResult
from sluice.experiment.summary import format_number
from sluice.host.nearest import suggest
from sluice.results import documents, store
from sluice.results.documents import Source


class NotStored(Exception):
    """The experiment exists, but its results, or those of this arm, are not stored."""


@cache
def find_experiment(name: str) -> dict:
    """Return the TOML of an experiment. Raises BadResult for an unknown name."""
    for one in list_experiments():
        if one.name == name:
            return one.toml
    names = [one.name for one in list_experiments()]
    raise BadResult(f"there is no experiment {name}; {suggest(name, names)}")


@cache
def read_results(name: str) -> dict:
    """Return the stored results of an experiment. Raises NotStored."""
    find_experiment(name)
    try:
        return store.read_stored(name)
    except BadResult:
        raise NotStored(name) from None


def is_stored(name: str) -> bool:
    """Return True if results of the experiment are stored."""
    try:
        return bool(read_results(name))
    except NotStored:
        return False


def arm_names(toml: dict) -> list[str]:
    """Return the names of an experiment's arms."""
    return [arm["name"] for arm in sets.all_arms(toml)]


def check_source(come_from: Source) -> None:
    """Raise BadResult if the source names an experiment or an arm that does not exist."""
    for key in ("from", "metric"):
        if key not in come_from:
            raise BadResult(f"{come_from}: lacks {key}")
    toml = find_experiment(come_from["from"])
    arm = come_from.get("arm")
    if arm not in arm_names(toml):
        raise BadResult(
            f"{come_from['from']} has no arm {arm}; {suggest(str(arm), arm_names(toml))}"
        )
    known = {"from", "metric", "arm", "is", "digits", *toml.get("sweep", {})}
    for variable in sorted(come_from.keys() - known):
        near = suggest(variable, sorted(known))
        raise BadResult(f"{come_from['from']} has no variable {variable}; {near}")


def format_value(come_from: Source) -> str:
    """Return the number that a source names, as it is to be printed.

    Raises BadResult if there is no such experiment, arm, variable or metric; NotStored if it has
    not been measured yet.
    """
    check_source(come_from)
    wanted = {name: said for name, said in come_from.items() if name != "digits"}
    kept = read_results(wanted["from"])
    if all(row["arm"] != wanted["arm"] for row in kept["rows"]):  # an arm that is new
        raise NotStored(wanted["from"])
    metrics = {metric for row in kept["rows"] for metric in row["measured"]}
    if wanted.get("is", "measured") == "measured" and wanted["metric"] not in metrics:
        asked_later = wanted["metric"]
        raise BadResult(
            f"{wanted['from']} has no metric {asked_later} stored: "
            f"sluice results store {wanted['from']}"
        )
    found = documents.stored_value(wanted, read_results)
    digits = come_from.get("digits")
    return format_number(found) if digits is None else f"{found:,.{digits}f}"


def format_interval(come_from: Source) -> str:
    """Return the 95 % interval of a measured number, or the range of an extreme over trials.

    It is text; "" if none is stored. Call it after `value`, which checks the source.
    """
    wanted = {name: said for name, said in come_from.items() if name != "digits"}
    if wanted.get("is", "measured") != "measured":
        return ""
    kept = documents.stored_row(wanted, read_results).get("interval", {}).get(wanted["metric"])
    if not kept or kept[0] == kept[1]:
        return ""
    digits = come_from.get("digits")
    low, high = (format_number(end) if digits is None else f"{end:,.{digits}f}" for end in kept)
    return f"{low} to {high}"


def describe_missing(*names: str) -> str:
    """Return words that stand in place of figures that are lacking; "" if none is."""
    lacking = [name for name in dict.fromkeys(names) if not is_stored(name)]
    return "; ".join(f"not measured yet: sluice results store {name}" for name in lacking)


def missing_sentence(*names: str) -> str:
    """Return the words of `describe_missing` as a sentence; "" if nothing is lacking."""
    words = describe_missing(*names)
    return words and f"{words[0].upper()}{words[1:]}."
