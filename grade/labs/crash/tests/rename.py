"""A renamed file has its old name or its new one, or for a moment both."""

from grade.scoring.assertions import expect
from grade.scoring.workbench import Workbench

from ..cuts import Cut, each_cut, scenario

FILES = 4


def a_file_moved_to_another_directory_is_never_lost(bench: Workbench) -> None:
    """Four files are moved to another directory. The power is cut between any two writes."""
    text = bench.random("renamed").randbytes(6000)
    lines = ["mkdir /data/a /data/b"]
    lines += [f"cp /text /data/a/f{i}" for i in range(FILES)]
    lines += ["mkdir /data/c", "sync", "beacon 1"]
    lines += [f"mv /data/a/f{i} /data/b/a-longer-name-{i}" for i in range(FILES)]
    lines += ["mv /data/c /data/d", "sync", "beacon 2"]
    run = bench.run(scenario("rename", lines, {"/text": text}))

    def check(cut: Cut) -> None:
        for i in range(FILES):
            found = cut.files([f"/a/f{i}", f"/b/a-longer-name-{i}"])
            expect(
                text in found.values() and set(found.values()) <= {None, text},
                f"file {i} to be whole, under its old name or its new one",
                ", ".join(
                    f"{p}: {'no file' if d is None else f'{len(d)} bytes'}"
                    for p, d in found.items()
                ),
            )

    each_cut(run, run.beacon(1), 40, check)
