"""The figures of a report, one to a file, found by listing this folder.

Each has an ORDER, and a function `specs(study)` that returns a Vega-Lite
specification for each picture, by the name of its file: none if the results
have nothing for it to show. ABOUT says beneath the picture what is seen in it.
A figure whose `specs` takes a width is drawn for narrow pages, too; others are scaled.
"""

import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from types import ModuleType

from sluice.report import theme
from sluice.report.study import Study

LEAD = "lead"  # the figure that a page begins with


@dataclass(frozen=True)
class Figure:
    """A picture: the name of its file, what it shows, its specification.

    narrow: the same for a page as narrow as theme.NARROW, if it is drawn for that.
    live: is it drawn by the page, too, for the pointer?
    """

    name: str
    about: str
    spec: dict
    narrow: dict | None = None
    live: bool = True

    @property
    def title(self) -> str:
        return self.spec["title"]["text"]

    @property
    def bare(self) -> dict:
        """The specification without its title, which a page writes itself."""
        return {name: value for name, value in self.spec.items() if name != "title"}


def modules() -> list[ModuleType]:
    """The files here, in the order of the report."""
    found = [
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    ]
    return sorted(found, key=lambda module: module.ORDER)


def of(module: ModuleType, study: Study) -> list[Figure]:
    """The figures of one file."""
    narrow = {}
    if "width" in inspect.signature(module.specs).parameters:
        narrow = module.specs(study, theme.NARROW)
    return [
        Figure(name, module.ABOUT, theme.finished(spec), without_title(narrow.get(name)))
        for name, spec in module.specs(study).items()
    ]


def without_title(spec: dict | None) -> dict | None:
    """What is drawn on a narrow page."""
    return spec and theme.finished({k: v for k, v in spec.items() if k != "title"}, padding=2)


def all_of(study: Study) -> list[Figure]:
    """Every figure that there is something for."""
    return [figure for module in modules() for figure in of(module, study)]
