"""Find the version of Sluice, the topmost in CHANGELOG.md, and the versions of other programs."""

import re
import subprocess
from functools import cache

from sluice.host.paths import ROOT

TOPMOST = re.compile(r"^## ([0-9]\S*)", re.M)


@cache
def version() -> str:
    """Return the version, as 0.4.0."""
    found = TOPMOST.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert found, "CHANGELOG.md has no version"
    return found[1]


def version_line(command: str) -> str:
    """Return the first line that a program prints about its version. Raises OSError or
    CalledProcessError."""
    return subprocess.run(
        [command, "--version"], capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout.splitlines()[0]
