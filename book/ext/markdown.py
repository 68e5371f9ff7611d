"""Make Markdown of plain text: escaping, tables, the comments that our files open with."""

import re
from collections.abc import Iterable

SPECIAL = re.compile(r"([\\*_\[\]<>$#~{}|^])")
CODE = re.compile(r"`([^`\n]+)`")
WORD = re.compile(r"(?<![\w`])([A-Za-z]\w*(?:[_.]\w+)+(?:\(\))?|[\w./-]+/[\w.-]+\.\w+)(?![\w`])")


def escape(text: str) -> str:
    """Return text that shows as it is.

    Text in backquotes, and names with _ in them, are code.
    """
    found, at = [], 0
    for code in re.finditer(r"`[^`\n]+`|(?<![\w`])[A-Za-z]\w*_\w+(?:\(\))?(?!\w)", text):
        found.append(SPECIAL.sub(r"\\\1", text[at : code.start()]))
        found.append(f"`{code[0].strip('`')}`")
        at = code.end()
    return "".join(found) + SPECIAL.sub(r"\\\1", text[at:])


def code_block(text: str, language: str = "text") -> str:
    """Return text as a block of code."""
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{ticks}{language}\n{text}\n{ticks}\n"


def table_cell(text: str) -> str:
    """Return Markdown as a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split())) or " "


def format_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of cells that are Markdown."""
    heads = list(head)
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(map(table_cell, line)) + " |\n" for line in lines)


def is_literal(lines: list[str]) -> bool:
    """Return True if a part of a comment is indented, so that it is shown as it stands."""
    return all(line.startswith("  ") for line in lines)


def split_parts(comment: str) -> Iterable[list[str]]:
    """Yield the paragraphs, list items and indented parts of a comment."""
    for paragraph in re.split(r"\n\s*\n", comment):
        current: list[str] = []
        in_item = False
        for line in paragraph.splitlines():
            item = line.startswith("- ")
            goes_on = in_item and line.startswith("  ")  # a further line of a list item
            indented = line.startswith("  ") and not in_item
            changes = current and (item or indented != current[0].startswith("  "))
            if changes and not goes_on:
                yield current
                current = []
            in_item = item or goes_on
            current.append(line)
        if current:
            yield current


def format_comment(comment: str) -> str:
    """Return a comment as Markdown: paragraphs, lists, and indented parts as they stand.

    An indented part of one line is a paragraph unless it has columns or a formula.
    """
    found = []
    for lines in split_parts(comment):
        if lines[0].startswith("- "):
            found.append("- " + escape(" ".join(line.strip() for line in lines)[2:]) + "\n")
        elif is_literal(lines) and (len(lines) > 1 or "   " in lines[0].strip() or "=" in lines[0]):
            found.append(code_block("\n".join(line[2:].rstrip() for line in lines)))
        else:
            found.append(escape(" ".join(line.strip() for line in lines)) + "\n")
    return "\n".join(found)
