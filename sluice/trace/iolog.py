"""The common part of both versions of fio's logs (formats/fio2.py, formats/fio3.py)."""

from dataclasses import dataclass, field

from sluice.trace.stream import BOM, NO_DATA, Line, parse_whole
from sluice.trace.units import disk_place

HEAD = "fio version {} iolog"
WRITES = {"read": 0, "write": 1}
SYNCS = ("sync", "datasync", "sync_file_range")
TRIM = "trim"
OF_FILES = ("add", "open", "close", "unlink")
DISCARDS = "discards"


def begins_with_version(head: bytes, version: int) -> bool:
    """Return whether the first line of a file that begins with these bytes is the head of this
    version."""
    line = head.removeprefix(BOM).lstrip().split(b"\n")[0]
    return line.decode(errors="replace").lower().split() == HEAD.format(version).split()


@dataclass
class Log:
    """The files that have appeared in a log, by name."""

    files: dict[str, int] = field(default_factory=dict)

    def is_head(self, line: str, version: int) -> bool:
        """Return whether the line is the head of this version. Raises ValueError for the head of
        another version."""
        words = line.lower().split()
        if words[:2] != ["fio", "version"]:
            return False
        if words != HEAD.format(version).split():
            raise ValueError(f"not the head {HEAD.format(version)!r}")
        return True

    def parse_action(self, time_ns: int, file: str, action: str, rest: list[str]) -> Line:
        """Return the request of an action on a file, the reason why it is left out, or None. rest:
        offset and length, or nothing. Raises ValueError."""
        word = action.lower()
        if not rest:
            if word in OF_FILES:
                return None
            raise ValueError(f"neither {', '.join(OF_FILES)} but {action!r}")
        at, size = parse_whole(rest[0], "the offset"), parse_whole(rest[1], "the length")
        if word in SYNCS:
            return NO_DATA
        if word == TRIM:
            return DISCARDS
        if word not in WRITES:
            raise ValueError(f"neither {', '.join((*WRITES, *SYNCS, TRIM))} but {action!r}")
        number = self.files.setdefault(file, len(self.files))
        return time_ns, disk_place(number, at, size), size, WRITES[word]
