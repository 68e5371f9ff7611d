"""{lab}, {hints} and {example}: what the folder of a lab has, shown in the lab's chapter.

    {lab} NAME              where the lab's handout is, at the head of its chapter
    {hints} NAME            its hints, which open one by one
    {example} NAME before   the worked example, under the kernel that is handed out
    {example} NAME after    the same under the solution

A student's tree has one lab. There the chapters of the others say so in place of these.
"""

import re
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sluice.host.paths import ROOT

LABS = ROOT / "grade" / "labs"
TASK = re.compile(r"^## (.*)$", re.M)
BEFORE_AFTER = ("before", "after")
ELSEWHERE = (
    "The handout of this lab, its hints and its example are not here: your tree has another lab."
)


def is_tree_of_another_lab(folder: Path) -> bool:
    """Return True if this is a student's tree, with a lab other than this one."""
    return not folder.exists() and any(LABS.glob("*/reference.elf"))


def has_lab_of_another_tree(path: Path) -> bool:
    """Return True for a file of a lab that this student's tree does not have."""
    inside = path.relative_to(LABS).parts if path.is_relative_to(LABS) else ()
    return bool(inside) and is_tree_of_another_lab(LABS / inside[0])


def read_hints(folder: Path) -> str:
    """Return the hints without the page's head.

    Their headings become bold text, so that they are not sections of the chapter.
    """
    text = (folder / "hints.md").read_text(encoding="utf-8")
    return TASK.sub(r"**\1**", text[TASK.search(text).start() :])


class OfLab(SphinxDirective):
    """A directive whose argument names a lab."""

    required_arguments = 1
    optional_arguments = 1

    def make_nodes(self, folder: Path) -> list[nodes.Node]:
        """Return the nodes for a lab's folder."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return the nodes for the named lab."""
        folder = LABS / self.arguments[0]
        if is_tree_of_another_lab(folder):
            return [nodes.paragraph("", ELSEWHERE, classes=["not-measured"])]
        try:
            return self.make_nodes(folder)
        except OSError as error:
            raise self.error(f"{{{self.name}}}: {error.filename}: {error.strerror}") from None


class LabHead(OfLab):
    def make_nodes(self, folder: Path) -> list[nodes.Node]:
        title = tomllib.loads((folder / "lab.toml").read_text(encoding="utf-8"))["title"]
        place = folder.relative_to(ROOT)
        words = f"""This chapter is the background of the lab **{title}**. The task itself is in
{{file}}`{place}/handout.md`. {{ref}}`Hints <hints-{folder.name}>` are at the end of the chapter.
"""
        box = nodes.admonition("", classes=["lab"])
        box += nodes.title("", "The lab")
        box += self.parse_text_to_nodes(words)
        return [box]


class Hints(OfLab):
    def make_nodes(self, folder: Path) -> list[nodes.Node]:
        return self.parse_text_to_nodes(read_hints(folder))


class Example(OfLab):
    def make_nodes(self, folder: Path) -> list[nodes.Node]:
        """Return the text of before.txt or after.txt, as it stands."""
        which = self.arguments[1] if len(self.arguments) > 1 else ""
        if which not in BEFORE_AFTER:
            raise self.error(f"{{example}}: {which or 'nothing'}: say `before` or `after`")
        text = (folder / f"{which}.txt").read_text(encoding="utf-8").rstrip("\n")
        return [nodes.literal_block(text, text, language="text", classes=["example"])]


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("lab", LabHead)
    app.add_directive("hints", Hints)
    app.add_directive("example", Example)
