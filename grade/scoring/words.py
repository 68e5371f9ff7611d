"""Makes a stranger's text fit to be shown: in a terminal, a page, a spreadsheet.

Names in an archive, the end of a console and a compiler's messages are a stranger's choice. They
may contain what moves a terminal's cursor, what is not UTF-8, or what a spreadsheet takes for a
formula.
"""

MOST = 4000  # characters
LINE_END = " / "  # in a cell
FORMULA = ("=", "+", "-", "@", "\t")


def printable(text: str, most: int = MOST) -> str:
    """The text in lines, with ? for invisible characters; a long text is cut to `most` of them."""
    cut = text if len(text) <= most else f"{text[:most]} ..."
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in cut)


def cell(text: str) -> str:
    """A cell that every spreadsheet takes for text, on one line, because tools that read a table
    line by line would take the rest of a compiler's message for rows. Source: OWASP, "CSV
    Injection"."""
    line = LINE_END.join(filter(None, (part.strip() for part in text.splitlines())))
    return f"'{line}" if line.startswith(FORMULA) else line
