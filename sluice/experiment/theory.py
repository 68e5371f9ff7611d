"""Reads the table [model]: an analytic model's figures for each run. Models are in sluice/theory/.

[model]
name = "carson_setia"
metrics = {"read.mean_ms" = "read_ms"}   a metric of the table = the model's quantity

[model.parameters]                       each parameter of the model: a number
reads_per_s = "{8 * iops}"               or text that gives one
"""

from types import ModuleType

from sluice import theory
from sluice.experiment.check import Checker
from sluice.experiment.records import Configuration, ModelTable, Unchecked
from sluice.experiment.result import measured_drive
from sluice.experiment.schema import MODEL
from sluice.theory import Prediction, System


def parse_number(raw: object) -> float | None:
    """Return a value as a number, or the number in its text; None if there is none."""
    if not isinstance(raw, int | float | str) or isinstance(raw, bool):
        return None
    try:
        return float(raw)
    except ValueError:
        return None


def check_parameters(c: Checker, raw: Unchecked, module: ModuleType) -> dict[str, float]:
    """Return the model's parameters, after a check that all are there, that there are no others,
    and that each is in its range."""
    keys = ("model", "parameters")
    good: dict[str, float] = {}
    for name in raw:
        c.check_choice((*keys, name), "parameter", name, list(module.PARAMETERS))
    for name, row in module.PARAMETERS.items():
        value = parse_number(raw.get(name))
        if name not in raw:
            c.add_problem(
                keys, f'the parameter "{name}" is missing ({row.about}; from {row.source})'
            )
        elif value is None:
            c.add_problem((*keys, name), f"{name} = {raw[name]}: must be a number")
        elif not row.low <= value <= row.high:
            said = f"not in {row.low:g} to {row.high:g} ({row.about})"
            c.add_problem((*keys, name), f"{name} = {raw[name]}: {said}")
        else:
            good[name] = value
    return good


def build_system(c: Checker, config: Configuration) -> System:
    """Return the description of the system that runs, in the form that models take."""
    tunables = {name: row.default for name, row in c.known.tunables.items()} | config["tunables"]
    return System(config["policies"], tunables, measured_drive(config))


def build_prediction(c: Checker, raw: Unchecked, config: Configuration) -> Prediction | None:
    """Return the model's prediction for a run, from the checked config; None if something is
    wrong."""
    table = c.check_table(("model",), raw, MODEL, ModelTable)
    if c.problems or not c.check_choice(
        ("model", "name"), "model", table["name"], theory.model_names()
    ):
        return None
    module = theory.load_model(table["name"])
    for name, quantity in table["metrics"].items():
        at = ("model", "metrics", name)
        c.check_choice(at, "quantity", str(quantity), list(module.QUANTITIES))
    given = check_parameters(c, table["parameters"], module)
    if c.problems:
        return None
    asked = theory.build_question(table["name"], build_system(c, config), given)
    try:
        told = theory.predicted_quantities(asked)
    except ValueError as error:
        shown = ", ".join(f"{name} = {value:g}" for name, value in given.items())
        c.add_problem(("model",), f"{table['name']}: {error}, with {shown}")
        return None
    return Prediction(asked, {name: q for name, q in table["metrics"].items() if q in told})
