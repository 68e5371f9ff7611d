"""Write the head of every page. A page is one file, and may load nothing."""

from html import escape
from pathlib import Path
from string import Template

TEMPLATE = Path(__file__).with_name("head.html")
NOTHING = ("default-src 'none'", "style-src 'unsafe-inline'")
SCRIPT = "script-src 'unsafe-inline'"
DRAWN = f"{SCRIPT} 'unsafe-eval'"  # for interactive figures, because Vega compiles expressions
PICTURES = "img-src data:"


def page_head(title: str, style: str, *may: str) -> str:
    """Return the part of a page before its body.

    may: further permissions of the page, as directives of a Content-Security-Policy.
    """
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(title), style=style, policy="; ".join([*NOTHING, *may])
    )
