"""What sweeps have measured, kept: a journal, from which a sweep that was stopped goes on, and the
table of each sweep in Parquet.

The journal of an experiment has a line for each run, with all figures that its file and the sweep
name, under a hash of all that decides about them. So a run is not made again by another sweep of
the same experiment, either.
"""

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from sluice.experiment.files import forget, hash_of, hash_of_mkfs, programs, write_whole
from sluice.experiment.run import FORM
from sluice.experiment.runner import code_hash, to_line
from sluice.experiment.schema import Run
from sluice.host.paths import BUILD, MKFS, ROOT_FOLDER
from sluice.twin.engine import COSTS, TWIN, twin_hash
from sluice.twin.engine import PROGRAMS as TWIN_PROGRAMS

FOLDER = BUILD / "sweeps"
Figures = dict[str, float]  # by metric


Stamp = tuple[str, int, int]  # a file's name, when it was written, and its size


def stamps() -> tuple[Stamp, ...]:
    """What tells that something was built again: to read it all would take as long as a run."""
    built = [TWIN, COSTS, MKFS, *TWIN_PROGRAMS.iterdir(), *ROOT_FOLDER.rglob("*")]
    found = ((str(path), path.stat()) for path in built)
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)


@lru_cache(maxsize=1)
def hash_at(_: tuple[Stamp, ...]) -> str:
    """The hash of what is built, read anew."""
    forget()
    twin_hash.cache_clear()
    return hash_of([FORM, twin_hash(), hash_of_mkfs(), programs(), code_hash()])


def tree_hash() -> str:
    """The hash of what all runs of a tree have in common: of what is built now, and of the code as
    it was loaded."""
    return hash_at(stamps())


def key_of(run: Run, of_tree: str) -> str:
    """A hash that is equal for runs with equal figures."""
    return hash_of([of_tree, run.config])[:32]


@dataclass
class Journal:
    """The figures of runs by their keys, in a file to which lines are added."""

    path: Path
    rows: dict[str, Figures] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        whole, end, part = text.rpartition("\n")
        if part:  # the last line of a sweep that was killed
            write_whole(self.path, whole + end)
        for line in whole.splitlines():
            row = json.loads(line)
            self.rows.setdefault(row["key"], {}).update(row["figures"])

    def find(self, key: str, metrics: list[str]) -> Figures | None:
        """The figures of a run, if all of these were measured."""
        row = self.rows.get(key, {})
        return row if all(name in row for name in metrics) else None

    def add(self, key: str, figures: Figures) -> None:
        """Keep a run's figures."""
        self.rows.setdefault(key, {}).update(figures)
        with self.path.open("a", encoding="utf-8") as out:
            out.write(to_line({"key": key, "figures": figures}))


def write_table(path: Path, rows: list[dict], about: dict[str, str]) -> None:
    """Write rows with equal names as Parquet. about: what is told of them, in the file's metadata
    under `sluice`."""
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pylist(rows)
    table = table.replace_schema_metadata({"sluice": json.dumps(about)})
    part = path.with_suffix(".part")
    parquet.write_table(table, part)
    part.replace(path)
