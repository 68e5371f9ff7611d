"""The modules that the Makefile starts: every command of Sluice."""

from pathlib import Path

from sluice.host.paths import ROOT

PATHS = sorted(
    path
    for pattern in ("*/cli/[!_]*.py", "tools/*/command.py", "book/ext/make.py")
    for path in ROOT.glob(pattern)
    if path.parts[len(ROOT.parts)] in ("sluice", "grade", "tools", "book")
)
PATHS.append(ROOT / "tools/bench/against_linux.py")


def module(path: Path) -> str:
    """Return the dotted name of a module's file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)
