"""Find the files of experiments: NAME.toml in any folder of experiments/.

- A name identifies a file in any of the folders. So a file may move to another folder without a
  change of the name that people and stored results use.
- sets/ and tune/ hold no experiments: named sets of policies, and searches.
"""

from pathlib import Path

from sluice.host.paths import ROOT

EXPERIMENTS = ROOT / "experiments"
OTHERS = ("sets", "tune")


def experiment_files(folder: Path = EXPERIMENTS) -> list[Path]:
    """Return the files of all experiments, in the order of their names."""
    found = (
        path for path in folder.rglob("*.toml") if path.relative_to(folder).parts[0] not in OTHERS
    )
    return sorted(found, key=lambda path: (path.stem, path))
