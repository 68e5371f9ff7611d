"""For people: a page that opens offline, with pictures of yours beside the reference's."""

from html import escape
from pathlib import Path
from string import Template

from grade.engine import drawing
from grade.engine.assertions import figure
from grade.engine.formats import clipped
from grade.engine.formats.people import score
from grade.engine.pictures import Picture
from grade.engine.record import GroupResult, Outcome, Record
from sluice.report.head import head
from sluice.report.page import STYLE

FILE = "report.html"
TEMPLATE = Path(__file__).parent.with_name("report.html")
OWN_STYLE = TEMPLATE.with_suffix(".css")
BAR_WIDTH, BAR_HEIGHT = 420, 36
COLOURS = Path(__file__).parent.with_name("colours.css")
ENDS = (0.15, 0.85)  # of a bar's width: where points are all, and none


def style(own: Path) -> str:
    """The style of a page: that of all pages, the colours of those about grades, the page's own."""
    return "".join(sheet.read_text(encoding="utf-8") for sheet in (STYLE, COLOURS, own))


def bar(test: Outcome) -> str:
    """A bar that shows where a figure lies between all points and none."""
    left, right = (share * BAR_WIDTH for share in ENDS)
    at = left + (test.value - test.full) * (right - left) / (test.none - test.full)
    at = min(BAR_WIDTH - 6, max(6, at))
    words = "".join(
        f'<text x="{x:.0f}" y="33" font-size="12" class="words" text-anchor="middle">{word}</text>'
        for x, word in (
            (left, f"all: {figure(test.full)}"),
            (right, f"none: {figure(test.none)} {escape(test.unit)}"),
        )
    )
    return (
        f'<svg class="bar" viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}" role="img">'
        f'<path d="M0 10H{BAR_WIDTH}" class="axis" stroke-width="2"/>'
        f'<path d="M{left:.0f} 3V17M{right:.0f} 3V17" class="axis" stroke-width="2"/>'
        f'<circle cx="{at:.1f}" cy="10" r="6" class="mine"/>{words}</svg>'
    )


def details(test: Outcome) -> str:
    """What was expected and found, and how to repeat the test."""
    rows = [("expected", escape(clipped(test.expected))), ("found", escape(clipped(test.came)))]
    if test.value is not None:
        rows.append(("", bar(test)))
    if not test.passed or test.measured:
        commands = (("again", test.reproduce), ("in gdb", test.debug))
        rows += [(name, f"<code>{escape(line)}</code>") for name, line in commands]
    if test.runs:
        rows.append(("seen in", escape(", ".join(f"runs/{name}" for name in test.runs))))
    kept = [(name, value) for name, value in rows if value]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in kept) + "</dl>"


def test_part(test: Outcome) -> str:
    """A test. Of a hidden test only its points."""
    lost = "" if test.passed else " lost"
    points = f'<b class="points">{"✓" if test.passed else "✗"} {test.points:g} of {test.most:g}</b>'
    about = "A hidden test." if test.hidden else escape(test.about)
    more = "" if test.hidden else details(test)
    says = f'<p><b>{escape(test.title)}</b></p><p class="about">{about}</p>'
    return f'<div class="test{lost}">{points}<div>{says}{more}</div></div>\n'


def mark(points: float, most: float) -> str:
    """Whether all points were reached, by a sign and a word: not by colour alone."""
    return "✓ all" if points >= most else "✗ none" if not points else "◐ some"


def groups_table(record: Record) -> str:
    """The groups and their points, each linked to its tests below."""
    rows = "".join(
        f'<tr><td><a href="#{escape(g.name)}">{escape(g.name)}</a>{" (hidden)" if g.hidden else ""}'
        f"</td><td>{g.points:g} of {g.most:g}</td><td>{mark(g.points, g.most)}</td></tr>\n"
        for g in record.groups
    )
    head = "<tr><th>group</th><th>points</th><th>reached</th></tr>"
    return f'<table class="groups"><thead>{head}</thead>\n<tbody>{rows}</tbody></table>\n'


def group_part(record: Record, group: GroupResult) -> str:
    """A group and its tests."""
    hidden = " (hidden)" if group.hidden else ""
    head = f'<h2 id="{escape(group.name)}">{escape(group.name)}{hidden}'
    head += f": {group.points:g} of {group.most:g}</h2>"
    tests = "".join(test_part(test) for test in record.of(group.name))
    return f'{head}<p class="about">{escape(group.about)}</p>\n{tests}'


def picture_part(record: Record, picture: Picture) -> str:
    """A scenario's picture."""
    asked = [t.title for t in record.tests if picture.scenario in t.runs and not t.hidden]
    says = f"<b>{escape(picture.scenario)}</b>: {escape('; '.join(asked))}"
    drawn = f'<div class="still">{drawing.svg(picture)}</div>'
    return f"<figure><figcaption>{says}</figcaption>{drawn}</figure>\n"


def pictures_part(record: Record) -> str:
    """All pictures of tests that are not hidden."""
    shown = [picture_part(record, p) for p in record.pictures if not p.hidden]
    if not shown:
        return ""
    about = f'<p class="about">{escape(drawing.ABOUT)}</p>'
    return f"<h2>Your kernel beside the reference</h2>{about}{''.join(shown)}"


def text(record: Record) -> str:
    graded = record.status == "graded"
    message = f'<pre class="warning">{escape(f"{record.status}: {record.message}")}</pre>'
    words = {
        "title": record.title,
        "score": score(record),
        "about": f"Lab {record.lab}",
        "nonce": record.nonce,
    }
    tests = "".join(group_part(record, group) for group in record.groups)
    parts = {
        "head": head(record.title, style(OWN_STYLE)),
        "message": "" if graded else message,
        "groups": groups_table(record) + tests if graded else "",
        "pictures": pictures_part(record),
    }
    escaped = {name: escape(word) for name, word in words.items()}
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(escaped, **parts)
