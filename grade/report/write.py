"""Writes a report: the page and the pictures of its figures."""

from pathlib import Path

import vl_convert

from grade.measure.files import write_whole
from grade.measure.schema import Experiment
from grade.report import figures, page, study
from grade.report.figures import Figure

SCALE = 2  # pixels of a PNG to a unit: sharp on a slide


def for_pointer(part: object) -> bool:
    """Whether a part of a specification shows nothing until something is pointed at."""
    if not isinstance(part, dict):
        return False
    hover = part.get("select", {})
    mark = part.get("mark", {})
    filters = [step.get("filter") for step in part.get("transform", [])]
    return (
        (isinstance(hover, dict) and hover.get("on") == "pointerover")
        or (isinstance(mark, dict) and mark.get("opacity") == 0)
        or any(isinstance(rule, dict) and rule.get("empty") is False for rule in filters)
    )


def still(spec: object) -> object:
    """The specification without what answers the pointer: the same picture in half the time."""
    if isinstance(spec, list):
        return [still(part) for part in spec if not for_pointer(part)]
    if isinstance(spec, dict):
        return {name: still(part) for name, part in spec.items() if name != "tooltip"}
    return spec


def pictures(figure: Figure, folder: Path) -> list[Path]:
    """Write the figure as SVG and PNG."""
    svg = vl_convert.vegalite_to_svg(still(figure.spec))
    paths = [folder / f"{figure.name}.{kind}" for kind in ("svg", "png")]
    paths[0].write_text(svg)
    paths[1].write_bytes(vl_convert.svg_to_png(svg, scale=SCALE))
    return paths


def write_report(experiment: Experiment, results: list[dict], folder: Path) -> Path:
    """Write the report of these results into the folder; the page's path.

    Raises BadResult, before anything is written, if they are not the experiment's.
    """
    shown = study.check(experiment, results)
    found = figures.all_of(shown)
    text = page.text(shown, found)
    pictures_folder = folder / "figures"
    pictures_folder.mkdir(parents=True, exist_ok=True)
    written = [path for figure in found for path in pictures(figure, pictures_folder)]
    for old in set(pictures_folder.iterdir()) - set(written):
        old.unlink()
    write_whole(folder / "report.html", text)
    return folder / "report.html"
