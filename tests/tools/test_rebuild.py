"""An experiment beside a build gives the results that it gives alone."""

import os
import subprocess
from pathlib import Path

import pytest
from trees import copy_of_tree, make, plain_environment

from sluice.experiment import result
from sluice.host.limits import HANG_S

FILE = """\
claim = "a build beside it changes nothing"
source = "this test"
[machine.data]
drive = "rz58"
files = {"/read" = "4M"}
[[arms]]
name = "only"
[workload]
commands = "iogen name=read rw=randread filename=/data/read nr=200 seed={seed}"
[sweep]
seed = [1, 2]
[plot]
columns = ["read.mean_ms"]
"""
# A QEMU that waits, the first time it is to run a machine, until it is told to go on.
QEMU = """\
#!/bin/sh
case "$*" in
*-kernel*) mkdir first 2> /dev/null && { touch started; read word < go-on; } ;;
esac
exec qemu-system-riscv64 "$@"
"""
SLOWER = ("u64 clock_ns(void)\n{\n", "u64 clock_ns(void)\n{\n    csr_read(time);\n")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_tree(tmp_path_factory.mktemp("rebuild"))


def command(tree: Path, folder: str) -> list[str]:
    """Make the experiment, one run at a time, as the Makefile does."""
    words = ["-m", "sluice.host.snapshot", "-m", "sluice.cli.experiment"]
    options = ["--jobs=1", "--no-report"]
    return [f"{tree}/.venv/bin/python", *words, *options, f"--folder={tree / folder}", "two.toml"]


def wait_for(path: Path, process: subprocess.Popen) -> None:
    """Until there is the file, or the process has ended."""
    while not path.exists():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)


def test_an_experiment_beside_a_build_gives_the_bytes_that_it_gives_alone(tree: Path):
    (tree / "two.toml").write_text(FILE)
    subprocess.run(command(tree, "alone"), cwd=tree, check=True, timeout=HANG_S)
    (tree / "qemu").write_text(QEMU)
    (tree / "qemu").chmod(0o755)
    os.mkfifo(tree / "go-on")
    environment = plain_environment() | {"QEMU": f"{tree}/qemu"}
    with subprocess.Popen(command(tree, "beside"), cwd=tree, env=environment) as running:
        wait_for(tree / "started", running)
        clock = tree / "kernel/machine/clock.c"
        assert SLOWER[0] in clock.read_text()
        clock.write_text(clock.read_text().replace(*SLOWER))
        make(tree, "SETUP=no", "all")
        (tree / "go-on").write_text("now\n")
        assert running.wait(HANG_S) == 0
    alone, beside = (tree / name / "two/results.jsonl" for name in ("alone", "beside"))
    assert beside.read_bytes() == alone.read_bytes()
    subprocess.run(command(tree, "beside"), cwd=tree, check=True, timeout=HANG_S)
    for old, new in zip(result.read(alone), result.read(beside), strict=True):
        assert old["key"] != new["key"] and old["kernel"] != new["kernel"]
        assert old["jobs"] != new["jobs"]
    said = make(tree, "-n", "SETUP=no", "experiment").stdout
    assert "sluice.host.snapshot -m sluice.cli.experiment" in said
