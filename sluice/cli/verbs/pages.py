"""sluice live, book: pages that open offline. sluice path: what to read, in order."""

import shutil
import sys
from typing import Annotated

import typer

from sluice.cli import options
from sluice.cli.verb import DRIVES, NONE, Needs, verb
from sluice.host import clone


@verb(
    Needs(("live",), ("all", "build/live/wasm/complete", *DRIVES)),
    "sluice live",
    "no page was written",
)
def live() -> int:
    """Write a page with the kernel in it: choose policies, a drive and a load, and see at once what
    they do."""
    from sluice.experiment.files import FOLDER, write_atomically
    from sluice.host.paths import BUILD
    from sluice.wasm.assembled import live_page

    FOLDER.mkdir(parents=True, exist_ok=True)
    out = BUILD / "live" / "index.html"
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, live_page())
    print(f"live: {out}")
    return 0


@verb(Needs(("book",), ("all", *DRIVES)), "sluice book", "the book that was there is unchanged")
def book(
    full: Annotated[bool, typer.Option("--full", help="First measure what it shows.")] = False,
    jobs: options.Jobs = options.JOBS,
) -> int:
    """Build the book as a site that opens offline, build/book/index.html."""
    from book.ext import make

    return make.make_book(full, jobs)


def path_names() -> list[str]:
    """Return the names of the reading paths."""
    from sluice.host.reading import read_paths

    return list(read_paths()) if clone.is_clone() else []


def list_paths() -> str:
    """Return a line for each path: its name, its question and its number of lines."""
    from sluice.host.reading import count_lines, read_paths

    return "\n".join(
        f"{name:8} {path.question} ({count_lines(path):,} lines)"
        for name, path in read_paths().items()
    )


@verb(Needs((), (), NONE), "sluice path order")
def path(
    name: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="One of the questions; without it, all are listed.",
            **options.completes("question", path_names),
        ),
    ] = "",
) -> int:
    """List the files and functions to read, in order, to answer a question about the kernel."""
    if not clone.is_clone():
        print("path: an installed package has no sources: use a clone", file=sys.stderr)
        return 2
    from sluice.host.reading import describe_path, read_paths

    if not name:
        print(list_paths())
        return 0
    print(describe_path(read_paths()[name], shutil.get_terminal_size().columns))
    return 0
