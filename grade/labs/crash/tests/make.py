"""A new object is there whole or not at all, and it is there when the call has returned."""

from grade.engine.scenario import Run
from grade.engine.workbench import Workbench

from ..cuts import ON_DEMAND, Cut, each_cut, expect_clean, scenario

LONG = "d/" * 60  # a link's text that does not fit into the inode
ROUNDS = 2
KINDS = {"mkdir": "directory", "ln": "symlink", "touch": "regular"}
MADE = [  # a command each, and what it makes; a file that is written follows each round
    row
    for i in range(ROUNDS)
    for row in (
        (f"mkdir /data/d{i}", f"/d{i}"),
        (f"mkdir /data/d{i}/e", f"/d{i}/e"),
        (f"ln -s short /data/s{i}", f"/s{i}"),
        (f"ln -s {LONG} /data/d{i}/l", f"/d{i}/l"),
        (f"touch /data/d{i}/e/f", f"/d{i}/e/f"),
    )
]


def _run(bench: Workbench) -> Run:
    """Some of each are made, with a beacon after each; then a text is written, and synced."""
    lines = [f"{command}\nbeacon {i + 2}" for i, (command, _) in enumerate(MADE)]
    lines = ["beacon 1", *lines, "echo text > /data/d1/e/f", "sync", f"beacon {len(MADE) + 2}"]
    return bench.run(scenario("make", lines, {}, ON_DEMAND))


def _expect_made(cut: Cut, first: int, last: int, when: str) -> None:
    """Expect what these commands make; when: since when, after a command's name."""
    for command, path in MADE[first:last]:
        kind, found = KINDS[command.split()[0]], cut.stat(path)
        what = f"a {kind} {path} to be there {when.format(command)}"
        cut.expect(f"Type: {kind}" in found, what, found.splitlines()[0])


def files_directories_and_links_are_made(bench: Workbench) -> None:
    """Some of each are made, then synced. The power is cut between any two writes. In the end all
    counts are right, also those that a call may leave to be written later."""
    run = _run(bench)
    synced_ns = run.beacon(len(MADE) + 2)

    def check(cut: Cut) -> None:
        """Expect all that was made to be there in the cuts after the sync."""
        if cut.until_ns <= synced_ns:
            return
        _expect_made(cut, 0, len(MADE), "after the sync")
        came = cut.files(["/d1/e/f"])["/d1/e/f"]
        what = "no file" if came is None else f"{len(came)} bytes, not all as written"
        cut.expect(came == b"text\n", "/d1/e/f to be whole after the sync", what)

    each_cut(run, run.beacon(1), 3 * len(MADE), check)
    expect_clean(run)


def what_was_made_is_there_when_the_call_returns(bench: Workbench) -> None:
    """Some of each are made. The power is cut between any two writes, after a command at the
    latest."""
    run = _run(bench)

    def check(cut: Cut) -> None:
        done = sum(run.beacon(i + 2) < cut.until_ns for i in range(len(MADE)))
        _expect_made(cut, max(0, done - 1), done, "when `{}` has ended")

    each_cut(run, run.beacon(1), 3 * len(MADE), check)
