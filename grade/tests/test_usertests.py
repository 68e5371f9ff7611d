"""The tests that run inside: every system call, its errors, and no leaks."""

import re
from pathlib import Path

import pytest
from conftest import MakeImage, Run

from grade.machine import Disk
from grade.paths import DEBUG_KERNEL, KERNEL, ROOT

GROUPS = 4  # machines that share the tests
NAMES = re.findall(r"^TEST\((\w+)\)", (ROOT / "user/usertests.c").read_text(), re.M)

MACHINES = {
    "plain": {"kernel": KERNEL, "harts": 2},
    "one-hart": {"kernel": KERNEL, "harts": 1},
    "debug": {"kernel": DEBUG_KERNEL, "harts": 2},
    "16-buffers": {"kernel": DEBUG_KERNEL, "harts": 1, "args": "nbuf=16"},
}


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("machine", MACHINES)
def test_usertests(make_image: MakeImage, run_script: Run, machine: str, group: int) -> None:
    names = NAMES[group::GROUPS]
    second = Disk(make_image(programs=False))
    script = f"usertests {' '.join(names)}\n"
    result = run_script(script, disks=(second,), **MACHINES[machine])
    failed = [line for line in result.console.splitlines() if "FAIL" in line or "panic" in line]
    assert result.status == 0, "\n".join(failed) + "\n" + result.console[-2000:]


def test_a_wrong_name_is_an_error(run_script: Run) -> None:
    assert run_script("usertests no_such_test\n").status == 2


def test_there_are_tests(tmp_path: Path) -> None:
    assert len(NAMES) > 20
