"""A removed object is there whole or not at all."""

from grade.engine.scenario import FOR_EVER
from grade.engine.workbench import Workbench

from ..cuts import Cut, each_cut, expect_clean, scenario

FILES = {"/small": 3000, "/large": 60_000, "/d/f": 9000}  # bytes


def _source(path: str) -> str:
    """The path on the root disk of a file's contents."""
    return f"/in{path.replace('/', '.')}"


def files_directories_and_links_are_removed(bench: Workbench) -> None:
    """A small file, a large one, a link and a tree are removed. The power is cut between any two
    writes. In the end all counts and free blocks are right, which may be written later."""
    rng = bench.random("removed")
    data = {path: rng.randbytes(size) for path, size in FILES.items()}
    lines = ["ln -s small /data/l"]
    lines += [f"cp {_source(path)} /data{path}" for path in FILES]
    lines += ["sync", "beacon 1", "rm /data/large", "rm /data/l /data/small", "rm -r /data/d"]
    inputs = {_source(path): content for path, content in data.items()}
    run = bench.run(scenario("remove", [*lines, "sync", "beacon 2"], inputs, folders=("/d",)))

    def check(cut: Cut) -> None:
        for path, found in cut.files(list(FILES)).items():
            allowed = [data[path], None]
            if cut.last.completed_ns < run.beacon(1):  # nothing was removed yet
                allowed = [data[path]]
            if cut.until_ns == FOR_EVER:  # after the last write
                allowed = [None]
            what = "no file" if found is None else f"{len(found)} bytes"
            cut.expect(found in allowed, f"{path} to be whole until it is gone", what)

    each_cut(run, run.beacon(1), 40, check)
    expect_clean(run)
