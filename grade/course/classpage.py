"""A class's page: the spread of points, test by test. One file that opens offline and fits a phone.

Scores are the points that count, without what is lost by being late.
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
from sluice.experiment.progress import counted
from sluice.report.head import head

TEMPLATE = Path(__file__).with_name("class.html")
STYLE = TEMPLATE.with_suffix(".css")
BINS = 10
BAR, HEIGHT = 16, 34  # of a picture, in its own units


def spread(shares: list[float], kind: str) -> str:
    """A histogram of shares of points, from 0 to 1. Full points have a bar of their own. kind: its
    class in the page, which sets its size."""
    counts = [0] * (BINS + 1)
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
    """One test: its points, the mean, and how many submissions have all or none."""
    shares = [test.points / test.most for test in tests]
    cells = [
        f"{tests[0].most:g}",
        f"{mean(test.points for test in tests):.1f}",
        f"{sum(test.passed for test in tests)}",
        f"{sum(not test.points for test in tests)}",
        spread(shares, "spread"),
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
    heads = ("test", "points", "mean", "have all", "have none", "spread")
    head = "".join(f"<th>{word}</th>" for word in heads)
    about = f'<p class="about">{escape(of_which(records))}</p>'
    body, group = "", ""
    for rows in by_name.values():
        if rows[0].group != group:
            group = rows[0].group
            hidden = " (hidden)" if rows[0].hidden else ""
            body += f'<tr class="group"><td colspan="6">{escape(group)}{hidden}</td></tr>\n'
        body += test_row(rows[0].title, rows)
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'{about}<div class="wide">{table}</div>'


def of_which(records: list[Record]) -> str:
    """Of which submissions the table of tests is."""
    run = sum(bool(record.tests) for record in records)
    if run == len(records):
        return f"The table is of {counted(run, 'submission')}."
    return (
        f"The table is of {counted(run, 'submission')} whose kernels were run. Not in it: "
        f"{len(records) - run} that were refused or did not build. These have 0 points, and are "
        "counted in the scores above."
    )


def pairs_list(alike: list[Pair]) -> str:
    """The pairs of submissions that a person should look at."""
    if not alike:
        return "<p>None.</p>"
    items = "".join(
        f"<li>{escape(p.one)} and {escape(p.other)}: {p.share:.0%} {escape(p.says)}</li>"
        for p in alike
    )
    return f'<ul class="warning">{items}</ul>'


def lost_in(record: Record) -> str:
    """Where a submission lost points: groups, or why it was not graded; and by being late."""
    lost = [group.name for group in record.groups if group.points < group.most]
    lines = record.message.splitlines()
    say = next((line for line in lines if ": error: " in line), "".join(lines[:1]))
    say = f"{record.status}: {say}" if record.status != "graded" else ", ".join(lost)
    late = f"{record.late.text()} than {record.score:g}" if record.late and record.scored else ""
    return "; ".join(filter(None, (say, late)))


def submissions_table(records: dict[str, Record]) -> str:
    """All submissions, the best first, each linked to its page."""
    rows = ""
    for name, record in sorted(records.items(), key=lambda item: (-item[1].counts, item[0])):
        link = f'<a href="{escape(quote(name))}/{page.FILE}">{escape(name)}</a>'
        say = f'<td class="say">{escape(lost_in(record))}</td>'
        points = f"{record.counts:g}" if record.scored else "none yet"
        rows += f"<tr><td>{link}</td><td>{points}</td>{say}</tr>\n"
    head = '<tr><th>name</th><th>score</th><th class="say">lost points in</th></tr>'
    return f"<table><thead>{head}</thead>\n<tbody>{rows}</tbody></table>"


def notes(records: dict[str, Record], progress: str) -> str:
    """What a reader must know first: what is still to come, and what the grader failed to score."""
    failed = [name for name, record in records.items() if not record.scored]
    lines = [progress] if progress else []
    if failed:
        lines.append(f"Not scored: {', '.join(failed)}. {OURS} No mean or picture has them in it.")
    return "".join(f'<p class="warning">{escape(line)}</p>\n' for line in lines)


def text(lab: Lab, records: dict[str, Record], alike: list[Pair], progress: str = "") -> str:
    """The page. progress: what is still to come, if anything is."""
    all_ = list(records.values())
    scored = [record for record in all_ if record.scored]
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
        "head": head(words["title"], page.style(STYLE)),
        "scores": spread([score / most for score in scores], "scores"),
        "notes": notes(records, progress),
        "tests": tests_table(scored),
        "leaderboard": leaderboard.table(records),
        "alike": pairs_list(alike),
        "submissions": submissions_table(records),
    }
    escaped = {name: escape(word) for name, word in words.items()}
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(escaped, **parts)
