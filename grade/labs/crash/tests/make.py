"""What is made is there whole or not at all, and after a sync it is there."""

from grade.machine import image
from grade.scoring.assertions import expect
from grade.scoring.workbench import Workbench

from ..cuts import Cut, each_cut, scenario

LONG = "d/" * 60  # a link's text that does not fit into the inode


def files_directories_and_links_are_made(bench: Workbench) -> None:
    """Some of each are made, then synced. The power is cut between any two writes."""
    lines = ["beacon 1"]
    for i in range(3):
        lines += [
            f"mkdir /data/d{i}",
            f"mkdir /data/d{i}/e",
            f"echo text > /data/d{i}/e/f",
            f"ln -s short /data/s{i}",
            f"ln -s {LONG} /data/l{i}",
        ]
    run = bench.run(scenario("make", [*lines, "sync", "beacon 2"], {}))
    synced_ns = run.beacon(2)

    def check(cut: Cut) -> None:
        if cut.until_ns <= synced_ns:
            return
        path = "/d2/e/f"
        came = cut.files([path])[path]
        what = "no file" if came is None else f"{len(came)} bytes, not all as written"
        expect(came == b"text\n", f"{path} to be there after the sync", what)
        for link in ("/s2", "/l2"):
            found = image.debugfs(cut.path, f"stat {cut.setting.inside(link)}")
            kind = "a link to be there after the sync"
            expect("Type: symlink" in found, f"{link}: {kind}", found.splitlines()[0])

    each_cut(run, run.beacon(1), 60, check)
