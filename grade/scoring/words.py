"""A stranger's words, made fit to be shown: in a terminal, a page, a sheet.

Names in an archive, a console's end and a compiler's complaints are what somebody chose. They
may hold what moves a terminal's cursor, what UTF-8 has no bytes for, or what a spreadsheet
takes for a formula.
"""

MOST = 4000  # characters
FORMULA = ("=", "+", "-", "@", "\t")


def printable(text: str, most: int = MOST) -> str:
    """The text in lines, with ? for what cannot be seen; of a long one, so many characters."""
    cut = text if len(text) <= most else f"{text[:most]} ..."
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in cut)


def cell(text: str) -> str:
    """A cell of a sheet that is a text to every program. Source: OWASP, "CSV Injection"."""
    return f"'{text}" if text.startswith(FORMULA) else text
