"""A class's page: the spread of points, test by test. One file that opens offline."""

from html import escape
from pathlib import Path
from statistics import mean, median
from string import Template
from urllib.parse import quote

from grade.scoring import leaderboard
from grade.scoring.formats import page
from grade.scoring.lab import Lab
from grade.scoring.likeness import Pair
from grade.scoring.record import Outcome, Record

TEMPLATE = Path(__file__).with_name("class.html")
BINS = 10
BAR, HEIGHT = 16, 34  # of a small picture, in pixels
COLOUR = "#0072B2"


def spread(shares: list[float], bar: int = BAR, height: int = HEIGHT) -> str:
    """A histogram of shares of points, from 0 to 1. Full points have a bar of their own."""
    counts = [0] * (BINS + 1)
    for share in shares:
        counts[int(share * BINS)] += 1
    most = max(counts)
    bars = "".join(
        f'<rect x="{i * bar}" y="{height - height * n / most:.1f}" width="{bar - 2}" '
        f'height="{height * n / most:.1f}" fill="{COLOUR}"><title>{n}</title></rect>'
        for i, n in enumerate(counts)
        if n
    )
    width = bar * (BINS + 1)
    line = f'<path d="M0 {height + 0.5}h{width}" stroke="#999"/>'
    return f'<svg width="{width}" height="{height + 1}" role="img">{bars}{line}</svg>'


def test_row(name: str, tests: list[Outcome]) -> str:
    """One test: its points, the mean, and how many submissions have all or none."""
    shares = [test.points / test.most for test in tests]
    cells = [
        f"{tests[0].most:g}",
        f"{mean(test.points for test in tests):.1f}",
        f"{sum(test.passed for test in tests)}",
        f"{sum(not test.points for test in tests)}",
        spread(shares),
    ]
    return f"<tr><td>{escape(name)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"


def tests_table(records: list[Record]) -> str:
    """All tests, under their groups."""
    by_name: dict[str, list[Outcome]] = {}
    for record in records:
        for test in record.tests:
            by_name.setdefault(test.id, []).append(test)
    if not by_name:
        return "<p>No submission came so far.</p>"
    heads = ("test", "points", "mean", "all", "none", "spread")
    head = "".join(f"<th>{word}</th>" for word in heads)
    body, group = "", ""
    for rows in by_name.values():
        if rows[0].group != group:
            group = rows[0].group
            hidden = " (hidden)" if rows[0].hidden else ""
            body += f'<tr class="group"><td colspan="6">{escape(group)}{hidden}</td></tr>\n'
        body += test_row(rows[0].title, rows)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


def pairs_list(alike: list[Pair]) -> str:
    """The pairs of submissions that a person should look at."""
    if not alike:
        return "<p>None.</p>"
    items = "".join(
        f"<li>{escape(p.one)} and {escape(p.other)}: {p.share:.0%} the same</li>" for p in alike
    )
    return f'<ul class="warning">{items}</ul>'


def submissions_table(records: dict[str, Record]) -> str:
    """All submissions, the best first, each linked to its page."""
    rows = ""
    for name, record in sorted(records.items(), key=lambda item: (-item[1].score, item[0])):
        lost = [group.name for group in record.groups if group.points < group.most]
        say = record.message.splitlines()[0] if record.message else ""
        say = f"{record.status}: {say}" if record.status != "graded" else ", ".join(lost)
        link = f'<a href="{escape(quote(name))}/{page.FILE}">{escape(name)}</a>'
        rows += f'<tr><td>{link}</td><td>{record.score:g}</td><td class="say">{escape(say)}</td>'
        rows += "</tr>\n"
    head = '<tr><th>name</th><th>score</th><th class="say">lost points in</th></tr>'
    return f"<table><thead>{head}</thead>\n<tbody>{rows}</tbody></table>"


def text(lab: Lab, records: dict[str, Record], alike: list[Pair]) -> str:
    """The page."""
    all_ = list(records.values())
    scores = [record.score for record in all_]
    most = max(record.most for record in all_)
    numbers = f"mean {mean(scores):.1f}, median {median(scores):g} of {most:g}"
    words = {
        "title": f"{lab.title}: {len(all_)} submissions",
        "about": f"Lab {lab.name}; {numbers}",
        "nonce": all_[0].nonce,
    }
    parts = {
        "scores": spread([score / most for score in scores], 3 * BAR, 3 * HEIGHT),
        "tests": tests_table(all_),
        "leaderboard": leaderboard.table(records),
        "alike": pairs_list(alike),
        "submissions": submissions_table(records),
    }
    escaped = {name: escape(word) for name, word in words.items()}
    return Template(TEMPLATE.read_text()).substitute(escaped, **parts)
