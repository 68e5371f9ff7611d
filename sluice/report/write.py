"""Write a report: the page and the pictures of its figures."""

from collections.abc import Callable
from pathlib import Path

from sluice.experiment.files import write_atomically
from sluice.experiment.records import RunResult
from sluice.experiment.schema import Experiment
from sluice.report import figures, page, picture, study
from sluice.report.figures import Figure

Tell = Callable[[str], None]  # called with the next step, such as "figure 2 of 6"


def ignore_message(_: str) -> None:
    """Ignore a progress report."""


def write_pictures(
    found: list[Figure], folder: Path, tell: Tell = ignore_message
) -> dict[str, str]:
    """Write the figures as SVG and PNG. Returns the HTML of each figure's picture, by name.

    Other files in the folder, from earlier figures, are deleted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shown: dict[str, str] = {}
    written = set()
    for number, figure in enumerate(found, 1):
        tell(f"figure {number} of {len(found)}")
        bare = picture.draw_svg(figure.bare)
        whole = picture.add_titles(bare, figure.spec["title"])
        paths = [folder / f"{figure.name}.{kind}" for kind in ("svg", "png")]
        paths[0].write_text(whole, encoding="utf-8")
        paths[1].write_bytes(picture.render_png(whole))
        written |= set(paths)
        shown[figure.name] = picture.pictures_html(figure, bare)
    for old in set(folder.iterdir()) - written:
        old.unlink()
    return shown


def write_report(
    experiment: Experiment, results: list[RunResult], folder: Path, tell: Tell = ignore_message
) -> Path:
    """Write the report of these results into the folder. Returns the page's path.

    A page in the theatre's place says how to make the theatre. tell: called before each figure is
    drawn, which takes the most time. Raises BadResult, before anything is written, if the results
    are not the experiment's.
    """
    shown = study.build_study(experiment, results)
    found = figures.all_figures(shown)
    pictures = write_pictures(found, folder / "figures", tell)
    if page.has_theatre(shown):
        write_atomically(folder / page.THEATRE, page.placeholder_page(shown))
    write_atomically(folder / "report.html", page.report_page(shown, found, pictures))
    return folder / "report.html"
