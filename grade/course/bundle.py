"""Build the archive from which Gradescope makes an autograder for one lab.

    setup.sh         run once, when the image is built
    run_autograder   run for each submission
    lab              the lab's name
    sluice/          this tree, sources only

The first two are in the folder gradescope/. The same tree makes the same archive.
Source: gradescope-autograders.readthedocs.io, "Autograder Specifications".
"""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from grade.definition.lab import BadLab, Lab
from grade.engine.tree import NOT_HANDED_OUT
from sluice.host.paths import ROOT

SCRIPTS = Path(__file__).with_name("gradescope")
TREE = "sluice"
WHEN = (2000, 1, 1, 0, 0, 0)  # time stamp of every file


def list_sources() -> Iterator[Path]:
    """Yield the source files of this tree, without anything that is built."""
    for here, folders, files in os.walk(ROOT):
        left_out = NOT_HANDED_OUT(here, [*folders, *files])
        folders[:] = sorted(set(folders) - left_out)
        yield from (Path(here) / name for name in sorted(set(files) - left_out))


def add_file(archive: zipfile.ZipFile, name: str, data: bytes, executable: bool = False) -> None:
    """Add a file to the archive."""
    info = zipfile.ZipInfo(name, WHEN)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100755 if executable else 0o100644) << 16
    archive.writestr(info, data)


def write_bundle(lab: Lab, out: Path) -> None:
    """Write the archive of a lab to `out`. Raises BadLab."""
    if lab.handed_out:
        raise BadLab(
            f"{lab.name}: a student's tree has no hidden tests, so it cannot make a grader"
        )
    if out.suffix != ".zip":
        raise BadLab(f"{out}: Gradescope needs a name that ends in .zip")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(out.name + ".part")
    with zipfile.ZipFile(part, "w") as archive:
        add_file(archive, "lab", f"{lab.name}\n".encode())
        for script in sorted(SCRIPTS.iterdir()):
            add_file(archive, script.name, script.read_bytes(), executable=True)
        for path in list_sources():
            name = f"{TREE}/{path.relative_to(ROOT).as_posix()}"
            add_file(archive, name, path.read_bytes(), os.access(path, os.X_OK))
    part.replace(out)
