"""A file system that keeps the order need not wait for every write. Nothing but these calls writes
blocks meanwhile, so writes are counted: how long they take depends on the drive."""

from grade.engine.assertions import Slide, expect
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

FILES = 15
LEAST = 0.7  # of the reference's writes: with fewer, not all was done

NAMES = " ".join(f"/data/f{i}" for i in range(FILES))
FOLDERS = " ".join(f"/data/d{i}" for i in range(FILES))
REMOVED = [f"/e{i}" for i in range(FILES)]  # on the disk from the start
SMALL_BYTES = 5000
SMALL = [f"/data/small{i}" for i in range(4)]
SCENARIO = Scenario(
    name="cost",
    script=f"""
rm {" ".join(f"/data{folder}/f" for folder in REMOVED)}
beacon 1
touch {NAMES}
mkdir {FOLDERS}
rm {NAMES}
rmdir {" ".join(f"/data{folder}" for folder in REMOVED)}
beacon 2
iogen rw=write filename=/data/large bs=4k number_ios=100 > /dev/null
{chr(10).join(f"cp /small {path}" for path in SMALL)}
beacon 3
sync {" ".join(SMALL)}
beacon 4
""",
    args="write=delayed update=none nbuf=1000",
    files=(("/small", bytes(SMALL_BYTES)),),
    data=(("/large", "400K"), *((f"{folder}/f", "4K") for folder in REMOVED)),
    size="4M",
)


def _writes(run: Run, first: int) -> int:
    """Return how many writes were waited for between this beacon and the next."""
    began_ns, ended_ns = run.beacon(first), run.beacon(first + 1)
    return sum(began_ns <= r.queued_ns < ended_ns for r in run.data(write=True))


def _slide(bench: Workbench, first: int, full: float, none: float) -> Slide:
    """Return the number of those writes, scored against the reference's number."""
    done, wanted = (_writes(ask(SCENARIO), first) for ask in (bench.run, bench.reference))
    return Slide("a number", "writes", done, full * wanted, none * wanted)


def names_are_made_and_removed_with_few_writes(bench: Workbench) -> Slide:
    """The writes that 15 files and as many directories wait for when they are made and removed."""
    done, wanted = (_writes(ask(SCENARIO), 1) for ask in (bench.run, bench.reference))
    expect(done >= LEAST * wanted, f"about {wanted} writes, as by the reference", f"{done}")
    return _slide(bench, 1, 1.15, 1.35)


def an_fsync_writes_its_own_file_only(bench: Workbench) -> Slide:
    """The writes of four fsyncs of small files, while a large one is dirty."""
    run = bench.run(SCENARIO)
    for path in SMALL:
        short = path.removeprefix("/data")
        size = len(run.contents(short))
        expect(size == SMALL_BYTES, f"{short} to have {SMALL_BYTES} bytes", f"{size}")
    return _slide(bench, 3, 1, 2)
