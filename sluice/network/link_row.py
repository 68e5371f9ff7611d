"""Reads the row of a link from the kernel's source (kernel/link/row.h)."""

import re
from dataclasses import dataclass

from sluice.host.paths import ROOT

FOLDER = ROOT / "kernel" / "link"
FRAME_LEAST = 60  # bytes of a frame, as in kernel/driver/ethernet.h


@dataclass(frozen=True)
class LinkRow:
    """The figures of a link. Times are in ns."""

    byte_ns: int
    around_bytes: int
    gap_ns: int
    propagation_ns: int
    send_ns: int
    receive_ns: int

    def wire_ns(self, frame_bytes: int) -> int:
        """Return how long a frame occupies the wire."""
        return (max(frame_bytes, FRAME_LEAST) + self.around_bytes) * self.byte_ns


def read_link_row(name: str) -> LinkRow:
    """Return the row of a link. Raises ValueError if there is no such link."""
    for path in sorted(FOLDER.glob("*.c")):
        text = path.read_text(encoding="utf-8")
        if f"LINK({name}," in text:
            figures = {key: int(n) for key, n in re.findall(r"\.(\w+) = (\d+)", text)}
            return LinkRow(**figures)
    raise ValueError(f"link={name}: there is no such link in {FOLDER}")
