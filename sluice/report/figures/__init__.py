"""The figures of a report, one to a file, found by listing this folder.

Each has an ORDER, and a function `specs(study)` that returns a Vega-Lite specification for each
picture, by the name of its file: none if the results have nothing to show. ABOUT is the explanation
below the picture. A figure whose `specs` takes a width is drawn for narrow pages, too; others are
scaled. If a page has more data than a picture shows, `pick_still(spec)` returns the picture's part.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from sluice.report import theme
from sluice.report.study import Study
from sluice.report.theme import Spec

LEAD = "lead"  # the name of the figure with which a page begins


@dataclass(frozen=True)
class Figure:
    """A picture: the name of its file, what it shows, its specification.

    narrow: the specification for a page as narrow as theme.NARROW, if there is one. live: whether
    the page draws it too, so that it answers the pointer. still: the specification of the picture
    in files, if it has less data than the page.
    """

    name: str
    about: str
    spec: Spec
    narrow: Spec | None = None
    live: bool = True
    still: Spec | None = None

    @property
    def title(self) -> str:
        """The title of the picture."""
        title: str = self.spec["title"]["text"]
        return title

    @property
    def bare(self) -> Spec:
        """The specification without its title, which a page writes itself."""
        return drop_title(self.spec)

    @property
    def bare_still(self) -> Spec:
        """The specification of the picture in files, without its title."""
        return drop_title(self.still or self.spec)


def drop_title(spec: Spec) -> Spec:
    """Return a specification without its title."""
    return {name: value for name, value in spec.items() if name != "title"}


def figure_modules() -> list[ModuleType]:
    """Return the modules of this folder, in the order of the report."""
    found = [
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    ]
    return sorted(found, key=lambda module: module.ORDER)


def module_figures(module: ModuleType, study: Study) -> list[Figure]:
    """Return the figures of one module."""
    narrow: dict[str, Spec] = {}
    if "width" in inspect.signature(module.specs).parameters:
        narrow = module.specs(study, theme.NARROW)
    still: Callable[[Spec], Spec] = getattr(module, "pick_still", lambda spec: spec)
    return [
        Figure(
            name,
            module.ABOUT,
            theme.finish_spec(spec),
            remove_title(narrow.get(name)),
            still=theme.finish_spec(still(spec)),
        )
        for name, spec in module.specs(study).items()
    ]


def remove_title(spec: Spec | None) -> Spec | None:
    """Return the specification for a narrow page, or None."""
    if not spec:
        return spec
    return theme.finish_spec(drop_title(spec), padding=2)


def all_figures(study: Study) -> list[Figure]:
    """Return every figure for which the study has data."""
    return [figure for module in figure_modules() for figure in module_figures(module, study)]
