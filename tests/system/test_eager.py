"""Eager writing with a virtual log beside update in place, on models of the paper's drives.

No kernel runs. The program eager_tool links kernel/vlog, policies/lib/nearest.c and the drive's
model as the kernel uses them. Eager writing puts a block into the free place that the head reaches
first, and writes a sector of the map, which says where the block is. Update in place overwrites it.

The expectations are the shape of figure 8 of Wang, Anderson and Patterson 1999: the time of an
eager write rises gently with utilisation and stays below that of update in place. "Gently" means
that each of the two parts of a write, data and map, waits less than one rotation for its place.
"""

import subprocess

import pytest

from sluice.host.limits import HANG_S
from sluice.host.paths import NATIVE
from sluice.system import virtual_log

pytestmark = pytest.mark.native

# The part of each drive that the paper uses: cylinders, and us of a rotation (60e6 / rpm).
PART = {"hp97560": (36, 60e6 / 4002), "st19101": (11, 60e6 / 10000)}
PLACES = 36 * 19 * 72 // 8  # of the HP 97560's part: cylinders, heads, sectors; 8 for a place
USED = (30, 50, 70, 90)  # percent of the places
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
    """The fuller the drive, the longer a write takes: from 30 to 90 % by less than two rotations.
    At each fullness it takes less than an update in place."""
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
    """eager_tool writes each block's number into its first bytes. The host's reader finds them by
    the map that is on the disk; the other 30 % of the blocks are zeros."""
    found = virtual_log.read_logical_disk(disk)
    written = len(virtual_log.block_places(disk))
    assert written == len(found) // virtual_log.PLACE * 70 // 100
    for block in range(written):
        at = block * virtual_log.PLACE
        assert int.from_bytes(found[at : at + 4], "little") == block
    assert not any(found[written * virtual_log.PLACE :])


def test_the_reader_takes_no_damaged_image(disk: bytes):
    """First the label is damaged. Then a sector of the map is changed, so that two blocks are in
    one place. Its sequence number and checksum are made to fit, so that it is the newest one."""
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
    # The map has some 55 pieces. A write of data needs a second sector of the map only if a piece
    # has more children than a sector has pointers, which is rare with random writes.
    assert 1 <= measure(drive, "eager", 80)["maps"] < 1.05
