"""The modules that are commands and read a command line of their own."""

from pathlib import Path

from sluice.host.paths import ROOT

PATHS = sorted(
    path
    for pattern in ("tools/*/command.py",)
    for path in ROOT.glob(pattern)
    if "\nif __name__ == " in path.read_text()
)


def module(path: Path) -> str:
    """Return the dotted name of a module's file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)
