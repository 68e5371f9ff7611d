"""What is removed is there whole or not at all."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import Run
from grade.scoring.workbench import Workbench

from ..cuts import Cut, each_cut, expect_clean, scenario

FILES = {"/small": 3000, "/large": 60_000, "/d/f": 9000}  # bytes


def _source(path: str) -> str:
    """The path on the root disk of a file's contents."""
    return f"/in{path.replace('/', '.')}"


def _contents(bench: Workbench) -> dict[str, bytes]:
    rng = bench.random("removed")
    return {path: rng.randbytes(size) for path, size in FILES.items()}


def _run(bench: Workbench) -> Run:
    """A small file, a large one, a link and a tree are made, synced and removed."""
    lines = ["ln -s small /data/l"]
    lines += [f"cp {_source(path)} /data{path}" for path in FILES]
    lines += ["sync", "beacon 1", "rm /data/large", "rm /data/l /data/small", "rm -r /data/d"]
    inputs = {_source(path): content for path, content in _contents(bench).items()}
    return bench.run(scenario("remove", [*lines, "sync", "beacon 2"], inputs, folders=("/d",)))


def files_directories_and_links_are_removed(bench: Workbench) -> None:
    """A small file, a large one and a tree are removed. The power is cut between any two writes."""
    run, data = _run(bench), _contents(bench)

    def check(cut: Cut) -> None:
        found = cut.files(list(FILES))
        for path, came in found.items():
            some = f"{len(came or b'')} bytes, not all as they were"
            expect(came in (None, data[path]), f"{path} to be whole or gone after a cut", some)

    each_cut(run, run.beacon(1), 40, check)


def after_a_sync_nothing_is_to_be_repaired(bench: Workbench) -> None:
    """The counts of links and the free blocks, which may be written later, are right in the end."""
    expect_clean(_run(bench))
