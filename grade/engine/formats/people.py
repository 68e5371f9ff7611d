"""For people: what `make grade` prints.

On a terminal all lines fit, but for commands and compilers' lines, which are there to be copied. In
a file each sentence is one line, so that it can be searched for.
"""

import textwrap

from grade.engine.formats import shown
from grade.engine.record import OURS, GroupResult, Outcome, Record
from sluice.experiment.aligned import aligned
from sluice.host import printing

FILE = "result.txt"
MARKS = {True: "ok", False: "--"}
COMMANDS = ("again:", "in gdb:")
UNDER = "      "  # before what stands below a test's title
NARROW = 60  # characters: on a narrower terminal, what stands below a title begins with it


def folded(text: str, width: int | None, indent: str = "", hang: str = "") -> str:
    """Lines, each behind the indent, and continued behind the hang, too, where the width is given
    and less than the line's."""
    return "\n".join(
        "\n".join(
            textwrap.wrap(
                indent + line,
                width,
                subsequent_indent=indent + hang,
                break_on_hyphens=False,
                replace_whitespace=False,
            )
            if width and len(indent + line) > width and not line.startswith(COMMANDS)
            else [indent + line]
        )
        for line in text.splitlines()
    )


def below(test: Outcome, width: int | None) -> str:
    """What stands below a test's title."""
    narrow = bool(width) and width < NARROW
    said = shown(test, test.reproduce, test.debug)
    if narrow and test.picture:
        said = said.replace(f"{' ' * 10}{test.picture}", test.picture)
    return folded(said, width, "  " if narrow else UNDER, "  ")


def group_text(record: Record, group: GroupResult, width: int | None) -> str:
    """A group and its tests."""
    hidden = " (hidden)" if group.hidden else ""
    lines = [
        f"{group.name}{hidden}: {group.points:g} of {group.most:g}",
        folded(group.about, width, "  "),
    ]
    for test in record.of(group.name):
        head = f"{MARKS[test.passed]}  {test.points:g} of {test.most:g}: {test.title}"
        lines.append(folded(head, width, "  ", "    "))
        if not test.passed or test.picture:
            lines.append(below(test, width))
    return "\n".join(lines)


def groups_text(record: Record, width: int | None) -> str:
    """A table of the groups and their points."""
    rows = [["group", "points", "of"]]
    for group in record.groups:
        name = group.name + (" (hidden)" if group.hidden else "")
        rows.append([name, f"{group.points:g}", f"{group.most:g}"])
    return "\n".join(aligned(rows, width=width or printing.PLAIN_WIDTH))


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


def text(record: Record, width: int | None = None) -> str:
    """The whole result; width: of the terminal that shows it."""
    parts = [f"{record.lab}: {record.title}"]
    if record.status != "graded":
        parts.append(f"{record.status}:\n{folded(record.message, width, UNDER[:4], '  ')}")
    else:
        parts += [group_text(record, group, width) for group in record.groups]
        parts += [groups_text(record, width)] if len(record.groups) > 1 else []
    last = [score(record), f"NONCE={record.nonce} makes the same tests again"]
    return "\n\n".join([*parts, folded("\n".join(last), width)]) + "\n"
