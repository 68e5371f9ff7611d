"""Eager writing with a virtual log beside update in place, on models of the paper's drives.

No kernel runs: kernel/vlog, policies/lib/nearest.c and the drive's model do, as the kernel
is to use them (eager_tool). The expectations are the shape of figure 8 of Wang, Anderson and
Patterson 1999: eager writing rises gently with utilisation and stays below update in place. Gently:
a time to locate a place, of the two that a write needs, stays below one turn of the platters.
"""

import subprocess

import pytest

from sluice.host.limits import HANG_S
from sluice.host.paths import NATIVE
from sluice.system import virtual_log

pytestmark = pytest.mark.native

PART = {"hp97560": (36, 60e6 / 4002), "st19101": (11, 60e6 / 10000)}  # cylinders, us a turn
PLACES = 36 * 19 * 72 // 8  # of the HP 97560's part
USED = (30, 50, 70, 90)
WRITES = 4000


def measure(drive: str, how: str, used: int) -> dict[str, float]:
    """Return the figures that eager_tool prints. It fails if the map is not found again after a
    power cut."""
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


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a disk on which 70 % of the blocks have been written, with the label that the host
    made."""
    path = tmp_path_factory.mktemp("eager") / "disk"
    path.write_bytes(virtual_log.encode_label(7, PLACES))
    command = [NATIVE / "eager_tool", "hp97560", "36", "eager", "70", "1000", "1", path]
    subprocess.run(command, timeout=HANG_S, check=True)
    return path.read_bytes().ljust(PLACES * virtual_log.PLACE, b"\0")


def test_a_reader_of_the_image_alone_finds_every_block(disk: bytes):
    found = virtual_log.read_logical_disk(disk)
    written = len(virtual_log.block_places(disk))
    assert written == len(found) // virtual_log.PLACE * 70 // 100
    for block in range(written):
        at = block * virtual_log.PLACE
        assert int.from_bytes(found[at : at + 4], "little") == block
    assert not any(found[written * virtual_log.PLACE :])


def test_the_reader_takes_no_damaged_image(disk: bytes):
    with pytest.raises(virtual_log.DamagedLogError, match="no label"):
        virtual_log.block_places(b"\1" + disk[1:])
    twice = bytearray(disk)
    for place in range(1, PLACES):  # one sector of the map, with two blocks in one place
        at = place * virtual_log.PLACE
        s = virtual_log.read_sector(disk[at : at + virtual_log.SECTOR])
        if s and 0 in s.entries:
            continue
        if s:
            data = bytearray(disk[at : at + virtual_log.SECTOR])
            data[-4:] = data[-8:-4]
            data[24:32] = (2**40).to_bytes(8, "little")
            data[8:16] = virtual_log.checksum(bytes(data)).to_bytes(8, "little")
            twice[at : at + virtual_log.SECTOR] = data
            break
    assert twice != disk
    with pytest.raises(virtual_log.DamagedLogError, match="contradicts"):
        virtual_log.block_places(bytes(twice))


@pytest.mark.parametrize("drive", PART)
def test_a_write_of_data_is_followed_by_little_more_than_one_of_the_map(drive: str):
    # At random, each of some 55 pieces seldom has more children than a sector has pointers.
    assert 1 <= measure(drive, "eager", 80)["maps"] < 1.05
