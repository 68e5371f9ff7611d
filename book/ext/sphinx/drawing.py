"""{drawing}: an SVG that stands in the page itself, so that it takes the page's colours.

Drawings use `currentColor` for lines and text, and colours that are seen on white and on black
for the rest.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sluice.host.paths import ROOT

PAGES = ROOT / "book" / "pages"


def inline_svg(svg: str, label: str) -> nodes.raw:
    """Return the node of a drawing.

    label: what the drawing shows, for readers who cannot see it.
    """
    body = svg[svg.index("<svg") :]
    words = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    body = re.sub(r"^<svg", f'<svg role="img" aria-label="{words}"', body, count=1)
    return nodes.raw("", f'<div class="drawing">{body}</div>', format="html")


class Drawing(SphinxDirective):
    """The directive {drawing}. Its argument is the file's name, its body the caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the figure's node."""
        path = PAGES / self.arguments[0]
        if not path.exists():
            raise self.error(f"there is no drawing {self.arguments[0]} in book/pages")
        self.env.note_dependency(str(path))
        figure = nodes.figure()
        paragraphs = self.parse_content_to_nodes()
        figure += inline_svg(
            path.read_text(encoding="utf-8"), " ".join(p.astext() for p in paragraphs)
        )
        caption = nodes.caption()
        for paragraph in paragraphs:
            caption += paragraph.children
        figure += caption
        return [figure]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("drawing", Drawing)
