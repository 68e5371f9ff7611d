"""The machine whose writes the tests look at, and what they expect of a file."""

from grade.engine.assertions import expect
from grade.engine.scenario import BLOCK_BYTES, Run, Scenario
from grade.engine.workbench import Workbench

FILLED, PARTS, AGAIN = 1, 2, 3  # beacons: after the writes to each file
PART_BYTES = 512
TIMES = 3


def blocks(bench: Workbench) -> int:
    """Return how many blocks are written of each file. The nonce chooses."""
    return bench.random("blocks").randrange(10, 20)


def write(path: str, size: int, at: int) -> str:
    """Commands that write `size` bytes of zeros to a file, at a multiple of the size, and pause."""
    words = f"dd if=/input of=/data{path} bs={size} count=1 seek={at} conv=notrunc"
    return f"{words} 2> /dev/null\nsleep 0.5\n"


def run(bench: Workbench) -> Run:
    """Blocks are filled, then parts of blocks are written, then one block three times."""
    n, step = blocks(bench), BLOCK_BYTES // PART_BYTES
    return bench.run(
        Scenario(
            name="writes",
            script=f"""
iogen rw=write filename=/data/filled bs=4k nr={n} > /dev/null
sleep 2
beacon {FILLED}
{"".join(write("/part", PART_BYTES, step * i) for i in range(n))}
beacon {PARTS}
{write("/again", BLOCK_BYTES, 0) * TIMES}
beacon {AGAIN}
""",
            args="write=wt update=none nbuf=1000",
            files=(("/input", bytes(BLOCK_BYTES)),),
            data=(("/filled", "1M"), ("/part", "1M"), ("/again", "1M")),
        )
    )


def expect_each_once(run: Run, path: str, number: int, end: int) -> None:
    """Expect one write of each of the file's first blocks to be queued before a beacon."""
    came = sorted(write.block for write in run.writes_of(path, end_ns=run.beacon(end)))
    expect(
        came == list(range(number)),
        f"writes of blocks 0 to {number - 1} of {path} to be queued, each once, before any sync",
        f"blocks {came}",
    )
