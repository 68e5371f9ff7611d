"""Link words to the glossary: on each page, the first use of each word leads to it.

The words are those of pages/glossary.md, with the forms that stand below each other there. Titles,
links, code and the glossary itself stay as they are. A book without this page has no such links.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

PAGE = "glossary"
KEPT = (
    *(nodes.title, nodes.reference, nodes.literal, nodes.literal_block, nodes.raw),
    *(addnodes.pending_xref, addnodes.glossary, addnodes.toctree, nodes.term, nodes.rubric),
)
BLOCK = re.compile(r"^:::\{glossary\}\n(.*?)^:::", re.M | re.S)


def word_forms(text: str) -> dict[str, str]:
    """Return the first form of each word, by form.

    The forms are the lines of the glossary that are not indented.
    """
    found: dict[str, str] = {}
    for entry in re.split(r"\n\s*\n", BLOCK.search(text)[1].strip()):
        words = [line.strip() for line in entry.splitlines() if not line.startswith(" ")]
        found |= dict.fromkeys(words, words[0])
    return found


def form_pattern(known: dict[str, str]) -> re.Pattern[str]:
    """Return a pattern that matches a form, the longest first.

    Blanks may be ends of lines; a name may not go on.
    """
    longest = sorted(known, key=len, reverse=True)
    words = "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in longest)
    return re.compile(rf"(?<![\w.@/+=-])(?:{words})(?![\w@/+=-])")


def join_texts(doctree: nodes.document) -> None:
    """Join texts that follow each other, such as the lines of a paragraph, into one."""
    for parent in list(doctree.findall(nodes.TextElement)):
        joined: list[nodes.Node] = []
        for child in parent.children:
            if joined and isinstance(child, nodes.Text) and isinstance(joined[-1], nodes.Text):
                joined[-1] = nodes.Text(joined[-1].astext() + child.astext())
            else:
                joined.append(child)
        if len(joined) < len(parent.children):
            parent.children = []
            parent.extend(joined)


def linkable_texts(doctree: nodes.document) -> Iterator[nodes.Text]:
    """Yield the texts of a page in which words may become links."""
    for text in list(doctree.findall(nodes.Text)):
        above = text.parent
        while above is not None and not isinstance(above, KEPT):
            above = above.parent
        if above is None:
            yield text


def glossary_link(word: str, term: str, page: str) -> addnodes.pending_xref:
    """Return the node of a link to the glossary."""
    link = addnodes.pending_xref(
        "", refdomain="std", reftype="term", reftarget=term, refexplicit=True, refwarn=True
    )
    link["refdoc"] = page
    link += nodes.inline(word, word, classes=["word"])
    return link


def link_words(app: Sphinx, doctree: nodes.document) -> None:
    """Make the first use of each word on a page a link."""
    path = app.srcdir / f"{PAGE}.md"
    page = app.env.docname
    if page == PAGE or not path.exists():
        return
    known = word_forms(path.read_text(encoding="utf-8"))
    left = set(known.values())
    words = form_pattern(known)
    join_texts(doctree)
    for text in linkable_texts(doctree):
        parts, at, said = [], 0, text.astext()
        for match in words.finditer(said):
            term = known[re.sub(r"\s+", " ", match[0])]
            if term in left:
                left.remove(term)
                parts += [nodes.Text(said[at : match.start()]), glossary_link(match[0], term, page)]
                at = match.end()
        if parts:
            rest = [part for part in (*parts, nodes.Text(said[at:])) if part.astext()]
            text.parent.replace(text, rest)


def setup(app: Sphinx) -> None:
    """Register link_words for each page that is read."""
    app.connect("doctree-read", link_words)
