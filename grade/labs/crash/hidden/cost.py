"""A file system that keeps the order need not wait for every write."""

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Run, Scenario
from grade.scoring.workbench import Workbench

FILES = 25
LEAST = 0.7  # of the reference's writes: with fewer, not all was done

NAMES = " ".join(f"/data/f{i}" for i in range(FILES))
FOLDERS = " ".join(f"/data/d{i}" for i in range(FILES))
SCENARIO = Scenario(
    name="cost",
    script=f"""
beacon 1
touch {NAMES}
mkdir {FOLDERS}
rm {NAMES}
rmdir {FOLDERS}
beacon 2
iogen rw=write filename=/data/large bs=4k number_ios=300 > /dev/null
cp /small /data/small
beacon 3
sync /data/small
beacon 4
""",
    args="write=delayed update=none nbuf=1000",
    files=(("/small", bytes(5000)),),
    data=(("/large", "1200K"),),
    size="4M",
)


def _slide(bench: Workbench, first: int, what: str, full: float, none: float) -> Slide:
    """The time between two beacons, compared with the reference's."""

    def took_ms(run: Run) -> float:
        return (run.beacon(first + 1) - run.beacon(first)) / 1e6

    run, best = bench.run(SCENARIO), bench.reference(SCENARIO)
    done, wanted = len(run.data(write=True)), len(best.data(write=True))
    expect(done > LEAST * wanted, f"about {wanted} writes in all, as by the reference", f"{done}")
    return Slide(what, "ms", took_ms(run), full * took_ms(best), none * took_ms(best))


def names_are_made_and_removed_fast(bench: Workbench) -> Slide:
    """The time to make and remove 25 files and as many directories."""
    return _slide(bench, 1, "time of all commands", 1.1, 1.4)


def an_fsync_writes_its_own_file_only(bench: Workbench) -> Slide:
    """The time of an fsync of a small file, while a large one is dirty."""
    return _slide(bench, 3, "time of fsync", 1.5, 5)
