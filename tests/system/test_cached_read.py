"""The cost of a read of a cached block: instructions, on the counted clock."""

import re

from conftest import MakeImage

from sluice.system.qemu import LAB_SHIFT, Config, Disk, run_rc

BLOCK = 4096
# Copying takes 1,254 of the instructions. QEMU also has to look up where each return leads, so a
# function that is added on the way costs more than its instructions.
MOST_INSTRUCTIONS = 2700


def test_a_cached_read_takes_few_instructions(make_image: MakeImage) -> None:
    """In lab mode an instruction takes 2^LAB_SHIFT ns. `bench` prints bytes and ns of its reads."""
    image = make_image(rc="bench cached /file", options=("--file", "/file=1M"))
    result = run_rc(Config((Disk(image),), lab=True, args="drive=fixed"))
    assert result.status == 0, result.console
    count, took_ns = map(
        int, re.search(r"^cached (\d+) bytes (\d+) ns", result.console, re.M).groups()
    )
    assert took_ns / 2**LAB_SHIFT / (count / BLOCK) <= MOST_INSTRUCTIONS
