"""A machine in virtual time, or its twin (sluice/twin/).

Tests of what the kernel decides run on the twin, which has the same sources, in a fraction of the
time. With FULL=1, and where the twin cannot be that machine, they run in the machine.
"""

import subprocess
from pathlib import Path

from whole import WHOLE

from sluice.experiment.load import load
from sluice.experiment.schema import Experiment
from sluice.experiment.selection import choose_engine
from sluice.host.limits import HANG_S
from sluice.system import qemu
from sluice.system.qemu import Config, Result
from sluice.twin import engine

ENGINE = "machine" if WHOLE or engine.host_refusal_reason() else "twin"  # of an experiment's runs


def run_rc(config: Config) -> Result:
    """Boot an image that has an /rc, and wait for the power-off that ends it."""
    if WHOLE or engine.refusal_reason(config, ""):
        return qemu.run_rc(config)
    with config.guest() as guest:
        twin = engine.start_twin(
            config, guest, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        console, _ = twin.communicate(timeout=HANG_S)
        guest.save()
    return Result(twin.returncode, console)


def load_experiment(path: Path) -> Experiment:
    """Return the experiment in a file, whose runs ENGINE makes. Raises BadExperiment."""
    return choose_engine(load(path), ENGINE)
