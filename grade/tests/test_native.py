"""Policies, the cache and the disks on the host, under ASan and UBSan."""

import subprocess
from pathlib import Path

import pytest

from grade.host.limits import HANG_S
from grade.host.paths import NATIVE, ROOT

pytestmark = pytest.mark.native

# Programs of unit tests, by what they link; those of policies bring all policies with them.
MAIN, POLICIES = " * link: grade/native/main.c", " * link: grade/native/test.c"


def programs(*bases: str) -> list[str]:
    """The kinds KIND_test whose sources name one of these."""
    return sorted(
        path.stem.removesuffix("_test")
        for path in ROOT.glob("grade/native/*_test.c")
        if any(base in path.read_text() for base in bases)
    )


UNIT_TESTS = programs(MAIN, POLICIES)


def names(program: Path) -> list[str]:
    """The tests in a program of unit tests; collecting needs it built."""
    if not program.exists():
        return ["not_built"]
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()


def run(*words: str | Path) -> None:
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=HANG_S, cwd=ROOT, check=False
    )
    line = " ".join(str(word) for word in words)
    assert done.returncode == 0, f"{line}: status {done.returncode}\n{done.stdout}{done.stderr}"


CASES = [(kind, name) for kind in UNIT_TESTS for name in names(NATIVE / f"{kind}_test")]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[name for _, name in CASES])
def test_unit(kind: str, name: str) -> None:
    run(NATIVE / f"{kind}_test", name)


def test_every_counter_that_users_see_is_found_moved_by_some_test() -> None:
    unmoved = []
    for kind in programs(POLICIES):
        words = [NATIVE / f"{kind}_test", "--counters"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S, check=True)
        unmoved.append(set(done.stdout.split()))
    assert sorted(set.intersection(*unmoved)) == []
