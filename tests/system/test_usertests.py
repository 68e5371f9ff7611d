"""The tests that run inside: every system call, its errors, and no leaks.

The kernel with assertions runs them with 16 buffers, and has either one hart, or two harts and
disks under order=journal. FULL=1 also runs them with two harts and no journal. The program
usertests, in the machine, has the tests; here their names are dealt to GROUPS machines. Each run
makes all groups with the plain kernel, and draws a fourth of those with assertions.
"""

import re
from pathlib import Path

import pytest
from conftest import MakeImage, Run
from whole import WHOLE

from sluice.host.paths import DEBUG_KERNEL, KERNEL, ROOT
from sluice.system.qemu import Disk

GROUPS = 4  # machines that share the tests
SOURCES = sorted(ROOT.glob("user/usertests/*.c"))
NAMES = re.findall(r"^TEST\((\w+)\)", "".join(map(Path.read_text, SOURCES)), re.M)

MACHINES = {
    "plain": {"kernel": KERNEL, "harts": 2},
    "16-buffers": {"kernel": DEBUG_KERNEL, "harts": 1, "args": "nbuf=16"},
    "journal": {"kernel": DEBUG_KERNEL, "harts": 2, "args": "order=journal"},
    "debug": {"kernel": DEBUG_KERNEL, "harts": 2},
}
JOURNAL = ("--journal", "4M")
OTHERS = ("16-buffers", "journal", *(("debug",) if WHOLE else ()))
DRAWN = pytest.mark.drawn(4, among="others")
CHOSEN = ["plain", *(pytest.param(name, marks=DRAWN) for name in OTHERS)]


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("machine", CHOSEN)
def test_usertests(make_image: MakeImage, run_script: Run, machine: str, group: int) -> None:
    """The console has no line of a failed test or a panic, and the program's status is 0."""
    names = NAMES[group::GROUPS]
    options = JOURNAL if machine == "journal" else ()
    second = Disk(make_image(programs=False, options=options))
    script = f"usertests {' '.join(names)}\n"
    result = run_script(script, options=options, disks=(second,), **MACHINES[machine])
    failed = [line for line in result.console.splitlines() if "FAIL" in line or "panic" in line]
    assert result.status == 0, "\n".join(failed) + "\n" + result.console[-2000:]


def test_a_wrong_name_is_an_error(run_script: Run) -> None:
    assert run_script("usertests no_such_test\n").status == 2


def test_what_was_skipped_is_counted_and_what_it_needs_is_told(run_script: Run) -> None:
    """The second of the two tests needs a second disk, which this machine has not."""
    result = run_script(
        "usertests a_wrong_control_line_changes_nothing a_disk_in_use_is_not_unmounted\n"
    )
    assert result.status == 0
    assert "1 passed, 0 failed, 1 skipped\n" in result.console
    assert "  make qemu DISKS=build/disk1.img\n" in result.console


def test_there_are_tests(tmp_path: Path) -> None:
    assert len(NAMES) > 20
