"""Policies, the cache and the disks on the host, under ASan and UBSan.

Each *_test.c is a program of unit tests. Here each unit test of each program is a test of its own.
The program also prints which counters its tests have moved.
"""

import pytest
import units

from sluice.host.paths import ROOT

pytestmark = [pytest.mark.native, pytest.mark.check]

# A line in the source of a program of unit tests. It says what the program is linked with. Programs
# with test.c have all policies in them.
MAIN, POLICIES = " * link: tests/support/native/main.c", " * link: tests/support/native/test.c"


def programs(base: str) -> list[str]:
    """Return the programs of tests whose sources name this one."""
    paths = sorted(ROOT.glob("tests/**/*_test.c"))
    return [path.stem for path in paths if base in path.read_text()]


OF_POLICIES = programs(POLICIES)
TOGETHER = "native policies"  # one worker runs all of these programs' tests


@pytest.mark.parametrize(("program", "name"), units.of_programs(*programs(MAIN)))
def test_unit(program: str, name: str) -> None:
    """A unit test of a program that is linked with main.c passes."""
    units.expect_passed(program, name)


@pytest.mark.parametrize(("program", "name"), units.of_programs(*OF_POLICIES, group=TOGETHER))
def test_unit_of_policies(program: str, name: str) -> None:
    """A unit test of a program that is linked with all policies passes."""
    units.expect_passed(program, name)


@pytest.mark.xdist_group(TOGETHER)
def test_every_counter_that_users_see_is_found_moved_by_some_test() -> None:
    """No counter is in every program's list of counters that did not move."""
    unmoved = [set(units.outcomes(program).unmoved) for program in OF_POLICIES]
    assert sorted(set.intersection(*unmoved)) == []
