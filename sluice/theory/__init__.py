"""Predict an experiment's figures by analytic models, from theory alone.

A model is a file here, found by listing this folder (what models share is in parts/). It opens
with its formulas and their source, and has

    PARAMETERS                     name -> Parameter
    QUANTITIES                     the quantities that it predicts: name -> meaning
    predict(system, parameters)    -> {quantity: value}
covers(system, parameters)     -> whether predict returns all QUANTITIES; otherwise none. (optional)
A model has it if predict is slow: then predict is called only when a figure is wanted

- Units stand in the names, as everywhere: service_ms, read_ms.
- A prediction depends only on its two arguments: the system that runs, and parameters that are
  known before it runs. Nothing is fitted to measurements, and no model reads a result.
- A quantity that a model cannot predict for a system is left out. If parameters contradict each
  other (an overloaded disk), predict raises ValueError and says why.

An experiment names a model in its [model] table, gives the parameters, and says which
of its metrics is which quantity (sluice/experiment/schema.py).
"""

import importlib
import pkgutil
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from math import inf
from types import ModuleType


@dataclass(frozen=True)
class Parameter:
    """A number that a model needs: its meaning, its source, its range."""

    about: str
    source: str
    low: float = 0
    high: float = inf


@dataclass(frozen=True)
class System:
    """The system that runs: the policy of each kind, every tunable's value, the measured drive."""

    policies: dict[str, str]
    tunables: dict[str, int]
    drive: str


def model_names() -> list[str]:
    """Return the names of all models."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg)


def load_model(name: str) -> ModuleType:
    """Return the module of a model."""
    return importlib.import_module(f"{__name__}.{name}")


@dataclass(frozen=True)
class Question:
    """A question to a model: the model's name, a system, and the parameters."""

    model: str
    policies: tuple[tuple[str, str], ...]
    tunables: tuple[tuple[str, int], ...]
    drive: str
    parameters: tuple[tuple[str, float], ...]

    @property
    def system(self) -> System:
        """The system that the question is about."""
        return System(dict(self.policies), dict(self.tunables), self.drive)


def build_question(name: str, system: System, parameters: dict[str, float]) -> Question:
    """Return a question to the model of this name."""
    policies, tunables = tuple(system.policies.items()), tuple(system.tunables.items())
    return Question(name, policies, tunables, system.drive, tuple(parameters.items()))


@cache  # runs that differ in their seed alone have the same prediction
def answer_question(asked: Question) -> dict[str, float]:
    """Return what the model predicts. Raises ValueError as predict does."""
    found: dict[str, float] = load_model(asked.model).predict(asked.system, dict(asked.parameters))
    return found


def predicted_quantities(asked: Question) -> Collection[str]:
    """Return the quantities that the model predicts. Raises ValueError as predict does."""
    module = load_model(asked.model)
    if not hasattr(module, "covers"):
        return answer_question(asked).keys()
    return module.QUANTITIES if module.covers(asked.system, dict(asked.parameters)) else ()


@dataclass(frozen=True)
class Prediction:
    """A model's figures for a run, computed on demand. tells: the model's quantity, by metric."""

    asked: Question
    tells: dict[str, str]

    def figures(self) -> dict[str, float]:
        """Return the value of each metric."""
        found = answer_question(self.asked) if self.tells else {}
        return {metric: found[quantity] for metric, quantity in self.tells.items()}
