"""Writes a report: the page and the pictures of its figures."""

from collections.abc import Callable
from pathlib import Path

from sluice.experiment.files import write_whole
from sluice.experiment.schema import Experiment
from sluice.report import figures, page, picture, study
from sluice.report.figures import Figure

Tell = Callable[[str], None]  # called with what is done next, as "figure 2 of 6"


def silent(_: str) -> None:
    """Report to nobody."""


def write_pictures(found: list[Figure], folder: Path, tell: Tell = silent) -> dict[str, str]:
    """Write the figures as SVG and PNG. Returns the parts of the page for each, by name.

    Other files in the folder, of earlier figures, are deleted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shown: dict[str, str] = {}
    written = set()
    for number, figure in enumerate(found, 1):
        tell(f"figure {number} of {len(found)}")
        bare = picture.drawn(figure.bare)
        whole = picture.headed(bare, figure.spec["title"])
        paths = [folder / f"{figure.name}.{kind}" for kind in ("svg", "png")]
        paths[0].write_text(whole, encoding="utf-8")
        paths[1].write_bytes(picture.png(whole))
        written |= set(paths)
        shown[figure.name] = picture.within(figure, bare)
    for old in set(folder.iterdir()) - written:
        old.unlink()
    return shown


def write_report(
    experiment: Experiment, results: list[dict], folder: Path, tell: Tell = silent
) -> Path:
    """Write the report of these results into the folder. Returns the page's path.

    Where the report opens the theatre is a page that says how to make it.

    tell is called before each figure is drawn, which takes the most time. Raises BadResult, before
    anything is written, if the results are not the experiment's.
    """
    shown = study.check(experiment, results)
    found = figures.all_of(shown)
    pictures = write_pictures(found, folder / "figures", tell)
    if page.opens_theatre(shown):
        write_whole(folder / page.THEATRE, page.not_yet(shown))
    write_whole(folder / "report.html", page.text(shown, found, pictures))
    return folder / "report.html"
