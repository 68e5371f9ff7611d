"""Keep what is needed to make a graded run again: `sluice debug --graded` (rerun.py).

In addition to the trace and the images, a run's folder has machine.json, which describes the
machine that made the run (sluice/debug/launch.py), and about.json, which says where in that
machine's memory the trace was. A run whose disks are QEMU's own devices has neither, because a run
that is made again has RAM disks only.
"""

import json
from dataclasses import replace
from pathlib import Path

from sluice.debug import launch
from sluice.system.qemu import Config, Disk

ABOUT = "about.json"


def write_rerun_files(
    folder: Path, config: Config, fresh: list[Path], log: int, phys: int, records: int
) -> None:
    """Write the files with which a run can be made again.

    fresh: the images of its disks before the run.
    """
    (folder / ABOUT).write_text(json.dumps({"phys": phys, "records": records}), encoding="utf-8")
    for old in folder.glob("rr-*"):
        old.unlink()
    disks = tuple(Disk(path.resolve()) for path in fresh)
    launch.write(replace(config, disks=disks, kernel=config.kernel.resolve()), folder, log)


def debug_command(lab: str, run: str, event: int) -> str:
    """Return the command that stops a student's run of a lab at an event."""
    return f"bin/sluice debug --graded build/grade/{lab}/runs/{run} --at event:{event}"
