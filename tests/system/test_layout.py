"""Where the kernel's allocator puts files, under indirect=near and indirect=far."""

import pytest

from sluice.system import image
from sluice.system.qemu import Config, Disk, run_rc

# A group can hold the 16 MiB to which one block of pointers points. So if a file continues in
# another group, that is not because its own group is full.
BLOCKS_OF_GROUP = 4096  # of 8 KiB in 32 MiB
OPTIONS = ("--group", "32M")


@pytest.fixture
def blocks(make_image):
    """blocks("far"): those of a file of 96 KiB, and of one of 17 MiB that the kernel wrote."""

    def write(indirect: str) -> tuple[list[int], list[int]]:
        script = """set -e
        dd if=/dev/zero of=/small bs=8k count=12
        dd if=/dev/zero of=/large bs=8k count=2176
        """
        path = make_image(rc=script, block="8K", size="256M", options=OPTIONS)
        result = run_rc(Config((Disk(path),), args=f"indirect={indirect} check=1"))
        assert result.status == 0, result.console
        small, large = (
            [int(word) for word in image.debugfs(path, f"blocks {name}").split()]
            for name in ("/small", "/large")
        )
        assert (len(small), len(large)) == (12, 2176 + 3)
        return small, large

    return write


def in_a_row(blocks: list[int]) -> bool:
    return blocks == list(range(blocks[0], blocks[0] + len(blocks)))


def test_near_a_files_blocks_lie_in_a_row_with_the_indirect_ones_among_them(blocks) -> None:
    small, large = blocks("near")
    assert in_a_row(small)
    assert in_a_row(large)


def test_far_an_indirect_block_and_what_it_points_to_begin_in_another_group(blocks) -> None:
    small, large = blocks("far")
    assert in_a_row(small)
    direct, first, second = large[:12], large[12:2061], large[2061:]
    groups = [run[0] // BLOCKS_OF_GROUP for run in (direct, first, second)]
    assert len(set(groups)) == 3
    assert all(in_a_row(run) for run in (direct, first, second))


def test_a_wrong_choice_stops_the_boot(run_script) -> None:
    result = run_script("true", args="indirect=nowhere")
    assert result.status == 100
    assert "boot: argument indirect=nowhere: not near or far" in result.console
