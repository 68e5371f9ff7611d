"""The student's own machine: a disk with a few files, and two reads of one of them.

The student's name decides how the files are called, how deep they lie and where on the disk,
which bytes are read, and which block's read is to be followed in gdb. Everybody's first byte
lies behind two blocks of pointers.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from grade.scoring import answers
from grade.scoring.scenario import BLOCK_BYTES, Run, Scenario
from grade.scoring.workbench import Workbench

LAB = Path(__file__).parent
SHELVES = ("amber", "birch", "cedar", "dune", "elm", "fern", "gorse", "heath")
BOOKS = ("atlas", "ballads", "cookery", "diary", "essays", "fables", "grammar", "herbal")
DIRECT, POINTERS = 12, BLOCK_BYTES // 4  # blocks of a file: before, and of, a block of pointers
FIRST, LAST = 5000, 30000  # blocks of the disk, between which the book begins
# What a student's tree can check, and with what (answers.py): no group without an answer of many
# bits, and none in it that follows from the others' by trying a few numbers. How deep a call is,
# is one of ten numbers: it is checked where it is handed in.
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
FOLLOWED = {  # the blocks of which one is to be followed, by what they are to the reader
    "directory": "the directory that has the book",
    "double_indirect": "the block of pointers to blocks of pointers",
    "data_block": "the block that has the byte",
}


@dataclass(frozen=True)
class Task:
    """A student's own: the book and its blocks, the bytes to be read, the block to be followed."""

    book: str
    blocks: int
    at: int  # its first block on the disk
    byte: int
    later_byte: int
    followed: str
    others: tuple[tuple[str, int], ...]  # path and blocks
    generation: int  # the book's
    pattern: int  # from which the files' contents are made


def later_block(rng: Random, block: int) -> int:
    """Of the byte that is read later: in the same block, near it, or behind one pointer only."""
    return rng.choice((block, block + rng.randrange(20, 90), DIRECT + rng.randrange(POINTERS)))


@cache
def task(student: str) -> Task:
    """What the student's name decides."""
    rng = Random(f"first-block/{student}")
    shelves = ["/" + "/".join(rng.sample(SHELVES, rng.randrange(1, 4))) for _ in range(3)]
    paths = sorted({f"{shelf}/{name}" for shelf in shelves for name in rng.sample(BOOKS, 4)})
    book = rng.choice(paths)
    blocks = DIRECT + POINTERS + rng.randrange(400, 900)
    block = DIRECT + POINTERS + rng.randrange(100, 300)
    return Task(
        book,
        blocks,
        rng.randrange(FIRST, LAST),
        block * BLOCK_BYTES + rng.randrange(BLOCK_BYTES),
        later_block(rng, block) * BLOCK_BYTES + rng.randrange(BLOCK_BYTES),
        rng.choice(sorted(FOLLOWED)),
        tuple((path, rng.randrange(1, 60)) for path in paths if path != book),
        rng.getrandbits(32),
        rng.getrandbits(32),
    )


def shown(command: str) -> str:
    """The command, printed before it is run."""
    return f'echo "$ {command}"\n{command}\n'


def scenario(student: str) -> Scenario:
    """What the student's machine is to do."""
    mine = task(student)
    sizes = (*mine.others, (mine.book, mine.blocks))
    reads = [
        shown(f"dd if=/data{mine.book} of=/dev/null bs=1 count=1 skip={byte}")
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
{shown("grep disk1 /dev/trace")}
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
    """It has been done by the reference's kernel, which is the same for all.

    Who comes with gdb gets a machine with the kernel of this tree, whose lines gdb knows.
    """
    made = scenario(student)
    return bench.run(made) if bench.gdb else bench.reference(made)


def expect_right(bench: Workbench, question: str, look: str) -> None:
    """The answer is right for the student's own machine."""
    run(bench, answers.student(bench))
    answers.expect_right(LAB, bench, question, look)
