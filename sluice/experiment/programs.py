"""Decides which programs are on the root disk of a run.

Each program takes a line of /bin and a place on the disk, and moves the files behind it. So a disk
has the programs of BASE, and of others only those that the run's scripts name: a new program of the
tree changes no run that does not use it.
"""

import re
from collections.abc import Mapping

from sluice.experiment.files import program_hashes

BASE = frozenset({"init", "sh"})


def root_disk_programs(scripts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the programs that a run with these scripts has on its root disk."""
    words = {word for text in scripts.values() for word in re.findall(r"[\w.+-]+", text)}
    return tuple(name for name in program_hashes() if name in BASE | words)
