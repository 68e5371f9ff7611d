"""Build the leaderboard of a class: the figures of all submissions in one table, the best first.

Columns are the visible tests that measure a figure. Rows are in the order of the mean place over
the columns. Figures that are equal as printed share a place, because two right solutions differ by
a few instructions. Above all rows stand the figure that earns all points, and the figure that earns
none.

A submission is ranked only if it has all points of the tests that measure no figure, in every
group, hidden groups too. Otherwise a wrong answer could lead: shortest seek first has shorter
response times than the elevator that a lab asks for. Submissions that are not ranked are named
below the table, with the groups where they lose points.
"""

from html import escape
from statistics import mean

from grade.engine.assertions import format_figure
from grade.engine.record import Outcome, Record

Row = dict[str, float]  # figures by test


def measured_tests(record: Record) -> dict[str, Outcome]:
    """Return the visible tests that measured a figure, by their id."""
    return {test.id: test for test in record.tests if test.value is not None and not test.hidden}


def failed_groups(record: Record) -> list[str]:
    """Return the groups where the submission loses points of a test that measures no figure."""
    lost = (test.group for test in record.tests if not test.measured and not test.has_all_points)
    return list(dict.fromkeys(lost))


def rank(value: float, column: list[float]) -> int:
    """Return the place of a figure in its column; a smaller figure is better."""
    return 1 + sum(other < value for other in column)


def ranking(rows: dict[str, Row]) -> list[tuple[str, float]]:
    """Return the submissions with their mean places, the best first.

    rows: the measured figure of each test, by submission.
    """
    tests = {test for row in rows.values() for test in row}
    columns = {test: [row[test] for row in rows.values()] for test in tests}
    places = {
        name: mean(rank(value, columns[test]) for test, value in row.items())
        for name, row in rows.items()
    }
    return sorted(places.items(), key=lambda item: (item[1], item[0]))


def format_cells(values: Row, best: Row) -> str:
    """Return the cells of a row as HTML. The best figure of a column is bold."""
    texts = {test: format_figure(value) for test, value in values.items()}
    return "".join(
        f"<td>{f'<b>{text}</b>' if values[test] == best.get(test) else text}</td>"
        for test, text in texts.items()
    )


def describe_unranked(wrong: dict[str, list[str]]) -> str:
    """Return a paragraph that names the unranked submissions and where each loses points."""
    if not wrong:
        return ""
    each = "; ".join(f"{name} ({', '.join(groups)})" for name, groups in wrong.items())
    return (
        '<p class="about">Not ranked, because they lose points in groups that decide whether a '
        f"solution is right: {escape(each)}.</p>"
    )


def format_leaderboard(records: dict[str, Record]) -> str:
    """Return the leaderboard as HTML; empty if no test measured a figure."""
    found = {name: measured_tests(record) for name, record in records.items()}
    tests = max(found.values(), key=len, default={})
    if not tests:
        return ""
    whole = {name: row for name, row in found.items() if row.keys() == tests.keys()}
    wrong = {name: groups for name in whole if (groups := failed_groups(records[name]))}
    rows = {
        name: {
            test: float(format_figure(outcome.value))
            for test, outcome in row.items()
            if outcome.value is not None
        }
        for name, row in whole.items()
        if name not in wrong
    }
    best = {test: min(row[test] for row in rows.values()) for test in tests if rows}
    head = "".join(f"<th>{escape(f'{t.title} ({t.unit})')}</th>" for t in tests.values())
    body = ""
    for name, at in (("all points up to", "full"), ("none from", "none")):
        limits = {test: getattr(outcome, at) for test, outcome in tests.items()}
        body += f'<tr class="say"><td>{name}</td><td></td>{format_cells(limits, {})}</tr>\n'
    for name, mean_place in ranking(rows):
        body += (
            f"<tr><td>{escape(name)}</td><td>{mean_place:.1f}</td>{format_cells(rows[name], best)}"
        )
        body += "</tr>\n"
    return (
        "<h2>Leaderboard</h2>\n"
        f'<div class="wide"><table><thead><tr><th>name</th><th>mean place</th>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>{describe_unranked(wrong)}"
    )
