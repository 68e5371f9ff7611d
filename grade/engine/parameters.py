"""Vary the setting of a scenario: the disks' numbers, the drive, its size, and all names.

A submission might work only on a disk that it recognises as the graded one. So everything by which
it could recognise this disk varies. For each scenario the nonce chooses the numbers of the disks
among three to five, the data disk's drive, its size and the space before its files, the mount
point, and the names of files, folders and jobs. Tests use the scenario's names for all these, and
Run reports under the same names. Scenarios that are compared share one setting (Scenario.like).
"""

import re
from dataclasses import dataclass
from random import Random
from string import ascii_lowercase

MOUNT = "/data"
RAW = "/dev/disk1"  # the data disk itself, in a scenario's words
RAW_ROOT, RAW_BEACONS = "/dev/root", "/dev/beacons"  # the disk of programs, and the disk of beacons
SMALL_DRIVE = "fixed"  # drive of the disks for programs and for beacons
TURNING = ("rz57", "rz58", "lps540s", "st31230n", "hp97560")
DRIVES = (*TURNING, "fixed")
SPARES = 3  # a setting has fewer than this many disks in addition to the three
MOST_DISKS = 3 + SPARES - 1
PAD_KB = 1024  # the most space before the files
LONG = 8  # a name of at least this many letters keeps its length
PATH = re.compile(r"(?<![\w./-])/[\w./-]*")
JOB = re.compile(r"\b(name|until)=(\w+)")


@dataclass(frozen=True)
class Setting:
    """One setting. The default is that of scenarios which are not varied."""

    key: str = ""  # determines the new names; empty: names are not changed
    root: int = 0  # disks' numbers
    data: int = 1
    beacons: int = 2
    drives: tuple[str, ...] = (SMALL_DRIVE, "rz58", SMALL_DRIVE)  # by the disk's number
    pad_kb: int = 0  # size of a file before the others on the data disk

    def rename_word(self, name: str) -> str:
        """Return the name in this setting of a file, a folder or a job."""
        if not self.key:
            return name
        rng = Random(f"{self.key}/{name}")
        letters = len(name) if len(name) >= LONG else rng.randrange(4, LONG)
        return "".join(rng.choices(ascii_lowercase, k=letters))

    def rename_parts(self, path: str) -> str:
        """Return a path with each part under its name in this setting."""
        return "/".join(part and self.rename_word(part) for part in path.split("/"))

    def rename_path(self, path: str, files: frozenset[str]) -> str:
        """Return the path in the machine of a path in a scenario.

        Paths of the data disk, and of these files of the root disk, are renamed; others stay.
        """
        raw = {RAW: self.data, RAW_ROOT: self.root, RAW_BEACONS: self.beacons}
        if path in raw:
            return f"/dev/disk{raw[path]}"
        varied = path.startswith(f"{MOUNT}/") or path in files or path == MOUNT
        return self.rename_parts(path) if varied else path

    def rename_script(self, text: str, files: frozenset[str]) -> str:
        """Return the commands with all paths and jobs under their names in this setting."""
        text = PATH.sub(lambda match: self.rename_path(match[0], files), text)
        return JOB.sub(lambda match: f"{match[1]}={self.rename_word(match[2])}", text)

    def describe_names(self, files: list[str]) -> str:
        """Return lines that list the names that were chosen."""
        rows = [f"{MOUNT}: {self.rename_parts(MOUNT)}", f"the data disk: disk{self.data}"]
        rows += [f"the root disk: disk{self.root}", f"beacons: disk{self.beacons}"]
        rows += [f"disk{unit}: drive={drive}" for unit, drive in enumerate(self.drives)]
        return "\n".join([*rows, *(f"{path}: {self.rename_parts(path)}" for path in files)]) + "\n"


PLAIN = Setting()


def choose_setting(
    nonce: str,
    like: str,
    drives: tuple[str, ...],
    padded: bool,
    disk: int | None = None,
    spares: bool = True,
) -> Setting:
    """Return the setting that the nonce chooses for scenarios of this name.

    drives: the data disk's drive is one of these. padded: a file may lie before the others. disk:
    the data disk's number; None lets the nonce choose it. spares: there may be more disks than the
    three.
    """
    key = f"{nonce}/{like}"
    rng = Random(f"{key}/setting")
    more = rng.randrange(SPARES) * spares
    units = list(range(max(3 + more, (disk or 0) + 1)))
    models = [rng.choice(TURNING) for _ in units]
    rng.shuffle(units)
    if disk is not None:
        place = units.index(disk)
        units[1], units[place] = units[place], units[1]
    root, data, beacons = units[:3]
    models[root] = models[beacons] = SMALL_DRIVE
    models[data] = rng.choice(drives)
    pad_kb = rng.randrange(0, PAD_KB, 4) if padded else 0
    return Setting(key, root, data, beacons, tuple(models), pad_kb)
