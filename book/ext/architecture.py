"""Read book/architecture.toml, and show its tables in ARCHITECTURE.md and in the book.

`python -m book.ext.architecture` puts the tables into ARCHITECTURE.md again.
"""

import re
import tomllib
from functools import cache

from book.ext.clang import head_comment
from book.ext.markdown import escape, format_table
from sluice.host.paths import ROOT

DATA = ROOT / "book/architecture.toml"
SHOWN = ROOT / "ARCHITECTURE.md"


@cache
def read_architecture() -> dict:
    """Return the rooms, kinds, packages and limits, each in the file's order."""
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


def list_tables() -> dict[str, str]:
    """Return the tables that ARCHITECTURE.md shows, by the name in the comment above each."""
    data = read_architecture()
    rooms = [[f"`kernel/{name}/`", about] for name, about in data["rooms"].items()]
    kinds = [
        [f"`{name}`", what, f"`{function}` in `{file}`"]
        for name, (what, file, function) in data["kinds"].items()
    ]
    packages = [[f"`{name}/`", about] for name, about in data["packages"].items()]
    limits = [[limit["what"], f"{limit['lines']:,}"] for limit in data["limit"]]
    return {
        "rooms": format_table(["room", "what it is"], rooms),
        "kinds": format_table(["kind", "its question", "asked by"], kinds),
        "packages": format_table(["package", "what it is"], packages),
        "limits": format_table(["what", "lines of code at most"], limits),
    }


def replace_tables(text: str) -> str:
    """Return a document with the table below each `<!-- table: NAME -->` made again."""
    for name, lines in list_tables().items():
        pattern = rf"(<!-- table: {name} -->\n\n)(?:\|.*\n)*"
        text = re.sub(pattern, lambda found, lines=lines: found[1] + lines, text)
    return text


def first_sentence(path: str) -> str:
    """Return the first sentence of a source's head comment, or nothing if it has none."""
    comment = " ".join(head_comment((ROOT / path).read_text(encoding="utf-8")).split())
    return re.split(r"(?<=.])\s", comment, maxsplit=1)[0].rstrip(".:;")


def describe_rooms() -> str:
    """Return the book's page about the kernel's rooms: every file, and what its head says first."""
    parts = [
        "# The rooms of the kernel\n",
        "The highest room comes first. A file calls and includes only what is in its own room or "
        "further down. {file}`ARCHITECTURE.md` has the map in short.\n",
    ]
    data = read_architecture()
    rooms = {f"kernel/{room}": about for room, about in data["rooms"].items()}
    for folder, about in {**rooms, **data["beside"]}.items():
        files = sorted(
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / folder).iterdir()
            if path.suffix in {".c", ".h", ".S"}
        )
        rows = [[f"{{file}}`{file}`", escape(first_sentence(file))] for file in files]
        parts.append(f"## `{folder}/`\n\n{about[0].upper()}{about[1:]}.\n")
        parts.append(format_table(["file", "its head begins"], rows))
    return "\n".join(parts)


if __name__ == "__main__":
    SHOWN.write_text(replace_tables(SHOWN.read_text(encoding="utf-8")), encoding="utf-8")
