"""The files of experiments: NAME.toml in any folder of experiments/.

- A name means the file, whatever folder it is in. So a file may move to another folder, and its
  name, by which people and stored results know the experiment, stays.
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
