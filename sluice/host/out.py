"""Check before the work that the place of --out can be written.

Files and folders that a check makes are removed, so that a command that fails later leaves nothing.
"""

import tempfile
from contextlib import suppress
from pathlib import Path


class BadOut(ValueError):
    """The error for a place that cannot be written; the text says which place, and why."""


def expect_folder(out: Path, asked: Path | None = None, option: str = "--out") -> None:
    """Raise BadOut unless files can be made in a folder; a missing folder must be possible to make.
    asked: the option's value, if it is not the folder."""
    new: list[Path] = []
    try:
        new = [folder for folder in (out, *out.parents) if not folder.exists()]
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise BadOut(
            f"{option}={asked or out}: nothing can be written there: {error.strerror}; give a "
            "place that can be written"
        ) from None
    finally:
        for folder in new:
            with suppress(OSError):
                folder.rmdir()


def expect_file(out: Path, option: str = "--out") -> None:
    """Raise BadOut unless a file can be made at this path."""
    expect_folder(out.parent, out, option)
    if out.is_dir():
        raise BadOut(f"{option}={out}: is a folder; give the name of a file")
