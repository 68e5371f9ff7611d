"""The cost of a sequential write: instructions of each block, and commands of a live device."""

import re

from conftest import MakeImage

from sluice.system.qemu import LAB_SHIFT, Config, Disk, run_rc

BLOCK = 4096
# For each block. The copy takes 1,254. To find the block's place and mark it as used, the kernel
# takes and releases seven buffers, 300 instructions each. The rest is for the data's buffer, its
# request and the command's end.
MOST_INSTRUCTIONS = 9000
# A command holds 16 blocks. A quarter of that leaves room for a host that is busy.
LEAST_BLOCKS_A_COMMAND = 4


def test_a_written_block_takes_few_instructions(make_image: MakeImage) -> None:
    """In lab mode an instruction takes 2^LAB_SHIFT ns. `bench` prints bytes and ns of its
    writes."""
    image = make_image(rc="bench write /file 1M")
    result = run_rc(Config((Disk(image),), lab=True, args="drive=none"))
    assert result.status == 0, result.console
    count, took_ns = map(
        int, re.search(r"^write (\d+) bytes (\d+) ns", result.console, re.M).groups()
    )
    assert took_ns / 2**LAB_SHIFT / (count / BLOCK) <= MOST_INSTRUCTIONS


def test_blocks_gather_into_few_commands_while_the_device_is_busy(make_image: MakeImage) -> None:
    """QEMU lets the device do 100 commands a second, so writes wait and can be merged."""
    image = make_image(rc="cat /dev/stat; bench write /file 2M; cat /dev/stat")
    slow = f"file={image},format=raw,throttling.iops-total=100"
    result = run_rc(Config((Disk(image, drive=slow),)))
    assert result.status == 0, result.console
    before, after = map(int, re.findall(r"^disk\.commands (\d+)", result.console, re.M))
    assert (after - before) * LEAST_BLOCKS_A_COMMAND <= (2 << 20) / BLOCK
