"""Shows the results of a sweep: lines for the terminal, and a page that opens offline."""

from html import escape
from pathlib import Path
from string import Template

from sluice.experiment import interval, metrics
from sluice.experiment.aligned import format_table
from sluice.experiment.files import write_atomically
from sluice.experiment.summary import format_number
from sluice.report import page, picture
from sluice.report.head import PICTURES, page_head
from sluice.report.theme import Spec
from sluice.sweep import surface
from sluice.sweep.full_sweep import Measured, Sweep, pareto_front
from sluice.sweep.ranges import Value
from sluice.twin.engine import twin_hash

TEMPLATE = Path(__file__).with_name("page.html")
BEST = 20  # points in the table
SEED = "seed"
SHOWN = 8  # points of the table that the terminal shows


def format_value(value: Value) -> str:
    """Return a swept value as text, for a table."""
    return value if isinstance(value, str) else format_number(value) if value else "0"


def best_points(sweep: Sweep, points: list[Measured]) -> list[Measured]:
    """Return the points for the table: the Pareto front or, with one objective, the best points."""
    if len(sweep.objectives) > 1:
        return pareto_front(sweep, points)[:BEST]
    return sorted(points, key=lambda point: point.costs(sweep.objectives))[:BEST]


def table_title(sweep: Sweep) -> str:
    """Return the title of the table of points."""
    return "The Pareto front" if len(sweep.objectives) > 1 else "The best points"


def varies_only_seed(sweep: Sweep) -> bool:
    """Return whether the runs of a point differ only in their seed."""
    swept = {axis.name for axis in sweep.axes}
    lists = sweep.maker.opened.sweep.items()
    return all(name == SEED or name in swept or len(values) == 1 for name, values in lists)


def format_interval(sweep: Sweep, point: Measured, metric: str) -> str:
    """Return the 95 % interval of a mean over seeds, in brackets, or ""."""
    if not varies_only_seed(sweep) or metrics.aggregation(metric) != "mean":
        return ""
    found = interval.mean_interval([row[metric] for row in point.rows])
    return f" ({format_value(found.low)} to {format_value(found.high)})" if found else ""


def describe_runs(sweep: Sweep, points: list[Measured]) -> str:
    """Return a sentence about how many runs a point has, and whether there are intervals."""
    most = max(len(point.rows) for point in points)
    if most == 1:
        return "1 run each, so no interval."
    if not varies_only_seed(sweep):
        return f"{most} runs each, which differ in more than the seed, so no interval."
    if most < interval.LEAST:
        return f"{most} runs each, too few for an interval."
    return f"{most} runs each; in brackets are 95 % intervals of means."


def point_table(sweep: Sweep, points: list[Measured]) -> list[list[str]]:
    """Return the rows of the table, with its head."""
    objectives = [each.metric for each in sweep.objectives]
    names = [axis.name for axis in sweep.axes]
    rows = [["point", *names, *objectives]]
    for point in best_points(sweep, points):
        told = [format_value(point.point[name]) for name in names]
        said = [
            format_value(point.figures[name]) + format_interval(sweep, point, name)
            for name in objectives
        ]
        rows.append([str(point.number), *told, *said])
    return rows


def text_lines(sweep: Sweep, points: list[Measured]) -> list[str]:
    """Return the lines that the terminal shows."""
    rows = point_table(sweep, points)
    shown = format_table(rows[: SHOWN + 1])
    more = len(rows) - 1 - SHOWN
    told = [f"and {more} more"] if more > 0 else []
    return [f"{table_title(sweep)}:", *shown, *told, describe_runs(sweep, points)]


def html_table(rows: list[list[str]]) -> str:
    """Return the table of the page."""
    head, *body = rows
    told = "".join(f"<tr>{page.row_cells(row, 'td')}</tr>\n" for row in body)
    return (
        f"<table><thead><tr>{page.row_cells(head, 'th')}</tr></thead><tbody>{told}</tbody></table>"
    )


def figure_html(number: int, head: str, about: str, spec: Spec) -> str:
    """Return a picture as HTML, with its title and an explanation."""
    drawn = picture.inline_svg(picture.draw_svg(spec), f"figure-{number}", head)
    return (
        f'<figure><h3>{escape(head)}</h3><div class="still scaled">{drawn}</div>'
        f"<figcaption>{escape(about)}</figcaption></figure>"
    )


def paragraphs_html(kind: str, lines: list[str]) -> str:
    """Return lines of the page, each as a paragraph."""
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
    figures = [
        figure_html(i, *found) for i, found in enumerate(surface.sweep_pictures(sweep, points), 1)
    ]
    runs = sum(len(point.rows) for point in points)
    told = f"{len(points)} points, {runs} runs, how: {sweep.how}. {describe_runs(sweep, points)}"
    warnings = [f"{len(errors)} runs failed, and their points are missing."] if errors else []
    words = {
        "name": sweep.name,
        "claim": sweep.claim,
        "about": told,
        "table_title": table_title(sweep),
        "twin": twin_hash()[:16],
        "command": command,
    }
    parts = {
        "head": page_head(sweep.name, page.page_style(), PICTURES),
        "remarks": paragraphs_html("about", remarks),
        "warnings": paragraphs_html("warning", warnings),
        "figures": "\n".join(figures),
        "table": html_table(point_table(sweep, points)),
    }
    escaped = {name: escape(word) for name, word in words.items()}
    path = folder / "sweep.html"
    write_atomically(
        path, Template(TEMPLATE.read_text(encoding="utf-8")).substitute(escaped, **parts)
    )
    return path
