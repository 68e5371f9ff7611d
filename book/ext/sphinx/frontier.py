"""{frontier}: what a power cut loses under each set of policies, beside what reads wait."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.ext import stored
from book.ext.sphinx.drawing import inline_svg
from book.ext.sphinx.measured import missing_note
from sluice.experiment.result import BadResult
from sluice.results import frontier


class Frontier(SphinxDirective):
    """The directive {frontier}. Its argument is a load of the experiment, its body the caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the figure's node. An unknown load raises an error with the page and line."""
        name, load = frontier.EXPERIMENT, self.arguments[0]
        if load not in frontier.LOADS:
            known = ", ".join(frontier.LOADS)
            raise self.error(f"{{frontier}}: {name} has no load {load}; it has {known}")
        if not stored.is_stored(name):
            return [missing_note([name])]
        try:
            svg = frontier.draw_frontier(stored.read_results(name), load)
        except BadResult as error:
            raise self.error(f"{{frontier}}: {error}") from None
        figure, caption = nodes.figure(), nodes.caption()
        paragraphs = self.parse_content_to_nodes()
        label = " ".join(paragraph.astext() for paragraph in paragraphs)
        figure += inline_svg(svg.replace(' role="img"', "", 1), label)
        for paragraph in paragraphs:
            caption += paragraph.children
        figure += caption
        return [figure]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("frontier", Frontier)
