"""A renamed file has its old name or its new one, or for a moment both."""

import re

from grade.scoring.assertions import expect
from grade.scoring.scenario import Run
from grade.scoring.workbench import Workbench

from ..cuts import ON_DEMAND, Cut, each_cut, expect_clean, scenario

FILES = 4
LINKS = re.compile(r"Inode (\d+) ref count is (\d+), should be (\d+)")


def _text(bench: Workbench) -> bytes:
    return bench.random("renamed").randbytes(6000)


def _run(bench: Workbench) -> Run:
    """Four files are moved to another directory."""
    lines = [f"cp /text /data/a/f{i}" for i in range(FILES)]
    lines += ["sync", "beacon 1"]
    lines += [f"mv /data/a/f{i} /data/b/a-longer-name-{i}" for i in range(FILES)]
    lines += ["mv /data/c /data/d", "sync", "beacon 2"]
    inputs, folders = {"/text": _text(bench)}, ("/a", "/b", "/c")
    return bench.run(scenario("rename", lines, inputs, folders=folders))


def _directories(bench: Workbench) -> Run:
    """A directory is moved to another one."""
    lines = ["beacon 1", "mv /data/a/c /data/b/c", "beacon 2", "sync"]
    folders = ("/a", "/b", "/a/c")
    return bench.run(scenario("rename-directory", lines, {}, ON_DEMAND, folders))


def _expect_links(cut: Cut) -> None:
    """Expect that e2fsck had to raise no count of links."""
    for inode, links, names in LINKS.findall(cut.said):
        expect(
            int(links) >= int(names),
            "a file's count of links on the disk before its second name",
            f"after write {cut.writes} of the data disk, inode {inode} had {names} names and a "
            f"count of {links}",
        )


def a_file_moved_to_another_directory_is_never_lost(bench: Workbench) -> None:
    """Four files are moved to another directory. The power is cut between any two writes."""
    run, text = _run(bench), _text(bench)

    def check(cut: Cut) -> None:
        _expect_links(cut)
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


def a_moved_directory_gets_its_parent_between_its_names(bench: Workbench) -> None:
    """A directory is moved to another one: new name, `..` and old name are written in turn."""
    run = _directories(bench)
    steps = {"/b": "the new name", "/b/c": "..", "/a": "the old name"}
    place = {sector: what for path, what in steps.items() for sector in run.sectors(path)}
    between = (run.beacon(1), run.beacon(2))
    writes = [r for r in run.data(write=True) if between[0] <= r.queued_ns < between[1]]
    came = [place[r.sector] for r in writes if r.sector in place]
    wanted = list(steps.values())
    expect(came == wanted, f"writes of {', '.join(wanted)}, in this order", ", ".join(came))


def after_a_sync_nothing_is_to_be_repaired(bench: Workbench) -> None:
    """The counts of links are right in the end, of files and of directories."""
    expect_clean(_run(bench))
    expect_clean(_directories(bench))
