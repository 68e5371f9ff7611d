"""An experiment gives the same results if the tree is built anew while it runs.

Its runs use the kernel that was there at its beginning. A shell script in the place of QEMU holds
the first run back until the kernel has been changed and built.
"""

import os
import subprocess
from pathlib import Path

import pytest
from small_experiment import random_reads
from trees import copy_of_tree, make, plain_environment

from sluice.experiment import result
from sluice.host.limits import HANG_S

FILE = random_reads(
    "a build beside it changes nothing", 200, seeds=2, more='[plot]\ncolumns = ["read.mean_ms"]\n'
)
# A QEMU that waits, the first time it is to run a machine, until it is told to go on.
QEMU = """\
#!/bin/sh
case "$*" in
*-kernel*) mkdir first 2> /dev/null && { touch started; read word < go-on; } ;;
esac
exec qemu-system-riscv64 "$@"
"""
# A change of kernel/measure/cost.c that doubles the cost of computing.
SLOWER = ("clock_spend(cost_ns(", "clock_spend(2 * cost_ns(")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a built copy of the tree."""
    return copy_of_tree(tmp_path_factory.mktemp("rebuild"))


def command(tree: Path, folder: str) -> list[str]:
    """Return the command line that makes the experiment in a folder, one run at a time."""
    options = ["--jobs=1", "--no-report", "--engine=machine", f"--folder={tree / folder}"]
    return [f"{tree}/bin/sluice", "experiment", "run", *options, f"{tree}/two.toml"]


def wait_for(path: Path, process: subprocess.Popen) -> None:
    """Wait until the file is there. Fails if the process ends before."""
    while not path.exists():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)


def test_an_experiment_beside_a_build_gives_the_bytes_that_it_gives_alone(tree: Path):
    """The experiment stops at its first run, in a QEMU that waits, until the tree is built anew
    with a slower kernel; its results are still those of the old kernel."""
    (tree / "two.toml").write_text(FILE)
    subprocess.run(command(tree, "alone"), cwd=tree, check=True, timeout=HANG_S)
    (tree / "qemu").write_text(QEMU)
    (tree / "qemu").chmod(0o755)
    os.mkfifo(tree / "go-on")
    environment = plain_environment() | {"QEMU": f"{tree}/qemu"}
    with subprocess.Popen(command(tree, "beside"), cwd=tree, env=environment) as running:
        wait_for(tree / "started", running)
        costs = tree / "kernel/measure/cost.c"
        assert SLOWER[0] in costs.read_text()
        costs.write_text(costs.read_text().replace(*SLOWER))
        make(tree, "SETUP=no", "all")
        assert running.poll() is None, "or nobody would read what is written now"
        (tree / "go-on").write_text("now\n")
        assert running.wait(HANG_S) == 0
    alone, beside = (tree / name / "two/results.jsonl" for name in ("alone", "beside"))
    assert beside.read_bytes() == alone.read_bytes()
    # The same command now makes its runs with the new kernel, whose results differ.
    subprocess.run(command(tree, "beside"), cwd=tree, check=True, timeout=HANG_S)
    for old, new in zip(result.read(alone), result.read(beside), strict=True):
        assert old["key"] != new["key"] and old["kernel"] != new["kernel"]
        assert old["jobs"] != new["jobs"]
