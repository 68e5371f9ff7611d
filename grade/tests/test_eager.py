"""Eager writing with a virtual log beside update in place, on models of the paper's drives.

No kernel runs: kernel/logical, policies/lib/nearest.c and the drive's model do, as the kernel is
to use them (eager_tool). The expectations are the shape of figure 8 of Wang, Anderson and Patterson
1999: eager writing rises gently with utilisation and stays below update in place. Gently: a time
to locate a place, of the two that a write needs, stays below one turn of the platters.
"""

import subprocess

import pytest

from grade.host.limits import HANG_S
from grade.host.paths import NATIVE

pytestmark = pytest.mark.native

PART = {"hp97560": (36, 60e6 / 4002), "st19101": (11, 60e6 / 10000)}  # cylinders, us a turn
USED = (30, 50, 70, 90)
WRITES = 4000


def measure(drive: str, how: str, used: int) -> dict[str, float]:
    """What eager_tool says; it fails if the map is not found again after the power is cut."""
    command = [NATIVE / "eager_tool", drive, str(PART[drive][0]), how, str(used), str(WRITES), "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    return dict(zip(words[::2], map(float, words[1::2]), strict=True))


@pytest.mark.parametrize("drive", PART)
def test_eager_writing_rises_gently_and_stays_below_update_in_place(drive: str):
    eager = [measure(drive, "eager", used)["us"] for used in USED]
    in_place = [measure(drive, "inplace", used)["us"] for used in USED]
    assert eager == sorted(eager)
    assert eager[-1] - eager[0] < 2 * PART[drive][1]
    assert all(e < p for e, p in zip(eager, in_place, strict=True))


@pytest.mark.parametrize("drive", PART)
def test_a_write_of_data_is_followed_by_little_more_than_one_of_the_map(drive: str):
    # At random, each of some 55 pieces seldom has more children than a sector has pointers.
    assert 1 <= measure(drive, "eager", 80)["maps"] < 1.05
