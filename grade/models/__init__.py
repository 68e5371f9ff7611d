"""Analytic models: what an experiment's figures should be, by theory alone.

A model is a file here, found by listing this folder (what models share is in parts/). It opens
with its formulas and their source, and has

    PARAMETERS                     name -> Parameter
    QUANTITIES                     what it predicts: name -> what that is
    predict(system, parameters)    -> {quantity: value}

- Units stand in the names, as everywhere: service_ms, read_ms.
- A prediction depends on its two arguments alone: on what runs, and on
  parameters that are known without running it. Nothing is fitted to what was
  measured, and no model reads a result.
- A quantity that a model cannot tell of a system is left out. If parameters make
  no sense together (an overloaded disk), predict raises ValueError and says why.

An experiment names a model in its [model] table, gives the parameters, and says which
of its metrics is which quantity (grade/measure/schema.py).
"""

import importlib
import pkgutil
from dataclasses import dataclass
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


def names() -> list[str]:
    """The names of all models."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg)


def model(name: str) -> ModuleType:
    """The model of this name, which must be one of them."""
    return importlib.import_module(f"{__name__}.{name}")
