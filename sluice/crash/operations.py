"""Operations of a workload, as text: one a line, as sluice/programs/crashops.c does them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOUNTED = "/mnt"  # where the machine mounts the disk; operations name files from its root
WORKERS = "123456789"  # processes that may be at work at once
TEXT_BYTES = 8 << 10  # of a workload at most, as in crashops.c
# For each operation, the kind of each word behind it: a path, a number, or text.
WORDS: dict[str, tuple[str, ...]] = {
    "creat": ("path",),
    "write": ("path", "number", "number", "number"),
    "through": ("path", "number", "number", "number"),
    "append": ("path", "number", "number"),
    "truncate": ("path", "number"),
    "link": ("path", "path"),
    "symlink": ("text", "path"),
    "unlink": ("path",),
    "rename": ("path", "path"),
    "mkdir": ("path",),
    "rmdir": ("path",),
    "fsync": ("path",),
    "fdatasync": ("path",),
    "store": ("path", "number", "number", "number"),  # write, and fdatasync
    "sync": (),
    "sleep": ("number",),
    "mount": ("path",),
    "umount": ("path",),
    "read": ("path",),
    "hold": ("path",),  # open a file, which so may lose its names and stay
    "grow": ("number", "number"),  # append to the file that is held
    "drop": (),  # close it
    "fault": ("text", "number", "number"),  # of the disk: its kind, after, count (watch.h)
    "order": ("text",),  # put this order policy to use
}


class BadOperation(ValueError):
    """The error for text that is no operation."""


@dataclass(frozen=True)
class Operation:
    """A system call of a workload: its name and its words. Paths begin at the disk's root. worker:
    the process that does it while others do theirs, from 1; 0: no other is at work."""

    name: str
    words: tuple[str, ...]
    worker: int = 0

    def __str__(self) -> str:
        return self.prefix() + " ".join((self.name, *self.words))

    def prefix(self) -> str:
        """Return what says the worker, as `2: `."""
        return f"{self.worker}: " if self.worker else ""

    def number(self, i: int) -> int:
        """Return the number that is the operation's i-th word."""
        return int(self.words[i])

    def line(self) -> str:
        """Return the operation as the machine gets it, with the disk mounted at MOUNTED."""
        kinds = WORDS[self.name]
        words = (
            MOUNTED + word.rstrip("/") if kind == "path" else word
            for kind, word in zip(kinds, self.words, strict=True)
        )
        return self.prefix() + " ".join((self.name, *words))


def parse_operation(text: str) -> Operation:
    """Return the operation that the text is. Raises BadOperation, which says what is wrong."""
    first, colon, rest = text.partition(":")
    worker = int(first) if colon and first in WORKERS else 0
    name, *words = (rest if worker else text).split() or [""]
    kinds = WORDS.get(name)
    if kinds is None:
        raise BadOperation(
            f"{text!r}: there is no operation {name!r}; give one of {', '.join(WORDS)}"
        )
    if len(words) != len(kinds):
        raise BadOperation(
            f"{text!r}: {name} takes {len(kinds)} words ({', '.join(kinds) or 'none'})"
        )
    for kind, word in zip(kinds, words, strict=True):
        if kind == "path" and not word.startswith("/"):
            raise BadOperation(f"{text!r}: the path {word!r} must begin with /")
        if kind == "number" and not (word.isascii() and word.isdigit()):
            raise BadOperation(f"{text!r}: {word!r} is no number")
    return Operation(name, tuple(words), worker)


def parse_operations(text: str) -> tuple[Operation, ...]:
    """Return the operations of a text in which `;` or a line's end separates them."""
    parts = (part.strip() for part in text.replace("\n", ";").split(";"))
    return tuple(parse_operation(part) for part in parts if part)


def machine_text(operations: Iterable[Operation]) -> bytes:
    """Return the text that crashops reads. Raises BadOperation if it is too long."""
    text = "".join(op.line() + "\n" for op in operations).encode()
    if len(text) > TEXT_BYTES:
        raise BadOperation(f"the workload has {len(text)} bytes; {TEXT_BYTES} is the most")
    return text


def describe(operations: Sequence[Operation]) -> str:
    """Return operations on one line, which parse_operations reads."""
    return "; ".join(map(str, operations))


def pattern(at: int, size: int, tag: int) -> bytes:
    """Return the data of a write of `size` bytes at the byte `at` of a file: each sector consists
    of one letter, which depends on the tag and the sector's number."""
    first, end = at // 512, (at + size + 511) // 512  # sectors
    letters = [ord("a") + (7 * tag + sector) % 26 for sector in range(first, end)]
    whole_sectors = b"".join(bytes([letter]) * 512 for letter in letters)
    begin = at - first * 512  # in the first sector
    return whole_sectors[begin : begin + size]
