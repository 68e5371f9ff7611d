"""A renamed file has its old name or its new one, or for a moment both."""

import re

from grade.engine.assertions import expect
from grade.engine.scenario import Run
from grade.engine.workbench import Workbench

from ..cuts import Cut, each_cut, expect_clean, scenario

FILES = 3
LINKS = re.compile(r"Inode (\d+) ref count is (\d+), should be (\d+)")


def _text(bench: Workbench) -> bytes:
    return bench.random("renamed").randbytes(6000)


def _run(bench: Workbench) -> Run:
    """A directory is moved to another one; then files are, and a directory gets a new name."""
    lines = ["beacon 1", "mv /data/a/c /data/b/c", "beacon 2"]
    lines += [f"cp /text /data/a/f{i}" for i in range(FILES)]
    lines += ["sync", "beacon 3"]
    lines += [f"mv /data/a/f{i} /data/b/c/a-longer-name-{i}" for i in range(FILES)]
    lines += ["mv /data/b /data/d", "sync", "beacon 4"]
    folders = ("/a", "/b", "/a/c")
    return bench.run(scenario("rename", lines, {"/text": _text(bench)}, folders=folders))


def _expect_links(cut: Cut) -> None:
    """Expect that e2fsck had to raise no count of links."""
    for inode, links, names in LINKS.findall(cut.e2fsck_output):
        cut.expect(
            int(links) >= int(names),
            "a file's count of links on the disk before its second name",
            f"inode {inode} has {names} names and a count of {links}",
        )


def a_file_moved_to_another_directory_is_never_lost(bench: Workbench) -> None:
    """The power is cut between any two writes. In the end all counts of links are right."""
    run, text = _run(bench), _text(bench)

    def check(cut: Cut) -> None:
        """Expect each file to be whole under one of its names, and under no name with other
        contents."""
        _expect_links(cut)
        for i in range(FILES):
            names = [f"/a/f{i}", f"/b/c/a-longer-name-{i}", f"/d/c/a-longer-name-{i}"]
            found = cut.files(names)
            cut.expect(
                text in found.values() and set(found.values()) <= {None, text},
                f"file {i} to be whole, under its old name or its new one",
                ", ".join(
                    f"{p}: {'no file' if d is None else f'{len(d)} bytes'}"
                    for p, d in found.items()
                ),
            )

    each_cut(run, run.beacon(3), 10 * FILES, check)
    expect_clean(run)


def a_moved_directory_gets_its_parent_between_its_names(bench: Workbench) -> None:
    """A directory's new name, `..` and old name are written in turn. Then files can be moved into
    it, and they are there in the end."""
    run = _run(bench)
    # The directories that are written, and what a write of each one changes.
    steps = {"/d": "the new name", "/d/c": "..", "/a": "the old name"}
    place = {sector: what for path, what in steps.items() for sector in run.sectors(path)}
    between = (run.beacon(1), run.beacon(2))
    writes = [r for r in run.data(write=True) if between[0] <= r.queued_ns < between[1]]
    parts = [r for r in writes if r.sector in place]
    came, wanted = [place[r.sector] for r in parts], list(steps.values())
    expected = f"writes of {', '.join(wanted)}, in this order"
    run.expect(came == wanted, expected, ", ".join(came) or "none", parts[-1] if parts else None)
    for i in range(FILES):
        path = f"/d/c/a-longer-name-{i}"
        expect(run.contents(path) == _text(bench), f"{path} to be whole in the end", "it is not")
