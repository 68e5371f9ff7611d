"""The figures of all submissions of a class in one table, ordered by how good they are.

Columns are the visible tests that measure a figure. Rows are in the order of the mean place over
the columns. Figures that are printed alike share a place: two right solutions differ by a few
instructions. Above all rows stand the figures with all points, and with none.

Only a submission that is right elsewhere is ranked: one that has all points of the tests which
measure nothing, in whatever group, hidden groups too. Otherwise a wrong answer could lead: shortest
seek first has shorter response times than the elevator that a lab asks for. The others are named
below the table, with the groups where they lose.
"""

from html import escape
from statistics import mean

from grade.engine.assertions import figure
from grade.engine.record import Outcome, Record

Row = dict[str, float]  # by test


def measured(record: Record) -> dict[str, Outcome]:
    """The visible tests that measured a figure."""
    return {test.id: test for test in record.tests if test.value is not None and not test.hidden}


def wrong_in(record: Record) -> list[str]:
    """The groups where the submission loses points of a test that measures nothing."""
    lost = (test.group for test in record.tests if not test.measured and not test.passed)
    return list(dict.fromkeys(lost))


def place(value: float, column: list[float]) -> int:
    """The place of a figure among all; a smaller figure is better."""
    return 1 + sum(other < value for other in column)


def ranking(rows: dict[str, Row]) -> list[tuple[str, float]]:
    """The submissions that have every figure, with their mean places, the first first."""
    columns = {test: [row[test] for row in rows.values()] for row in rows.values() for test in row}
    places = {
        name: mean(place(value, columns[test]) for test, value in row.items())
        for name, row in rows.items()
    }
    return sorted(places.items(), key=lambda item: (item[1], item[0]))


def cells(values: Row, best: Row) -> str:
    """The cells of a row. The best of a column stands out."""
    return "".join(
        f"<td>{f'<b>{figure(value)}</b>' if value == best.get(test) else figure(value)}</td>"
        for test, value in values.items()
    )


def not_ranked(wrong: dict[str, list[str]]) -> str:
    """A paragraph about submissions that are not right, with the groups where they lose."""
    if not wrong:
        return ""
    each = "; ".join(f"{name} ({', '.join(groups)})" for name, groups in wrong.items())
    return (
        '<p class="about">Not ranked, because they lose points in groups that decide whether a '
        f"solution is right: {escape(each)}.</p>"
    )


def table(records: dict[str, Record]) -> str:
    """The table; empty if nothing was measured."""
    found = {name: measured(record) for name, record in records.items()}
    tests = max(found.values(), key=len, default={})
    if not tests:
        return ""
    whole = {name: row for name, row in found.items() if row.keys() == tests.keys()}
    wrong = {name: groups for name in whole if (groups := wrong_in(records[name]))}
    rows = {
        name: {test: float(figure(outcome.value)) for test, outcome in row.items()}
        for name, row in whole.items()
        if name not in wrong
    }
    best = {test: min((row[test] for row in rows.values()), default=None) for test in tests}
    head = "".join(f"<th>{escape(f'{t.title} ({t.unit})')}</th>" for t in tests.values())
    body = ""
    for name, at in (("all points up to", "full"), ("none from", "none")):
        limits = {test: getattr(outcome, at) for test, outcome in tests.items()}
        body += f'<tr class="say"><td>{name}</td><td></td>{cells(limits, {})}</tr>\n'
    for name, mean_place in ranking(rows):
        body += f"<tr><td>{escape(name)}</td><td>{mean_place:.1f}</td>{cells(rows[name], best)}"
        body += "</tr>\n"
    return (
        "<h2>Leaderboard</h2>\n"
        f'<div class="wide"><table><thead><tr><th>name</th><th>mean place</th>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>{not_ranked(wrong)}"
    )
