"""Make the student's own machine: a disk with a few files, and two reads of one of them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from grade.engine import answers
from grade.engine.scenario import BLOCK_BYTES, Run, Scenario
from grade.engine.workbench import Workbench

LAB = Path(__file__).parent
SHELVES = ("amber", "birch", "cedar", "dune", "elm", "fern", "gorse", "heath")
BOOKS = ("atlas", "ballads", "cookery", "diary", "essays", "fables", "grammar", "herbal")
DIRECT, POINTERS = 12, BLOCK_BYTES // 4  # blocks of a file: before, and of, a block of pointers
FIRST, LAST = 5000, 30000  # blocks of the disk, between which the book begins
# The block with the byte does not lie at the beginning of a track, so that the number of its sector
# there is none that a head has. Blocks of a track; and places of the book by which that holds.
TRACK_BLOCKS, INSIDE = 12, (2, 8)
# The groups that a student's tree can check, and the answers in the hash of each (answers.py).
# Each hash has an answer of many bits that does not follow from the other answers by trying a few
# numbers. The depth of a call is one of ten numbers, so it is checked only when it is handed in.
FILE = ("inode", "block", "generation")
MAP = ("double_indirect", "indirect", "data_block", "word")
TIME = ("response_ns", "waited_ns", "waited_again_ns")
CHECKED = {
    "file": FILE,
    "map": MAP,
    "place": (*MAP, "sector", "cylinder", "head"),
    "time": TIME,
    "requests": (*TIME, "requests", "requests_again"),
}
FOLLOWED = {  # the blocks of which one is followed, and how the console names each
    "directory": "the directory that has the book",
    "double_indirect": "the block of pointers to blocks of pointers",
    "data_block": "the block that has the byte",
}


@dataclass(frozen=True)
class Task:
    """One student's book and its blocks, the bytes to be read, and the block to be followed."""

    book: str
    blocks: int
    at: int  # its first block on the disk
    byte: int
    later_byte: int
    followed: str
    others: tuple[tuple[str, int], ...]  # path and blocks
    generation: int  # the book's
    pattern: int  # the files' contents are made from this number


def later_block(rng: Random, block: int) -> int:
    """Return the block of the byte that is read later.

    The later byte is in the same block, in a near block, or in a block behind one pointer.
    """
    return rng.choice((block, block + rng.randrange(20, 90), DIRECT + rng.randrange(POINTERS)))


@cache
def task(student: str) -> Task:
    """Return the task that the student's name determines."""
    rng = Random(f"first-block/{student}")
    shelves = ["/" + "/".join(rng.sample(SHELVES, rng.randrange(1, 4))) for _ in range(3)]
    paths = sorted({f"{shelf}/{name}" for shelf in shelves for name in rng.sample(BOOKS, 4)})
    book = rng.choice(paths)
    blocks = DIRECT + POINTERS + rng.randrange(400, 900)
    block = DIRECT + POINTERS + rng.randrange(100, 300)
    at = rng.randrange(FIRST, LAST)
    # Move the file up, by less than a track, so that `block` lies at a place INSIDE its track.
    at += (rng.randrange(*INSIDE) - at - block) % TRACK_BLOCKS
    return Task(
        book,
        blocks,
        at,
        block * BLOCK_BYTES + rng.randrange(BLOCK_BYTES),
        later_block(rng, block) * BLOCK_BYTES + rng.randrange(BLOCK_BYTES),
        rng.choice(sorted(FOLLOWED)),
        tuple((path, rng.randrange(1, 60)) for path in paths if path != book),
        rng.getrandbits(32),
        rng.getrandbits(32),
    )


def print_and_run(command: str) -> str:
    """Return lines of a script that print the command and run it."""
    return f'echo "$ {command}"\n{command}\n'


def scenario(student: str) -> Scenario:
    """Return the work of the student's machine."""
    mine = task(student)
    sizes = (*mine.others, (mine.book, mine.blocks))
    reads = [
        print_and_run(f"dd if=/data{mine.book} of=/dev/null bs=1 count=1 skip={byte}")
        for byte in (mine.byte, mine.later_byte)
    ]
    return Scenario(
        name="first-block",
        script=f"""
echo "calls: of the read of {FOLLOWED[mine.followed]}"
beacon 1
{reads[0]}
beacon 2
{reads[1]}
beacon 3
{print_and_run("grep disk1 /dev/trace")}
""",
        args="update=none nbuf=1000",
        data=tuple((path, f"{4 * blocks}K") for path, blocks in sizes),
        at=((mine.book, f"0:{mine.at}"),),
        pattern=mine.pattern,
        fields=((mine.book, "generation", mine.generation),),
        size="240M",
        varied=False,
    )


def run(bench: Workbench, student: str) -> Run:
    """Run the student's machine with the reference's kernel, and return the run.

    The kernel is the same for all. Under GDB=1 it is the kernel of this tree, whose source lines
    gdb knows.
    """
    made = scenario(student)
    return bench.run(made) if bench.gdb else bench.reference(made)


def expect_right(bench: Workbench, question: str, look: str) -> None:
    """Raise Wrong if the answer is not right for the student's own machine."""
    run(bench, answers.student(bench))
    answers.expect_right(LAB, bench, question, look)
