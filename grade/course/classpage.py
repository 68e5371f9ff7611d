"""Write a class's page: the distribution of points, for each test.

The page is one file that opens offline and fits a phone. Scores are the points that count, after
the points lost by being late.
"""

from html import escape
from pathlib import Path
from statistics import mean, median
from string import Template
from urllib.parse import quote

from grade.course import leaderboard
from grade.definition.lab import Lab
from grade.engine.formats import page
from grade.engine.record import OURS, Outcome, Record
from grade.trust.likeness import Pair
from sluice.experiment.progress import format_count
from sluice.report.head import page_head

TEMPLATE = Path(__file__).with_name("class.html")
STYLE = TEMPLATE.with_suffix(".css")
BINS = 10
BAR, HEIGHT = 16, 34  # sizes in a picture's own units


def draw_histogram(shares: list[float], kind: str) -> str:
    """Return a histogram, as SVG, of shares of points from 0 to 1. Full points have their own bar.

    kind: the class of the picture in the page, which sets its size.
    """
    counts = [0] * (BINS + 1)  # the last one is of full points
    for share in shares:
        counts[int(share * BINS)] += 1
    most = max(counts)
    bars = "".join(
        f'<rect x="{i * BAR}" y="{HEIGHT - HEIGHT * n / most:.1f}" width="{BAR - 2}" '
        f'height="{HEIGHT * n / most:.1f}" class="mine"><title>{n}</title></rect>'
        for i, n in enumerate(counts)
        if n
    )
    width = BAR * (BINS + 1)
    line = f'<path d="M0 {HEIGHT + 0.5}h{width}" class="axis" vector-effect="non-scaling-stroke"/>'
    return f'<svg class="{kind}" viewBox="0 0 {width} {HEIGHT + 1}" role="img">{bars}{line}</svg>'


def test_row(name: str, tests: list[Outcome]) -> str:
    """Return the table row of a test.

    It has the test's points, their mean, and how many submissions have all points or none.
    """
    shares = [test.points / test.most for test in tests]
    cells = [
        f"{tests[0].most:g}",
        f"{mean(test.points for test in tests):.1f}",
        f"{sum(test.has_all_points for test in tests)}",
        f"{sum(not test.points for test in tests)}",
        draw_histogram(shares, "spread"),
    ]
    return f"<tr><td>{escape(name)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"


def tests_table(records: list[Record]) -> str:
    """Return the table of all tests, under the names of their groups."""
    by_name: dict[str, list[Outcome]] = {}
    for record in records:
        for test in record.tests:
            by_name.setdefault(test.id, []).append(test)
    if not by_name:
        return "<p>There are no submissions yet.</p>"
    heads = ("test", "points", "mean", "have all", "have none", "spread")
    head = "".join(f"<th>{word}</th>" for word in heads)
    about = f'<p class="about">{escape(describe_coverage(records))}</p>'
    body, group = "", ""
    for rows in by_name.values():
        if rows[0].group != group:
            group = rows[0].group
            hidden = " (hidden)" if rows[0].hidden else ""
            body += f'<tr class="group"><td colspan="6">{escape(group)}{hidden}</td></tr>\n'
        body += test_row(rows[0].title, rows)
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'{about}<div class="wide">{table}</div>'


def describe_coverage(records: list[Record]) -> str:
    """Return a sentence that says which submissions the table of tests covers."""
    run = sum(bool(record.tests) for record in records)
    if run == len(records):
        return f"The table is of {format_count(run, 'submission')}."
    return (
        f"The table is of {format_count(run, 'submission')} whose kernels were run. Not in it: "
        f"{len(records) - run} that were refused or did not build. These have 0 points, and are "
        "counted in the scores above."
    )


def pairs_list(alike: list[Pair]) -> str:
    """Return the list of pairs of submissions that a person should look at."""
    if not alike:
        return "<p>None.</p>"
    items = "".join(
        f"<li>{escape(p.one)} and {escape(p.other)}: {p.share:.0%} {escape(p.says)}</li>"
        for p in alike
    )
    return f'<ul class="warning">{items}</ul>'


def describe_losses(record: Record) -> str:
    """Return where a submission lost points: groups, or why it was not graded, and late days."""
    if record.status == "graded":
        say = ", ".join(group.name for group in record.groups if group.points < group.most)
    else:
        lines = record.message.splitlines()
        why = next((line for line in lines if ": error: " in line), "".join(lines[:1]))
        say = f"{record.status}: {why}"
    late = (
        f"{record.late.describe()} than {record.score:g}"
        if record.late and record.has_score
        else ""
    )
    return "; ".join(filter(None, (say, late)))


def submissions_table(records: dict[str, Record]) -> str:
    """Return the table of all submissions, the best first, each linked to its page."""
    rows = ""
    for name, record in sorted(records.items(), key=lambda item: (-item[1].counts, item[0])):
        link = f'<a href="{escape(quote(name))}/{page.FILE}">{escape(name)}</a>'
        say = f'<td class="say">{escape(describe_losses(record))}</td>'
        points = f"{record.counts:g}" if record.has_score else "none yet"
        rows += f"<tr><td>{link}</td><td>{points}</td>{say}</tr>\n"
    head = '<tr><th>name</th><th>score</th><th class="say">lost points in</th></tr>'
    return f"<table><thead>{head}</thead>\n<tbody>{rows}</tbody></table>"


def notes(records: dict[str, Record], progress: str) -> str:
    """Return the warnings at the top of the page as HTML.

    They tell the progress, and which submissions the grader failed to score.
    """
    failed = [name for name, record in records.items() if not record.has_score]
    lines = [progress] if progress else []
    if failed:
        lines.append(f"Not scored: {', '.join(failed)}. {OURS} No mean or picture has them in it.")
    return "".join(f'<p class="warning">{escape(line)}</p>\n' for line in lines)


def render_page(lab: Lab, records: dict[str, Record], alike: list[Pair], progress: str = "") -> str:
    """Return the page as HTML.

    progress: what is still to come; empty if nothing is.
    """
    all_ = list(records.values())
    scored = [record for record in all_ if record.has_score]
    scores = [record.counts for record in scored] or [0]
    most = max(record.most for record in all_)
    numbers = f"mean {mean(scores):.1f}, median {median(scores):g} of {most:g}"
    numbers = numbers if scored else "none has a score"
    words = {
        "title": f"{lab.title}: {len(all_)} submissions",
        "about": f"Lab {lab.name}; {numbers}",
        "nonce": all_[0].nonce,
    }
    parts = {
        "head": page_head(words["title"], page.page_style(STYLE)),
        "scores": draw_histogram([score / most for score in scores], "scores"),
        "notes": notes(records, progress),
        "tests": tests_table(scored),
        "leaderboard": leaderboard.format_leaderboard(records),
        "alike": pairs_list(alike),
        "submissions": submissions_table(records),
    }
    escaped = {name: escape(word) for name, word in words.items()}
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(escaped, **parts)
