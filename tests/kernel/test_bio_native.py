"""The buffer cache and disk queue on the host, against a model, under ASan and UBSan.

The program bio_test (cache/bio_test.c) does random operations on the kernel's cache, above disks in
memory. It compares each block with a model, and ends with the counts of failed writes and of blocks
that were lost.
"""

import os
import subprocess

import pytest

from sluice.host.limits import HANG_S

pytestmark = [pytest.mark.native, pytest.mark.check]
SEEDS = range(1, 1 + int(os.environ.get("SLUICE_SEEDS", "6")))


@pytest.fixture(scope="session")
def bio_test(native):
    """Return the path of the program."""
    return native("bio_test")


def run(program, seed: int, steps: int, buffers: int, fail_permille: int) -> str:
    """Run so many random operations, drawn by a seed, on a cache of so many buffers. Of 1000 writes
    fail_permille fail. Returns what the program prints."""
    command = [program, str(seed), str(steps), str(buffers), str(fail_permille)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stderr}"
    return result.stdout


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("buffers", [16, 64, 900])
def test_cache_keeps_its_invariants_and_loses_no_block(bio_test, seed, buffers):
    assert "0 failed, 0 lost" in run(bio_test, seed, 15000, buffers, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_failed_writes_keep_their_data(bio_test, seed):
    out = run(bio_test, seed, 15000, 300, 30)
    assert " 0 failed" not in out
    assert "0 lost" in out
