"""Faults that are planted into the sources: what they are, and how a twin is built with one.

The faults are data (source_faults.toml). A place is sought by its text, so a change of the sources
that removes it is noticed. The changed file is compiled as `make` compiles it, and linked with the
objects of the tree, which stays as it is.
"""

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from sluice.crash.workloads import LONG
from sluice.host.paths import BUILT, CLONE, TREE

CATALOGUE = Path(__file__).with_suffix(".toml")
DISKS = ("files", "log", "journal", "image")
TWIN, MKFS = "build/twin", "build/mkfs"  # where the objects of the two programs are


class BadFault(Exception):
    """The error for a fault that cannot be planted; the text says which, and why."""


@dataclass(frozen=True)
class SourceFault:
    """A change of a source that the judges must find."""

    name: str
    kind: str
    about: str  # what the change does
    source: str  # who has reported this kind of mistake
    file: str
    edits: tuple[tuple[str, str], ...]  # pairs: the text that is sought, the text in its place
    workload: str  # in which it must be found
    on: str  # the kind of the disk
    block: str  # the size of its blocks

    def plant(self, text: str) -> str:
        """Return a file's text with the fault in it. Raises BadFault if a place is not there, or
        is there twice."""
        for old, new in self.edits:
            if (times := text.count(old)) != 1:
                said = f"{self.name}: {self.file} has {times} times, not once:\n{old}"
                raise BadFault(f"{said}\nsay in {CATALOGUE.name} where the place is now")
            text = text.replace(old, new)
        return text


def load_faults(path: Path = CATALOGUE) -> list[SourceFault]:
    """Return the faults of the catalogue; none in a student's tree, which has no catalogue, as it
    would show the answers of labs. Raises BadFault."""
    if not path.exists():
        return []
    faults = []
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]:
        try:
            edits = tuple((edit["old"], edit["new"]) for edit in row["edit"])
            words = {word: row[word] for word in ("name", "kind", "about", "source", "file")}
            workload = row.get("workload", "").format(LONG=LONG)
            place = row.get("on", DISKS[0])
            fault = SourceFault(
                **words, edits=edits, workload=workload, on=place, block=row.get("block", "4K")
            )
        except KeyError as error:
            raise BadFault(f"{path.name}: {row.get('name', row)} has no {error}") from None
        if place not in DISKS:
            raise BadFault(f"{path.name}: {fault.name}: on = {place!r}, not one of {DISKS}")
        faults.append(fault)
    return faults


def find_fault(name: str) -> SourceFault:
    """Return the fault of that name. Raises BadFault."""
    for fault in load_faults():
        if fault.name == name:
            return fault
    raise BadFault(f"{name}: there is no such fault in {CATALOGUE.name}")


def read_command(name: str) -> list[str]:
    """Return the words of a command with which `make` builds."""
    return (BUILT / name).read_text(encoding="utf-8").split()


def run_compiler(line: list[str], fault: SourceFault) -> None:
    """Run a compiler in the tree. Raises BadFault if it fails."""
    done = subprocess.run(line, cwd=TREE, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise BadFault(f"{fault.name}: the compiler refuses it:\n{done.stderr.strip()}")


def build_with(fault: SourceFault, folder: Path) -> Path:
    """Build the program that has the fault's file, the twin or mkfs, with the fault in it. Returns
    the program. folder: for what is built. Raises BadFault."""
    if not CLONE:
        raise BadFault("an installed package has no sources: use a clone of the tree")
    of_mkfs = fault.file.startswith("mkfs/")
    name, objects = ("mkfs", MKFS) if of_mkfs else ("twin", f"{TWIN}/{Path(fault.file).parent}")
    source, made = folder / Path(fault.file).name, folder / "changed.o"
    linker = read_command("mkfs.command" if of_mkfs else "twin/link.command")
    replaced = f"{objects}/{source.stem}.o"
    if replaced not in linker:
        raise BadFault(f"{fault.name}: {fault.file} is no part of {name}")
    source.write_text(
        fault.plant((TREE / fault.file).read_text(encoding="utf-8")), encoding="utf-8"
    )
    compiler = read_command("host.command" if of_mkfs else "twin/kernel.command")
    run_compiler([*compiler, "-w", "-c", "-o", str(made), str(source)], fault)
    line = [str(made) if word == replaced else word for word in linker]
    run_compiler([*line, "-o", str(folder / name)], fault)
    return folder / name
