"""Lay out pages and reference in one folder, and build the book from them with Sphinx.

The site is made beside the old one and takes its place at the end, so that a build that fails
leaves the old book.
"""

import fcntl
import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import docutils_namespace, patch_docutils

from book.ext import reference
from book.ext.inventory import BadSource
from book.ext.sphinx.places import BOOK
from sluice.experiment.result import BadResult
from sluice.host.paths import BUILD, ROOT
from sluice.host.scratch import hold_lock, scratch_folder

PAGES = ROOT / "book" / "pages"
TUNED = ROOT / "results" / "tune"  # tables that pages include
WORK = BUILD / "book-builds"  # what Sphinx reads, and what it makes; a folder for each build
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SETTINGS = {
    "project": "Sluice",
    "html_title": "The Sluice book",
    "extensions": ["myst_parser", "book.ext.sphinx"],
    "myst_enable_extensions": ["colon_fence", "deflist"],
    "myst_heading_anchors": 3,
    "html_theme": "furo",
    "html_static_path": ["_static"],
    "html_css_files": ["book.css"],
    "html_copy_source": False,
    "html_show_sourcelink": False,
    "html_show_search_summary": False,  # would fetch pages, which a browser refuses for file://
    "html_show_copyright": False,
    "html_show_sphinx": False,
    "html_domain_indices": False,
    "html_use_index": False,
    "nitpicky": True,
    "exclude_patterns": ["**/README.md", "tune/*"],
    "highlight_language": "text",
}


class BadBook(Exception):
    """Something is wrong with the pages; the text has a line for each mistake."""


def lay_out(work: Path, written: Path, made: dict[str, str]) -> Path:
    """Put all pages into one folder, those that people wrote and the reference; return it."""
    shutil.rmtree(work, ignore_errors=True)
    pages = work / "pages"
    shutil.copytree(written, pages)
    shutil.copytree(TUNED, pages / "tune")
    for name, text in made.items():
        path = pages / "reference" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return pages


def rephrase_warnings(said: str, pages: Path) -> list[str]:
    """Return Sphinx's warnings, each a line, with the path of the page that a person wrote."""
    found = []
    for line in COLOUR.sub("", said).splitlines():
        words = line.replace(f"{pages}/reference/", "reference/")
        words = words.replace(f"{pages}/", "book/pages/")
        if re.match(r"\S+\.md(:\d+)?: |WARNING|ERROR", words):
            found.append(words)
        elif found and words.strip():
            found[-1] += " " + words.strip()
    return found


def replace_site(made: Path, site: Path) -> None:
    """Replace the site by a new one. Builds that end together take turns."""
    old = made.with_name("old")
    site.parent.mkdir(parents=True, exist_ok=True)
    with hold_lock(site.parent, fcntl.LOCK_EX):
        if site.exists():
            site.rename(old)
        made.rename(site)
    shutil.rmtree(old, ignore_errors=True)


def build_site(
    site: Path = BOOK,
    work: Path = WORK / "alone",
    written: Path = PAGES,
    made: Callable[[], dict[str, str]] = reference.all_pages,
) -> None:
    """Build the book of written and made pages. Raises BadBook if one is not right."""
    try:
        pages = lay_out(work, written, made())
    except (BadSource, BadResult) as error:
        raise BadBook(str(error)) from None
    said = io.StringIO()
    out = work / "site"
    try:
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                *(pages, None, out, work / "doctrees", "html"),
                confoverrides=SETTINGS,
                status=None,
                warning=said,
            )
            app.build()
    except SphinxError as error:
        raise BadBook(f"{error}") from None
    wrong = rephrase_warnings(said.getvalue(), pages)
    if wrong or app.statuscode:
        raise BadBook("\n".join(wrong) or said.getvalue())
    replace_site(out, site)
    shutil.rmtree(work)


def build_in_own_folder(how: Callable[..., None] = build_site) -> None:
    """Build the book in a folder that no other build has."""
    with scratch_folder(WORK) as folder:
        how(work=folder / "book")
