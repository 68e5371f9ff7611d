"""The figures of a report, one to a file, found by listing this folder.

Each has an ORDER, and a function `specs(study)` that returns a Vega-Lite
specification for each picture, by the name of its file: none if the results
have nothing for it to show. ABOUT says beneath the picture what is seen in it.
"""

import importlib
import pkgutil
from dataclasses import dataclass
from types import ModuleType

from grade.report import theme
from grade.report.study import Study


@dataclass(frozen=True)
class Figure:
    """A picture: the name of its file, what it shows, its specification."""

    name: str
    about: str
    spec: dict


def modules() -> list[ModuleType]:
    """The files here, in the order of the report."""
    found = [
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    ]
    return sorted(found, key=lambda module: module.ORDER)


def all_of(study: Study) -> list[Figure]:
    """Every figure that there is something for."""
    return [
        Figure(name, module.ABOUT, theme.finished(spec))
        for module in modules()
        for name, spec in module.specs(study).items()
    ]
