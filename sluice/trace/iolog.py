"""What both versions of fio's logs have in common (formats/fio2.py, formats/fio3.py)."""

from dataclasses import dataclass, field

from sluice.trace.stream import BOM, NO_DATA, Line, whole
from sluice.trace.units import place

HEAD = "fio version {} iolog"
WRITES = {"read": 0, "write": 1}
SYNCS = ("sync", "datasync", "sync_file_range")
TRIM = "trim"
OF_FILES = ("add", "open", "close", "unlink")
DISCARDS = "discards"


def begins(head: bytes, version: int) -> bool:
    """Whether the first line of what begins with these bytes is the head of this version."""
    line = head.removeprefix(BOM).lstrip().split(b"\n")[0]
    return line.decode(errors="replace").lower().split() == HEAD.format(version).split()


@dataclass
class Log:
    """The files that have appeared, by name."""

    files: dict[str, int] = field(default_factory=dict)

    def is_head(self, line: str, version: int) -> bool:
        """Whether a line is the head of this version. Raises ValueError for another version's."""
        words = line.lower().split()
        if words[:2] != ["fio", "version"]:
            return False
        if words != HEAD.format(version).split():
            raise ValueError(f"not the head {HEAD.format(version)!r}")
        return True

    def action(self, time_ns: int, file: str, action: str, rest: list[str]) -> Line:
        """What an action on a file is. rest: offset and length, or nothing. Raises ValueError."""
        word = action.lower()
        if not rest:
            if word in OF_FILES:
                return None
            raise ValueError(f"neither {', '.join(OF_FILES)} but {action!r}")
        at, size = whole(rest[0], "the offset"), whole(rest[1], "the length")
        if word in SYNCS:
            return NO_DATA
        if word == TRIM:
            return DISCARDS
        if word not in WRITES:
            raise ValueError(f"neither {', '.join((*WRITES, *SYNCS, TRIM))} but {action!r}")
        number = self.files.setdefault(file, len(self.files))
        return time_ns, place(number, at, size), size, WRITES[word]
