"""Write the page for people: it opens offline and shows your kernel beside the reference."""

from html import escape
from pathlib import Path
from string import Template

from grade.engine import drawing
from grade.engine.assertions import format_figure
from grade.engine.formats import clip_line
from grade.engine.formats.people import describe_score
from grade.engine.pictures import Picture
from grade.engine.record import GroupResult, Outcome, Record
from sluice.report.head import page_head
from sluice.report.page import STYLE

FILE = "report.html"
TEMPLATE = Path(__file__).parent.with_name("report.html")
OWN_STYLE = TEMPLATE.with_suffix(".css")
BAR_WIDTH, BAR_HEIGHT = 420, 36
COLOURS = Path(__file__).parent.with_name("colours.css")
ENDS = (0.15, 0.85)  # where a bar has the marks for all points and for none; shares of its width


def page_style(own: Path) -> str:
    """Return the style of a page: the common style, the colours of grades, and the page's own."""
    return "".join(sheet.read_text(encoding="utf-8") for sheet in (STYLE, COLOURS, own))


def draw_bar(test: Outcome) -> str:
    """Return a bar, as SVG, that shows where a figure lies between all points and none.

    It is empty if the test measured no figure.
    """
    value, full, none = test.value, test.full, test.none
    if value is None or full is None or none is None:
        return ""
    left, right = (share * BAR_WIDTH for share in ENDS)
    at = left + (value - full) * (right - left) / (none - full)
    at = min(BAR_WIDTH - 6, max(6, at))
    words = "".join(
        f'<text x="{x:.0f}" y="33" font-size="12" class="words" text-anchor="middle">{word}</text>'
        for x, word in (
            (left, f"all: {format_figure(full)}"),
            (right, f"none: {format_figure(none)} {escape(test.unit)}"),
        )
    )
    return (
        f'<svg class="bar" viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}" role="img">'
        f'<path d="M0 10H{BAR_WIDTH}" class="axis" stroke-width="2"/>'
        f'<path d="M{left:.0f} 3V17M{right:.0f} 3V17" class="axis" stroke-width="2"/>'
        f'<circle cx="{at:.1f}" cy="10" r="6" class="mine"/>{words}</svg>'
    )


def test_details(test: Outcome) -> str:
    """Return what was expected and found, and how to repeat the test."""
    rows = [("expected", escape(clip_line(test.expected))), ("found", escape(clip_line(test.came)))]
    if test.value is not None:
        rows.append(("", draw_bar(test)))
    if not test.has_all_points or test.measured:
        commands = (("again", test.reproduce), ("in gdb", test.debug))
        rows += [(name, f"<code>{escape(line)}</code>") for name, line in commands]
    if test.runs:
        rows.append(("seen in", escape(", ".join(f"runs/{name}" for name in test.runs))))
    kept = [(name, value) for name, value in rows if value]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in kept) + "</dl>"


def test_part(test: Outcome) -> str:
    """Return the part of the page about a test. A hidden test shows only its points."""
    lost = "" if test.has_all_points else " lost"
    sign = "✓" if test.has_all_points else "✗"
    points = f'<b class="points">{sign} {test.points:g} of {test.most:g}</b>'
    about = "A hidden test." if test.hidden else escape(test.about)
    more = "" if test.hidden else test_details(test)
    says = f'<p><b>{escape(test.title)}</b></p><p class="about">{about}</p>'
    return f'<div class="test{lost}">{points}<div>{says}{more}</div></div>\n'


def points_mark(points: float, most: float) -> str:
    """Return a sign and a word for whether all points were reached; colour alone is not enough."""
    return "✓ all" if points >= most else "✗ none" if not points else "◐ some"


def groups_table(record: Record) -> str:
    """Return the table of groups and their points, each linked to its tests below."""
    rows = "".join(
        f'<tr><td><a href="#{escape(g.name)}">{escape(g.name)}</a>{" (hidden)" if g.hidden else ""}'
        f"</td><td>{g.points:g} of {g.most:g}</td><td>{points_mark(g.points, g.most)}</td></tr>\n"
        for g in record.groups
    )
    head = "<tr><th>group</th><th>points</th><th>reached</th></tr>"
    return f'<table class="groups"><thead>{head}</thead>\n<tbody>{rows}</tbody></table>\n'


def group_part(record: Record, group: GroupResult) -> str:
    """Return the part of the page about a group and its tests."""
    hidden = " (hidden)" if group.hidden else ""
    head = f'<h2 id="{escape(group.name)}">{escape(group.name)}{hidden}'
    head += f": {group.points:g} of {group.most:g}</h2>"
    tests = "".join(test_part(test) for test in record.tests_of_group(group.name))
    return f'{head}<p class="about">{escape(group.about)}</p>\n{tests}'


def picture_part(record: Record, picture: Picture) -> str:
    """Return the part of the page with a scenario's picture."""
    asked = [t.title for t in record.tests if picture.scenario in t.runs and not t.hidden]
    says = f"<b>{escape(picture.scenario)}</b>: {escape('; '.join(asked))}"
    drawn = f'<div class="still">{drawing.render_svg(picture)}</div>'
    return f"<figure><figcaption>{says}</figcaption>{drawn}</figure>\n"


def pictures_part(record: Record) -> str:
    """Return the part of the page with all pictures of tests that are not hidden."""
    shown = [picture_part(record, p) for p in record.pictures if not p.hidden]
    if not shown:
        return ""
    about = f'<p class="about">{escape(drawing.ABOUT)}</p>'
    return f"<h2>Your kernel beside the reference</h2>{about}{''.join(shown)}"


def text(record: Record) -> str:
    """Return the page as HTML."""
    graded = record.status == "graded"
    message = f'<pre class="warning">{escape(f"{record.status}: {record.message}")}</pre>'
    words = {
        "title": record.title,
        "score": describe_score(record),
        "about": f"Lab {record.lab}",
        "nonce": record.nonce,
    }
    tests = "".join(group_part(record, group) for group in record.groups)
    parts = {
        "head": page_head(record.title, page_style(OWN_STYLE)),
        "message": "" if graded else message,
        "groups": groups_table(record) + tests if graded else "",
        "pictures": pictures_part(record),
    }
    escaped = {name: escape(word) for name, word in words.items()}
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(escaped, **parts)
