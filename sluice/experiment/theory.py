"""The [model] table: an analytic model's figures for each run. The models are in sluice/theory/.

[model]
name = "carson_setia"
metrics = {"read.mean_ms" = "read_ms"}   a metric of the table = the model's quantity

[model.parameters]                       each parameter of the model: a number
reads_per_s = "{8 * iops}"               or text that gives one
"""

from types import ModuleType

from sluice import theory
from sluice.experiment.check import Checker
from sluice.experiment.result import measured_drive
from sluice.experiment.schema import MODEL
from sluice.theory import Prediction, System


def number_of(raw: object) -> float | None:
    """The number that a value is, or that its text gives."""
    if isinstance(raw, bool):
        return None
    try:
        return float(raw)
    except (TypeError, ValueError):
        return None


def parameters(c: Checker, raw: dict, module: ModuleType) -> dict[str, float]:
    """The model's parameters: all of them, no others, each in its range."""
    keys, good = ("model", "parameters"), {}
    for name in raw:
        c.one_of((*keys, name), "parameter", name, list(module.PARAMETERS))
    for name, row in module.PARAMETERS.items():
        value = number_of(raw.get(name))
        if name not in raw:
            c.problem(keys, f'the parameter "{name}" is missing ({row.about}; from {row.source})')
        elif value is None:
            c.problem((*keys, name), f"{name} = {raw[name]}: must be a number")
        elif not row.low <= value <= row.high:
            said = f"not in {row.low:g} to {row.high:g} ({row.about})"
            c.problem((*keys, name), f"{name} = {raw[name]}: {said}")
        else:
            good[name] = value
    return good


def system(c: Checker, config: dict) -> System:
    """The system that runs, as models know it."""
    tunables = {name: row.default for name, row in c.known.tunables.items()} | config["tunables"]
    return System(config["policies"], tunables, measured_drive(config))


def prediction(c: Checker, raw: dict, config: dict) -> Prediction | None:
    """What the model tells of a run, from the checked config; None if something is wrong."""
    table = c.table(("model",), raw, MODEL)
    if c.problems or not c.one_of(("model", "name"), "model", table["name"], theory.names()):
        return None
    module = theory.model(table["name"])
    for name, quantity in table["metrics"].items():
        at = ("model", "metrics", name)
        c.one_of(at, "quantity", str(quantity), list(module.QUANTITIES))
    given = parameters(c, table["parameters"], module)
    if c.problems:
        return None
    asked = theory.question(table["name"], system(c, config), given)
    try:
        told = theory.told(asked)
    except ValueError as error:
        shown = ", ".join(f"{name} = {value:g}" for name, value in given.items())
        c.problem(("model",), f"{table['name']}: {error}, with {shown}")
        return None
    return Prediction(asked, {name: q for name, q in table["metrics"].items() if q in told})
