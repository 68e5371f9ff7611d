"""The disks of the lab `place`: a seed determines the disk, so that the solution and the submission
begin with the same one.

Fresh is a new disk with a virtual log, Grown one on which blocks were written, and Changed one of
which a function changes bytes.
"""

from dataclasses import replace
from random import Random

import pytest

from grade.labs.place.disks import DRIVE, Changed, Disk, Fresh, Grown, Lay
from sluice.system.virtual_log import PLACE

IMAGE = Random(1).randbytes(500 * PLACE)
SEED = 0.5


def change_bytes(disk: Disk) -> None:
    """Write other data at a random place."""
    disk.lay(disk.rng.randrange(1, disk.log.nslots), b"other")


@pytest.mark.native
@pytest.mark.parametrize(
    "lay",
    [
        Fresh(DRIVE, SEED),
        Fresh(DRIVE, SEED, free=12),
        Grown(DRIVE, SEED),
        Grown(DRIVE, SEED, tail=False),
        Changed(DRIVE, SEED, change_bytes),
    ],
    ids=["fresh", "nearly full", "grown", "cut", "changed"],
)
def test_a_seed_lays_out_the_same_disk_as_often_as_it_is_asked(lay: Lay) -> None:
    disk = lay(IMAGE)
    assert lay(IMAGE) == disk
    assert replace(lay, seed=SEED / 2)(IMAGE) != disk
