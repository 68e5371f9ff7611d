"""Find out how much memory this machine has."""

import math
import re
from pathlib import Path

SAID = re.compile(r"^MemAvailable: *(\d+) kB$", re.MULTILINE)
INFO = Path("/proc/meminfo")


def available_bytes(info: Path = INFO) -> float:
    """Return the bytes of memory that programs can have without swapping; infinity if Linux does
    not report them."""
    found = SAID.search(info.read_text(encoding="utf-8")) if info.exists() else None
    return int(found[1]) * 1024 if found else math.inf
