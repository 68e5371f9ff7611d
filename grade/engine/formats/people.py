"""Write the text for people that `make grade` prints.

On a terminal all lines are folded to its width, except for commands and compilers' lines, which
readers copy. In a file each sentence is one line, so that a search finds it.
"""

import textwrap

from grade.engine.formats import describe_for_student
from grade.engine.record import OURS, GroupResult, Outcome, Record
from sluice.experiment.aligned import format_table
from sluice.host import printing

FILE = "result.txt"
MARKS = {True: "ok", False: "--"}
COMMANDS = ("again:", "in gdb:")
UNDER = "      "  # the indentation of the lines below a test's title
NARROW = 60  # characters: a narrower terminal has less indentation below a title


def fold_lines(text: str, width: int | None, indent: str = "", hang: str = "") -> str:
    """Return the lines behind the indent, each folded to the width if one is given.

    hang: what stands between the indent and each continuation line. Commands are not folded.
    """
    folded = []
    for line in text.splitlines():
        if not width or len(indent + line) <= width or line.startswith(COMMANDS):
            folded.append(indent + line)
            continue
        parts = textwrap.wrap(
            indent + line,
            width,
            subsequent_indent=indent + hang,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        folded.append("\n".join(parts))
    return "\n".join(folded)


def test_details(test: Outcome, width: int | None) -> str:
    """Return the lines below a test's title."""
    narrow = width is not None and 0 < width < NARROW
    said = describe_for_student(test, test.reproduce, test.debug)
    if narrow and test.picture:
        said = said.replace(f"{' ' * 10}{test.picture}", test.picture)
    return fold_lines(said, width, "  " if narrow else UNDER, "  ")


def group_text(record: Record, group: GroupResult, width: int | None) -> str:
    """Return the lines about a group and its tests."""
    hidden = " (hidden)" if group.hidden else ""
    lines = [
        f"{group.name}{hidden}: {group.points:g} of {group.most:g}",
        fold_lines(group.about, width, "  "),
    ]
    for test in record.tests_of_group(group.name):
        head = f"{MARKS[test.has_all_points]}  {test.points:g} of {test.most:g}: {test.title}"
        lines.append(fold_lines(head, width, "  ", "    "))
        if not test.has_all_points or test.picture:
            lines.append(test_details(test, width))
    return "\n".join(lines)


def groups_text(record: Record, width: int | None) -> str:
    """Return a table of the groups and their points."""
    rows = [["group", "points", "of"]]
    for group in record.groups:
        name = group.name + (" (hidden)" if group.hidden else "")
        rows.append([name, f"{group.points:g}", f"{group.most:g}"])
    return "\n".join(format_table(rows, width=width or printing.PLAIN_WIDTH))


def describe_score(record: Record) -> str:
    """Return the points as a sentence."""
    if not record.has_score:
        return f"no score. {OURS}"
    said = f"{record.score:g} of {record.most:g} points"
    if record.late:
        said += f"; {record.late.describe()}, so that {record.counts:g} count"
    if record.not_here:
        said += f"; {record.not_here:g} more by hidden tests, which your instructor has"
    return said


def describe_cost(record: Record) -> str:
    """Return what the grading used of the host."""
    return f"{record.cost.cpu_s:g} s of a processor, {record.cost.peak_mb:g} MB"


def text(record: Record, width: int | None = None) -> str:
    """Return the whole result.

    width: the width of the terminal that shows the text; None for a file.
    """
    parts = [f"{record.lab}: {record.title}"]
    if record.status != "graded":
        parts.append(f"{record.status}:\n{fold_lines(record.message, width, UNDER[:4], '  ')}")
    else:
        parts += [group_text(record, group, width) for group in record.groups]
        parts += [groups_text(record, width)] if len(record.groups) > 1 else []
    last = [describe_score(record), f"NONCE={record.nonce} makes the same tests again"]
    return "\n\n".join([*parts, fold_lines("\n".join(last), width)]) + "\n"
