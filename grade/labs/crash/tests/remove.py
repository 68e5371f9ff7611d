"""What is removed is there whole or not at all."""

from grade.scoring.assertions import expect
from grade.scoring.workbench import Workbench

from ..cuts import Cut, each_cut, scenario

FILES = {"/small": 3000, "/large": 60_000, "/d/f": 9000}  # bytes


def _source(path: str) -> str:
    """The path on the root disk of a file's contents."""
    return f"/in{path.replace('/', '.')}"


def files_directories_and_links_are_removed(bench: Workbench) -> None:
    """A small file, a large one and a tree are removed. The power is cut between any two writes."""
    rng = bench.random("removed")
    data = {path: rng.randbytes(size) for path, size in FILES.items()}
    lines = ["mkdir /data/d", "ln -s small /data/l"]
    lines += [f"cp {_source(path)} /data{path}" for path in FILES]
    lines += ["sync", "beacon 1", "rm /data/large", "rm /data/l /data/small", "rm -r /data/d"]
    inputs = {_source(path): content for path, content in data.items()}
    run = bench.run(scenario("remove", [*lines, "sync", "beacon 2"], inputs))

    def check(cut: Cut) -> None:
        found = cut.files(list(FILES))
        for path, came in found.items():
            some = f"{len(came or b'')} bytes, not all as they were"
            expect(came in (None, data[path]), f"{path} to be whole or gone after a cut", some)

    each_cut(run, run.beacon(1), 40, check)
