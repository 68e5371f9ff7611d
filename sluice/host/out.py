"""OUT=, the place for what a command makes: whether it can be written is found out before the work.

What is made to find out is removed, so that a command that fails later leaves nothing.
"""

import tempfile
from contextlib import suppress
from pathlib import Path


class BadOut(ValueError):
    """A place that cannot be written; the text says which, and why."""


def expect_folder(out: Path, asked: Path | None = None) -> None:
    """Raise BadOut unless files can be made in a folder, which is made if it is not there. asked:
    what OUT= says, if it is not the folder."""
    new: list[Path] = []
    try:
        new = [folder for folder in (out, *out.parents) if not folder.exists()]
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise BadOut(
            f"OUT={asked or out}: nothing can be written there: {error.strerror}; give a place "
            "that can be written"
        ) from None
    finally:
        for folder in new:
            with suppress(OSError):
                folder.rmdir()


def expect_file(out: Path) -> None:
    """Raise BadOut unless a file can be made at this place."""
    expect_folder(out.parent, out)
    if out.is_dir():
        raise BadOut(f"OUT={out}: is a folder; give the name of a file")
