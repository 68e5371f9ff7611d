"""Policies, the cache and the disks on the host, under ASan and UBSan."""

import pytest
import units

from sluice.host.paths import ROOT

pytestmark = [pytest.mark.native, pytest.mark.check]

# Programs of unit tests, by what they link; those of policies bring all policies with them.
MAIN, POLICIES = " * link: tests/support/native/main.c", " * link: tests/support/native/test.c"


def programs(base: str) -> list[str]:
    """Return the programs of tests whose sources name this one."""
    paths = sorted(ROOT.glob("tests/**/*_test.c"))
    return [path.stem for path in paths if base in path.read_text()]


OF_POLICIES = programs(POLICIES)
TOGETHER = "native policies"  # what these programs find moved is told of all of them


@pytest.mark.parametrize(("program", "name"), units.of_programs(*programs(MAIN)))
def test_unit(program: str, name: str) -> None:
    units.expect_passed(program, name)


@pytest.mark.parametrize(("program", "name"), units.of_programs(*OF_POLICIES, group=TOGETHER))
def test_unit_of_policies(program: str, name: str) -> None:
    units.expect_passed(program, name)


@pytest.mark.xdist_group(TOGETHER)
def test_every_counter_that_users_see_is_found_moved_by_some_test() -> None:
    unmoved = [set(units.outcomes(program).unmoved) for program in OF_POLICIES]
    assert sorted(set.intersection(*unmoved)) == []
