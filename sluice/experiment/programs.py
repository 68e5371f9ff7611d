"""Which programs are on the root disk of a run.

Each program takes a line of /bin and a place on the disk, and moves the files behind it. So a disk
has the programs of BASE, and of others only those that the run's scripts name: a new program of the
tree changes no run that does not use it.

BASE is all that was on every root disk when this rule was made. A smaller one would move the files
of all stored results; when these are all made again, `init` and `sh` are enough.
"""

import re
from collections.abc import Mapping

from sluice.experiment.files import programs

NAMES = """
    advise bench cat chmod churn cksum cmp cold contend cp date dd df du echo edit false grep head
    hexdump init iogen iostat kbuild kill latency ln ls mix mkdir mount mv policy poweroff ps pwd rm
    rmdir scribble seq sh sleep small sort stat sync tail tee test time touch true truncate umount
    uniq update uptime usertests wc xargs
"""
BASE = frozenset(NAMES.split())


def on_disk(scripts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the programs that a run with these scripts has on its root disk."""
    words = {word for text in scripts.values() for word in re.findall(r"[\w.+-]+", text)}
    return tuple(name for name in programs() if name in BASE | words)
