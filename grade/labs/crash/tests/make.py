"""What is made is there whole or not at all, and it is there when the call has returned."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import Run
from grade.scoring.workbench import Workbench

from ..cuts import ON_DEMAND, Cut, each_cut, expect_clean, scenario

LONG = "d/" * 60  # a link's text that does not fit into the inode
MADE = {  # a command each, and what it makes
    "mkdir /data/d": ("/d", "directory"),
    "mkdir /data/d/e": ("/d/e", "directory"),
    "ln -s short /data/s": ("/s", "symlink"),
    f"ln -s {LONG} /data/d/l": ("/d/l", "symlink"),
    "touch /data/d/e/f": ("/d/e/f", "regular"),
}


def _run(bench: Workbench) -> Run:
    """Some of each are made, then synced."""
    lines = ["beacon 1"]
    for i in range(3):
        lines += [
            f"mkdir /data/d{i}",
            f"mkdir /data/d{i}/e",
            f"echo text > /data/d{i}/e/f",
            f"ln -s short /data/s{i}",
            f"ln -s {LONG} /data/l{i}",
        ]
    return bench.run(scenario("make", [*lines, "sync", "beacon 2"], {}))


def files_directories_and_links_are_made(bench: Workbench) -> None:
    """Some of each are made, then synced. The power is cut between any two writes."""
    run = _run(bench)
    synced_ns = run.beacon(2)

    def check(cut: Cut) -> None:
        if cut.until_ns <= synced_ns:
            return
        path = "/d2/e/f"
        came = cut.files([path])[path]
        what = "no file" if came is None else f"{len(came)} bytes, not all as written"
        expect(came == b"text\n", f"{path} to be there after the sync", what)
        for link in ("/s2", "/l2"):
            found = cut.stat(link)
            kind = "a link to be there after the sync"
            expect("Type: symlink" in found, f"{link}: {kind}", found.splitlines()[0])

    each_cut(run, run.beacon(1), 60, check)


def what_was_made_is_there_when_the_call_returns(bench: Workbench) -> None:
    """Some of each are made, and nothing is synced. The power is cut after each command."""
    lines = [f"{command}\nbeacon {i + 1}" for i, command in enumerate(MADE)]
    run = bench.run(scenario("make-at-once", lines, {}, ON_DEMAND))

    def check(cut: Cut) -> None:
        for i, (command, (path, kind)) in enumerate(MADE.items()):
            if run.beacon(i + 1) < cut.until_ns:
                found = cut.stat(path)
                what = f"a {kind} {path} on the disk when `{command}` has ended"
                expect(f"Type: {kind}" in found, what, found.splitlines()[0])

    each_cut(run, run.beacon(1), 2 * len(MADE), check)


def after_a_sync_nothing_is_to_be_repaired(bench: Workbench) -> None:
    """The counts of links, which a call may leave to be written later, are right in the end."""
    expect_clean(_run(bench))
