"""{typed}: commands as they are typed at Sluice's shell, with what it answered.

All commands of a page are typed one after the other into one machine in virtual time
(book/ext/sessions.py), so that a page tells one story and its answers are the same on every
build. `:lines:` takes a number and shows only that many first lines of each answer, `:quiet:` none.
"""

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.ext import sessions

PROMPT = "sluice:/$ "


def cut_answer(answer: str, most: int | None) -> list[str]:
    """Return an answer's lines, at most the first `most`."""
    lines = answer.splitlines()
    if most is None or len(lines) <= most:
        return lines
    return [*lines[:most], f"... ({len(lines) - most} more lines)"]


class Typed(SphinxDirective):
    """The directive {typed}; see the head of the file."""

    has_content = True
    option_spec = {"lines": directives.nonnegative_int, "quiet": directives.flag}  # noqa: RUF012

    def answer(self) -> str:
        """Return what the machine answers to the page's next command."""
        number = self.env.current_document.get("typed", 0)
        self.env.current_document["typed"] = number + 1
        try:
            return sessions.page_answers(self.env.docname)[number]
        except sessions.Failed as error:
            raise self.error(f"{{typed}}: {error}") from None

    def run(self) -> list[nodes.Node]:
        """Return the node with the commands and their answers."""
        most = 0 if "quiet" in self.options else self.options.get("lines")
        shown = []
        for command in filter(str.strip, self.content):
            answer = self.answer()
            shown.append(PROMPT + command)
            shown += [] if "quiet" in self.options else cut_answer(answer, most)
        text = "\n".join(shown)
        return [nodes.literal_block(text, text, language="text", classes=["session"])]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("typed", Typed)
