"""Shows what a sweep came to: lines for the terminal, and a page that opens offline."""

from html import escape
from pathlib import Path
from string import Template

from sluice.experiment import interval, metrics
from sluice.experiment.aligned import aligned
from sluice.experiment.files import write_whole
from sluice.experiment.summary import number
from sluice.report import page, picture
from sluice.report.head import PICTURES, head
from sluice.sweep import surface
from sluice.sweep.full_sweep import Measured, Sweep, front
from sluice.sweep.ranges import Value
from sluice.twin.engine import twin_hash

TEMPLATE = Path(__file__).with_name("page.html")
BEST = 20  # points of the table
SEED = "seed"
SHOWN = 8  # of them on the terminal


def value(of: Value) -> str:
    """A swept value, for a table."""
    return of if isinstance(of, str) else number(of) if of else "0"


def best(sweep: Sweep, points: list[Measured]) -> list[Measured]:
    """The points to look at: the Pareto front, or with one objective the best."""
    if len(sweep.objectives) > 1:
        return front(sweep, points)[:BEST]
    return sorted(points, key=lambda point: point.costs(sweep.objectives))[:BEST]


def title(sweep: Sweep) -> str:
    """What the points of the table are."""
    return "The Pareto front" if len(sweep.objectives) > 1 else "The best points"


def only_seeds(sweep: Sweep) -> bool:
    """Whether the runs of a point differ in their seed alone."""
    swept = {axis.name for axis in sweep.axes}
    lists = sweep.maker.of.sweep.items()
    return all(name == SEED or name in swept or len(values) == 1 for name, values in lists)


def spread(sweep: Sweep, point: Measured, metric: str) -> str:
    """The 95 % interval of a mean over seeds, in brackets, or ""."""
    if not only_seeds(sweep) or metrics.over_runs(metric) != "mean":
        return ""
    found = interval.of_mean([row[metric] for row in point.rows])
    return f" ({value(found.low)} to {value(found.high)})" if found else ""


def about_runs(sweep: Sweep, points: list[Measured]) -> str:
    """How many runs a point has, and what that says of intervals."""
    most = max(len(point.rows) for point in points)
    if most == 1:
        return "1 run each, so no interval."
    if not only_seeds(sweep):
        return f"{most} runs each, which differ in more than the seed, so no interval."
    if most < interval.LEAST:
        return f"{most} runs each, too few for an interval."
    return f"{most} runs each; in brackets are 95 % intervals of means."


def table(sweep: Sweep, points: list[Measured]) -> list[list[str]]:
    """The rows of the table, with its head."""
    objectives = [each.metric for each in sweep.objectives]
    names = [axis.name for axis in sweep.axes]
    rows = [["point", *names, *objectives]]
    for point in best(sweep, points):
        told = [value(point.point[name]) for name in names]
        said = [value(point.figures[name]) + spread(sweep, point, name) for name in objectives]
        rows.append([str(point.number), *told, *said])
    return rows


def lines(sweep: Sweep, points: list[Measured]) -> list[str]:
    """What the terminal shows."""
    rows = table(sweep, points)
    shown = aligned(rows[: SHOWN + 1])
    more = len(rows) - 1 - SHOWN
    told = [f"and {more} more"] if more > 0 else []
    return [f"{title(sweep)}:", *shown, *told, about_runs(sweep, points)]


def html_table(rows: list[list[str]]) -> str:
    """The table of the page."""
    head, *body = rows
    told = "".join(f"<tr>{page.cells(row, 'td')}</tr>\n" for row in body)
    return f"<table><thead><tr>{page.cells(head, 'th')}</tr></thead><tbody>{told}</tbody></table>"


def figure(number: int, head: str, about: str, spec: dict) -> str:
    """A picture, with its title and what it shows."""
    drawn = picture.inline(picture.drawn(spec), f"figure-{number}", head)
    return (
        f'<figure><h3>{escape(head)}</h3><div class="still scaled">{drawn}</div>'
        f"<figcaption>{escape(about)}</figcaption></figure>"
    )


def paragraphs(kind: str, lines: list[str]) -> str:
    """Lines of the page, a paragraph each."""
    return "".join(f'<p class="{kind}">{escape(line)}</p>' for line in lines)


def write_page(
    sweep: Sweep,
    points: list[Measured],
    errors: list[str],
    remarks: list[str],
    command: str,
    folder: Path,
) -> Path:
    """Write the page. Returns its path."""
    figures = [figure(i, *found) for i, found in enumerate(surface.pictures(sweep, points), 1)]
    runs = sum(len(point.rows) for point in points)
    told = f"{len(points)} points, {runs} runs, HOW={sweep.how}. {about_runs(sweep, points)}"
    warnings = [f"{len(errors)} runs failed, and their points are missing."] if errors else []
    words = {
        "name": sweep.name,
        "claim": sweep.claim,
        "about": told,
        "table_title": title(sweep),
        "twin": twin_hash()[:16],
        "command": command,
    }
    parts = {
        "head": head(sweep.name, page.style(), PICTURES),
        "remarks": paragraphs("about", remarks),
        "warnings": paragraphs("warning", warnings),
        "figures": "\n".join(figures),
        "table": html_table(table(sweep, points)),
    }
    escaped = {name: escape(word) for name, word in words.items()}
    path = folder / "sweep.html"
    write_whole(path, Template(TEMPLATE.read_text(encoding="utf-8")).substitute(escaped, **parts))
    return path
