"""Workloads: all sequences of one and of two operations over a few files, and random longer ones.

After ACE, the generator of CrashMonkey (J. Mohan et al., "Finding Crash-Consistency Bugs with
Bounded Black-Box Crash Testing", OSDI 2018). A workload's name is that of its operations, as
`03+17`. The disk has some files before, made by SETUP and unmounted, and blocks that hold a removed
file's data. After its operations a workload waits until the update policy has written, and
unmounts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random

from sluice.crash.operations import BadOperation, Operation, describe, parse_operations

LONG = "a-name-so-long-that-few-are-in-a-sector-" + "x" * 60 + "-"
LONG_NAMES = 7  # in /d, which so takes several sectors
SETUP = parse_operations(
    "mount /; creat /old; write /old 0 200000 9; sync; unlink /old;"
    "mkdir /d; mkdir /e; creat /f; write /f 0 5000 1; creat /d/g; write /d/g 0 700 2;"
    "creat /h; write /h 0 9000 3; link /h /d/hard;"
    + "".join(f"creat /d/{LONG}{i};" for i in range(LONG_NAMES))
    + f"write /d/{LONG}0 0 600 4; write /d/{LONG}{LONG_NAMES - 1} 0 600 5; umount /"
)
# Each is one operation of an exhaustive campaign. {t}: the tag, which is the operation's place.
ALPHABET = tuple(
    f"""creat /n
creat /d/n
creat /e/n
mkdir /n
mkdir /d/n
mkdir /e/n
symlink short /n
symlink {"long-" * 16} /e/n
write /f 0 100 {{t}}
write /f 3000 4000 {{t}}
write /f 60000 100 {{t}}
write /d/g 200 300 {{t}}
write /n 0 6000 {{t}}
through /f 2000 3000 {{t}}
append /f 6000 {{t}}
append /d/g 300 {{t}}
append /h 100 {{t}}
truncate /f 0
truncate /f 1000
truncate /f 20000
truncate /h 5000
link /f /n
link /f /d/n
link /d/g /e/n
link /d/g /d/{LONG}n
unlink /f
unlink /d/g
unlink /h
unlink /d/hard
unlink /d/{LONG}0
rename /f /n
rename /f /d/n
rename /f /d/g
rename /f /h
rename /n /f
rename /d/g /d/n
rename /d/g /d/{LONG}n
rename /d/hard /h
rename /d/{LONG}0 /d/{LONG}{LONG_NAMES - 1}
rename /d/{LONG}{LONG_NAMES - 1} /d/g
rename /e /n
rename /e /d/e
rename /d /e
rmdir /e
rmdir /n
fsync /f
fsync /d/g
fsync /h
fsync /n
sync
fdatasync /f
fdatasync /n
store /f 3000 1500 {{t}}
store /f 4000 9000 {{t}}
store /f 60000 100 {{t}}
store /f 52000 100 {{t}}""".splitlines()
)
FIRST = parse_operations("mount /")
LAST = parse_operations("sleep 65000; umount /")  # twice the update policy's half minute


@dataclass(frozen=True)
class Workload:
    """Operations, by a name."""

    name: str
    operations: tuple[Operation, ...]

    def all_operations(self) -> tuple[Operation, ...]:
        """Return all that the machine does: the disk is mounted before and unmounted after."""
        return (*FIRST, *self.operations, *LAST)

    def __str__(self) -> str:
        return f"{self.name}: {describe(self.operations)}"


def make_workload(numbers: tuple[int, ...]) -> Workload:
    """Return the workload of these operations of the alphabet."""
    name = "+".join(f"{number:02}" for number in numbers)
    lines = [ALPHABET[number].format(t=10 + place) for place, number in enumerate(numbers)]
    return Workload(name, parse_operations("\n".join(lines)))


def find_workload(name: str) -> Workload:
    """Return the workload of a name, or of operations as text. Raises BadOperation."""
    if not name or any(char not in "0123456789+" for char in name):
        operations = parse_operations(name)
        if not operations:
            raise BadOperation(f"{name!r}: a workload has a name, as 03+17, or operations")
        return Workload(describe(operations), operations)
    numbers = tuple(int(part or "-1") for part in name.split("+"))
    wrong = [number for number in numbers if not 0 <= number < len(ALPHABET)]
    if wrong:
        raise BadOperation(f"{name!r}: operations have numbers from 00 to {len(ALPHABET) - 1}")
    return make_workload(numbers)


def all_workloads(length: int) -> Iterator[Workload]:
    """Yield all workloads of this number of operations."""
    for numbers in product(range(len(ALPHABET)), repeat=length):
        yield make_workload(numbers)


def random_workload(seed: int, length: int = 3) -> Workload:
    """Return the workload of a seed."""
    rng = Random(seed)
    return make_workload(tuple(rng.randrange(len(ALPHABET)) for _ in range(length)))


def moves_directory(operations: tuple[Operation, ...]) -> bool:
    """Return whether a workload may move a directory: then, before a mount, e2fsck -p may have to
    ask about two names of it (book/pages/inside/ext2.md, promise 2)."""
    made = {op.words[0] for op in operations if op.name == "mkdir"} | {"/d", "/e"}
    renames = [op.words for op in operations if op.name == "rename"]
    new_names = {new for _, new in renames}  # which may be of a directory
    return any(old in made or old in new_names for old, _ in renames)
