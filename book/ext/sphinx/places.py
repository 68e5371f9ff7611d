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

from book.ext.inventory import place, text
from book.ext.sphinx import labs
from sluice.host.paths import BUILD, ROOT

BOOK = BUILD / "book"  # where the built pages are, from where links lead
FOLDERS = ("kernel", "policies", "drives", "user", "mkfs")


@cache
def definitions() -> dict[str, list[Path]]:
    """The functions that C files define, and the static inline ones of headers."""
    found: dict[str, list[Path]] = {}
    pattern = re.compile(r"^(?!static_assert)[a-z][\w \t*]*?\b\**(\w+)\([^;{]*\)\s*\n?\{", re.M)
    for folder in FOLDERS:
        for path in sorted(ROOT.glob(f"{folder}/**/*.[ch]")):
            for name in pattern.findall(text(path)):
                found.setdefault(name, []).append(path)
    return found


def defined_in(words: str) -> Path:
    """The file that defines a function; `name in FILE` where several files do. LookupError."""
    name, _, wanted = words.partition(" in ")
    paths = [path for path in definitions().get(name, []) if wanted in ("", place(path))]
    if not paths:
        raise LookupError(f"no C file{f' {wanted}' if wanted else ''} defines a function {name}")
    if len(paths) > 1:
        several = ", ".join(map(place, paths))
        raise LookupError(f"{name} is defined in {several}: write {{c}}`{name} in FILE`")
    return paths[0]


def link(docname: str, path: Path) -> str:
    """From a page of the built book to a file of the tree."""
    return os.path.relpath(path, (BOOK / docname).parent)


class PlaceRole(SphinxRole):
    """What both have."""

    def find(self) -> tuple[str, Path | None]:
        """What is shown, and where it leads. Raises LookupError if there is nothing."""
        raise NotImplementedError

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            shown, path = self.find()
        except LookupError as error:
            message = self.inliner.reporter.error(str(error.args[0]), line=self.lineno)
            return [nodes.literal(text=self.text)], [message]
        code = nodes.literal(text=shown)
        if path is None:
            return [code], []
        return [nodes.reference("", "", code, refuri=link(self.env.docname, path))], []


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
        return self.text.partition(" in ")[0], defined_in(self.text)


def setup(app: Sphinx) -> None:
    app.add_role("file", FileRole(), override=True)
    app.add_role("c", FunctionRole(), override=True)
