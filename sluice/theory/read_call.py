"""Predict the time of a read call in this kernel, from instructions of the processor.

    cached   SystemCallOverhead + KiB x MemoryCopyRate
    missed   as cached, plus the kernel's work for one command, plus the drive's time

SystemCallOverhead has a part for the first block, a constant part if there are more blocks, and a
part for each further block. The work for a command also has a part for the first block and one for
each further block.

Source: FSOverhead of E. Shriver, C. Small, K. Smith, "Why does file system prefetching
work?", USENIX 1999. The instructions were counted on this kernel, COUNTED in
sluice/theory/parts/reader.py.
"""

from sluice.theory import Parameter, System
from sluice.theory.parts.reader import COUNTED

PARAMETERS = {
    "request_kb": Parameter("size of the call, KiB: a part of a block, or blocks", "the workload"),
    "block_kb": Parameter("a file system block, KiB", "the image", 1, 8),
    "cpu_shift": Parameter("an instruction takes 2^this ns", "the machine", 0, 10),
    "service_us": Parameter("the drive's time for one command", "the drive's row"),
}
QUANTITIES = {
    "cached_us": "a call whose blocks are all cached",
    "missed_us": "a call whose blocks are read by one command",
}


def predict(_system: System, parameters: dict[str, float]) -> dict[str, float]:
    """Return the model's QUANTITIES."""
    p = parameters
    blocks = -int(-p["request_kb"] // p["block_kb"])  # rounded up
    further = max(0, blocks - 1)
    several = COUNTED.several if further else 0
    call = COUNTED.call + several + further * COUNTED.block + p["request_kb"] * COUNTED.copy_kb
    command = COUNTED.command + further * COUNTED.command_block
    instruction_us = 2 ** p["cpu_shift"] / 1000
    return {
        "cached_us": call * instruction_us,
        "missed_us": (call + command) * instruction_us + p["service_us"],
    }
