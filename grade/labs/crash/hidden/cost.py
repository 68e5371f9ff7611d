"""A file system that keeps the order need not wait for every write. Nothing but these calls writes
blocks meanwhile, so writes are counted: how long they take depends on the drive."""

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Run, Scenario
from grade.scoring.workbench import Workbench

FILES = 25
LEAST = 0.7  # of the reference's writes: with fewer, not all was done

NAMES = " ".join(f"/data/f{i}" for i in range(FILES))
FOLDERS = " ".join(f"/data/d{i}" for i in range(FILES))
REMOVED = [f"/e{i}" for i in range(FILES)]  # on the disk from the start
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
iogen rw=write filename=/data/large bs=4k number_ios=300 > /dev/null
cp /small /data/small
beacon 3
sync /data/small
beacon 4
""",
    args="write=delayed update=none nbuf=1000",
    files=(("/small", bytes(5000)),),
    data=(("/large", "1200K"), *((f"{folder}/f", "4K") for folder in REMOVED)),
    size="4M",
)


def _slide(bench: Workbench, first: int, full: float, none: float) -> Slide:
    """The writes that were waited for between two beacons, compared with the reference's."""

    def writes(run: Run) -> int:
        began_ns, ended_ns = run.beacon(first), run.beacon(first + 1)
        return sum(began_ns <= r.queued_ns < ended_ns for r in run.data(write=True))

    run, best = bench.run(SCENARIO), bench.reference(SCENARIO)
    done, wanted = len(run.data(write=True)), len(best.data(write=True))
    expect(done > LEAST * wanted, f"about {wanted} writes in all, as by the reference", f"{done}")
    return Slide("a number", "writes", writes(run), full * writes(best), none * writes(best))


def names_are_made_and_removed_with_few_writes(bench: Workbench) -> Slide:
    """The writes that 25 files and as many directories wait for when they are made and removed."""
    return _slide(bench, 1, 1.02, 1.25)


def an_fsync_writes_its_own_file_only(bench: Workbench) -> Slide:
    """The writes of an fsync of a small file, while a large one is dirty."""
    return _slide(bench, 3, 1, 2)
