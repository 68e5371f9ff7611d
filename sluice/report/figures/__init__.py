"""The figures of a report, one to a file, found by listing this folder.

Each has an ORDER, and a function `specs(study)` that returns a Vega-Lite specification for each
picture, by the name of its file: none if the results have nothing to show. ABOUT is the explanation
below the picture. A figure whose `specs` takes a width is drawn for narrow pages, too; others are
scaled. A figure of which the reader chooses the point (the parameter `trial`) has the data of the
first point in its specification, and `packed_tables(study)` returns those of all points for the
page: for each name of its `datasets`, the packed columns (columns.py) of each point.
"""

import importlib
import inspect
import pkgutil
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
    the page draws it too, so that it answers the pointer. tables: the packed columns of its data at
    each point, by name, if the reader chooses the point.
    """

    name: str
    about: str
    spec: Spec
    narrow: Spec | None = None
    live: bool = True
    tables: dict[str, list[dict[str, str]]] | None = None

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
    def live_spec(self) -> Spec:
        """The specification for the page's script: without its title, and without the rows of data
        that the page has packed."""
        if not self.tables:
            return self.bare
        heads = {name: self.spec["datasets"][name].partition("\n")[0] for name in self.tables}
        return {**self.bare, "datasets": heads}


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
    make_tables = getattr(module, "packed_tables", lambda _: None)
    return [
        Figure(
            name,
            module.ABOUT,
            theme.finish_spec(spec),
            remove_title(narrow.get(name)),
            tables=make_tables(study),
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
