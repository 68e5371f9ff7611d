"""Unit tests in C (tests/support/native/test.h): their names, and how they ended.

A program runs all its tests at once, each in its own process, because starting the program takes
longer than most tests. So the tests of one program belong to one worker. For mutants
(tools/mutants) each test is run separately, because the first failure suffices.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache

import pytest
from _pytest.mark import ParameterSet

from sluice.host.limits import HANG_S
from sluice.host.paths import NATIVE, ROOT
from tools.mutants.campaign import UNITS_ALONE

ENDED = re.compile(r"^@ (\w+)\n(.*?)^@ (\d+)$", re.M | re.S)


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of a program's tests. tests: exit status and output, by the test's name.
    unmoved: the policies' counters of which no test has read a value other than 0."""

    tests: dict[str, tuple[int, str]]
    unmoved: list[str]


@cache
def names(program: str) -> list[str]:
    """Return the tests in a program; collecting needs it built."""
    path = NATIVE / program
    if not path.exists():
        return ["not_built"]
    return subprocess.run([path], capture_output=True, text=True, check=True).stdout.split()


def run(program: str, test: str) -> subprocess.CompletedProcess[str]:
    """Run a test, or --all, and keep what it says."""
    return subprocess.run(
        [NATIVE / program, test],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=HANG_S,
        cwd=ROOT,
        check=False,
    )


@cache
def outcomes(program: str) -> Outcomes:
    """Run all tests of a program, once for each worker. Returns how they ended."""
    done = run(program, "--all")
    assert done.returncode == 0, done.stdout
    found = {match[1]: (int(match[3]), match[2]) for match in ENDED.finditer(done.stdout)}
    return Outcomes(found, ENDED.sub("", done.stdout).split())


def of_programs(*programs: str, group: str = "") -> list[ParameterSet]:
    """Return a parameter (program, name) for each test of these programs. group: of pytest-xdist,
    if all programs belong to one worker."""
    return [
        pytest.param(program, name, id=name, marks=pytest.mark.xdist_group(group or program))
        for program in programs
        for name in names(program)
    ]


def expect_passed(program: str, name: str) -> None:
    """Expect this test to have passed."""
    if os.environ.get(UNITS_ALONE):
        done = run(program, name)
        status, said = done.returncode, done.stdout
    else:
        status, said = outcomes(program).tests.get(name, (None, "it did not run"))
    assert status == 0, f"build/native/{program} {name}: status {status}\n{said}"
