"""Make the tree of all pages, beside each page, once for each folder of the book.

Sphinx copies the whole tree for every page, and furo parses it, which took two fifths of a build.
Pages of one folder have the same tree, but for the marks of the page itself and of what it lies in.
So furo gets the tree of a page that is not in it, and the marks are set afterwards.
"""

import re
from functools import cache, partial
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment.adapters.toctree import global_toctree_for_doc

TAG = re.compile(r'<(/?)(?:ul|li)(?: class="(toctree-l\d+)([^"]*)")?>')
SHOWN = "furo_navigation_tree"
BOX = ' class="toctree-checkbox"'
BEFORE_FURO, AFTER_FURO = 400, 600  # furo's own handler has 500


def name_outsider(page: str) -> str:
    """Return the name of a page that does not exist, in the folder of a page."""
    folder, slash, _ = page.rpartition("/")
    return f"{folder}{slash}no-such-page"


def mark_current(tree: str, uri: str) -> str:
    """Return furo's tree with the marks of the page that a link leads to, if it is in the tree."""
    link = f'<a class="reference internal" href="{uri}">'
    before, found, after = tree.partition(link)
    if not found:
        return tree
    around: list[re.Match[str]] = []
    for tag in TAG.finditer(before):
        if tag[1]:
            around.pop()
        else:
            around.append(tag)
    made = f'{before}<a class="current reference internal" href="#">{after}'
    for tag in reversed(around):
        inside = made[tag.end() :]
        if not tag[2]:
            opened = '<ul class="current">'
        else:
            page = " current-page" if tag is around[-1] else ""
            opened = f'<li class="{tag[2]} current{tag[3]}{page}">'
            if "has-children" in tag[3]:
                inside = inside.replace(BOX, f' checked=""{BOX}', 1)
        made = made[: tag.start()] + opened + inside
    return made


def setup(app: Sphinx) -> None:
    """Register the two handlers of a page's context."""

    @cache
    def render_tree(page: str, **options: Any) -> str:
        """Return the tree of pages as HTML, as it is beside this page."""
        tree = global_toctree_for_doc(app.env, page, app.builder, tags=app.tags, **options)
        return app.builder.render_partial(tree)["fragment"]

    def share_tree(_app: Sphinx, page: str, _name: str, context: dict[str, Any], _: object) -> None:
        """Give Furo the tree that all pages of a folder share."""
        context["toctree"] = partial(render_tree, name_outsider(page))

    def mark_page(_app: Sphinx, page: str, _name: str, context: dict[str, Any], _: object) -> None:
        """Mark this page in the tree that is shown beside it."""
        uri = app.builder.get_relative_uri(name_outsider(page), page)
        context[SHOWN] = mark_current(context[SHOWN], uri)

    app.connect("html-page-context", share_tree, BEFORE_FURO)
    app.connect("html-page-context", mark_page, AFTER_FURO)
