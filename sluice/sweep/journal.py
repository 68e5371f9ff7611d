"""Store the figures of sweeps: a journal, from which a stopped sweep continues, and a table of each
sweep in Parquet.

The journal of an experiment has a line for each run: the figures that its file and the sweep name,
and as the key a hash of everything that determines them. So another sweep of the experiment does
not make the run again, either.
"""

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from sluice.experiment.files import (
    clear_hashes,
    hash_mkfs,
    hash_value,
    program_hashes,
    write_atomically,
)
from sluice.experiment.records import Unchecked
from sluice.experiment.run import FORM
from sluice.experiment.runner import code_hash, to_line
from sluice.experiment.schema import Run
from sluice.host.paths import BUILD, MKFS, ROOT_FOLDER
from sluice.twin.engine import PROGRAMS as TWIN_PROGRAMS
from sluice.twin.engine import TWIN, twin_hash

FOLDER = BUILD / "sweeps"
Figures = dict[str, float]  # by metric


Stamp = tuple[str, int, int]  # a file's name, when it was written, and its size


def build_stamps() -> tuple[Stamp, ...]:
    """Return the names, times and sizes of built files, which change with every build. Reading the
    files would take as long as a run."""
    built = [TWIN, MKFS, *TWIN_PROGRAMS.iterdir(), *ROOT_FOLDER.rglob("*")]
    found = ((str(path), path.stat()) for path in built)
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)


@lru_cache(maxsize=1)
def hash_of_build(_: tuple[Stamp, ...]) -> str:
    """Return the hash of all built files. They are read again after each new build."""
    clear_hashes()
    twin_hash.cache_clear()
    return hash_value([FORM, twin_hash(), hash_mkfs(), program_hashes(), code_hash()])


def tree_hash() -> str:
    """Return the hash of everything that all runs of a tree share: the built files, and the Python
    code as it was loaded."""
    return hash_of_build(build_stamps())


def figures_key(run: Run, of_tree: str) -> str:
    """Return a hash that is equal for runs with equal figures."""
    return hash_value([of_tree, run.config])[:32]


@dataclass
class Journal:
    """The figures of runs by key, in a file to which lines are appended."""

    path: Path
    rows: dict[str, Figures] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the figures of earlier runs."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        whole, end, part = text.rpartition("\n")
        if part:  # an incomplete last line, from a sweep that was killed
            write_atomically(self.path, whole + end)
        for line in whole.splitlines():
            row = json.loads(line)
            self.rows.setdefault(row["key"], {}).update(row["figures"])

    def find(self, key: str, metrics: list[str]) -> Figures | None:
        """Return the figures of a run if all of these metrics were measured, or None."""
        row = self.rows.get(key, {})
        return row if all(name in row for name in metrics) else None

    def add(self, key: str, figures: Figures) -> None:
        """Append a run's figures to the file."""
        self.rows.setdefault(key, {}).update(figures)
        with self.path.open("a", encoding="utf-8") as out:
            out.write(to_line({"key": key, "figures": figures}))


def write_table(path: Path, rows: list[Unchecked], about: dict[str, str]) -> None:
    """Write rows with equal names as Parquet. about: texts for the file's metadata, under the key
    `sluice`."""
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pylist(rows)
    table = table.replace_schema_metadata({"sluice": json.dumps(about)})
    part = path.with_suffix(".part")
    parquet.write_table(table, part)
    part.replace(path)
