"""Where the kernel's allocator puts files, under indirect=near and indirect=far.

An indirect block holds the numbers of a file's further blocks. With `near` it lies among the file's
blocks, with `far` it begins in another group of the disk.
"""

import pytest

from sluice.system import image
from sluice.system.qemu import Config, Disk, run_rc

# A group can hold the 16 MiB to which one block of pointers points. So if a file continues in
# another group, that is not because its own group is full.
BLOCKS_OF_GROUP = 4096  # of 8 KiB in 32 MiB
OPTIONS = ("--group", "32M")


@pytest.fixture
def blocks(make_image):
    """Return a function: blocks("far") returns the block numbers of two files that the kernel
    wrote, of 96 KiB (no indirect block) and of 17 MiB (three indirect blocks)."""

    def write(indirect: str) -> tuple[list[int], list[int]]:
        """Write both files under indirect=..., and look up their blocks with debugfs."""
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
    """Return whether each block lies behind the one before."""
    return blocks == list(range(blocks[0], blocks[0] + len(blocks)))


def test_near_a_files_blocks_lie_in_a_row_with_the_indirect_ones_among_them(blocks) -> None:
    small, large = blocks("near")
    assert in_a_row(small)
    assert in_a_row(large)


def test_far_an_indirect_block_and_what_it_points_to_begin_in_another_group(blocks) -> None:
    small, large = blocks("far")
    assert in_a_row(small)
    # 12 blocks; an indirect block with its 2048; then a double indirect block, and those below it.
    direct, first, second = large[:12], large[12:2061], large[2061:]
    groups = [run[0] // BLOCKS_OF_GROUP for run in (direct, first, second)]
    assert len(set(groups)) == 3
    assert all(in_a_row(run) for run in (direct, first, second))


def test_a_wrong_choice_stops_the_boot(run_script) -> None:
    result = run_script("true", args="indirect=nowhere")
    assert result.status == 100
    assert "boot: argument indirect=nowhere: not near or far" in result.console
