"""For people: what `make grade` prints."""

import textwrap

from grade.scoring.formats import shown
from grade.scoring.record import OURS, GroupResult, Record

FILE = "result.txt"
MARKS = {True: "ok", False: "--"}


def group_text(record: Record, group: GroupResult) -> str:
    """A group and its tests."""
    hidden = " (hidden)" if group.hidden else ""
    head = f"{group.name}{hidden}: {group.points:g} of {group.most:g}"
    lines = [head, textwrap.indent(textwrap.fill(group.about, 90), "  ")]
    for test in record.of(group.name):
        points = f"{test.points:g}/{test.most:g}"
        lines.append(f"  {MARKS[test.passed]} {points:>9}  {test.title}")
        if not test.passed or test.picture:
            lines.append(textwrap.indent(shown(test, test.reproduce, test.debug), " " * 15))
    return "\n".join(lines)


def score(record: Record) -> str:
    """The points."""
    if not record.scored:
        return f"no score. {OURS}"
    said = f"{record.score:g} of {record.most:g} points"
    if record.late:
        said += f"; {record.late.text()}, so that {record.counts:g} count"
    if record.not_here:
        said += f"; {record.not_here:g} more by hidden tests, which your instructor has"
    return said


def cost(record: Record) -> str:
    """What the grading took of the host."""
    return f"{record.cost.cpu_s:g} s of a processor, {record.cost.peak_mb:g} MB"


def text(record: Record) -> str:
    parts = [f"{record.lab}: {record.title}"]
    if record.status != "graded":
        parts.append(f"{record.status}:\n{textwrap.indent(record.message, '    ')}")
    else:
        parts += [group_text(record, group) for group in record.groups]
    last = f"{score(record)}   (NONCE={record.nonce})"
    return "\n\n".join([*parts, last]) + "\n"
