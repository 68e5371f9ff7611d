"""{file} and {c}: links to files and functions of the tree, which must exist.

A student's tree has one lab. There a file of another lab is named, without a link.
"""

import os
import re
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from book.ext.inventory import file_text, tree_path
from book.ext.sphinx import labs
from sluice.host.paths import BUILD, ROOT

BOOK = BUILD / "book"  # the built pages, which contain the links
FOLDERS = ("kernel", "policies", "drives", "user", "mkfs")


@cache
def definitions() -> dict[str, list[Path]]:
    """Return the functions that C files define, and the static inline ones of headers.

    They are given by name, each with its files.
    """
    found: dict[str, list[Path]] = {}
    pattern = re.compile(r"^(?!static_assert)[a-z][\w \t*]*?\b\**(\w+)\([^;{]*\)\s*\n?\{", re.M)
    for folder in FOLDERS:
        for path in sorted(ROOT.glob(f"{folder}/**/*.[ch]")):
            for name in pattern.findall(file_text(path)):
                found.setdefault(name, []).append(path)
    return found


def find_definition(words: str) -> Path:
    """Return the file that defines a function. Raises LookupError.

    words: `name in FILE` if several files define it.
    """
    name, _, wanted = words.partition(" in ")
    paths = [path for path in definitions().get(name, []) if wanted in ("", tree_path(path))]
    if not paths:
        raise LookupError(f"no C file{f' {wanted}' if wanted else ''} defines a function {name}")
    if len(paths) > 1:
        several = ", ".join(map(tree_path, paths))
        raise LookupError(f"{name} is defined in {several}: write {{c}}`{name} in FILE`")
    return paths[0]


def relative_link(docname: str, path: Path) -> str:
    """Return the link from a page of the built book to a file of the tree.

    A published book has no tree beside it: there the links begin with the URL in the variable
    BOOK_SOURCES of the environment.
    """
    if sources := os.environ.get("BOOK_SOURCES"):
        return f"{sources}/{path.relative_to(ROOT).as_posix()}"
    return os.path.relpath(path, (BOOK / docname).parent)


class PlaceRole(SphinxRole):
    """A role that names a place of the tree."""

    def find(self) -> tuple[str, Path | None]:
        """Return what is shown, and where it leads. Raises LookupError if there is nothing."""
        raise NotImplementedError

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the link's node, and an error if the place does not exist."""
        try:
            shown, path = self.find()
        except LookupError as error:
            message = self.inliner.reporter.error(str(error.args[0]), line=self.lineno)
            return [nodes.literal(text=self.text)], [message]
        code = nodes.literal(text=shown)
        if path is None:
            return [code], []
        return [nodes.reference("", "", code, refuri=relative_link(self.env.docname, path))], []


class FileRole(PlaceRole):
    def find(self) -> tuple[str, Path | None]:
        path = ROOT / self.text
        if not path.exists():
            if labs.has_lab_of_another_tree(path):
                return self.text, None
            raise LookupError(f"the tree has no {self.text}")
        return self.text, path


class FunctionRole(PlaceRole):
    def find(self) -> tuple[str, Path]:
        return self.text.partition(" in ")[0], find_definition(self.text)


def setup(app: Sphinx) -> None:
    """Register the roles."""
    app.add_role("file", FileRole(), override=True)
    app.add_role("c", FunctionRole(), override=True)
