"""Mutation testing: which changes of a source are made, and that the tests notice those that they
once did not notice.

A change (mutant) replaces a token, such as < by <=, within a function. It is KILLED if a test
fails, and EQUAL if the compiler makes the same code. Changes of files that most native programs
link take long: they are tried with FULL=1 only. Of the other changes each run tries one, drawn by
the commit.
"""

import subprocess
from pathlib import Path

import pytest
from typed import LINE
from whole import in_full

from sluice.host.paths import ROOT
from tools.mutants.campaign import EQUAL, KILLED, Tree, is_listed, load_equivalent
from tools.mutants.change import Change, Source

IN_MOST_PROGRAMS = ("kernel/disk/disk.c", "kernel/ext2/map.c")
# Of 385 random changes these six passed every test, together in one kernel.
ONCE_UNNOTICED = [
    {
        "file": "kernel/disk/dispatch.c",
        "function": "adopt",
        "context": "for (u32 set = 0; set < sets && hooks->queued; set++) {",
        "old": "0",
        "new": "1",
    },
    {
        "file": "kernel/disk/disk.c",
        "function": "disk_state",
        "context": "u64 since_ns = clock_ns() - d->measured_ns;",
        "old": "-",
        "new": "+",
    },
    {
        "file": "kernel/ext2/map.c",
        "function": "write_pointer",
        "context": "return -EIO;",
        "old": "EIO",
        "new": "0",
    },
    {
        "file": "policies/update/awol.c",
        "function": "awol_dirtied",
        "context": "if (b->blkno % every == 0)",
        "old": "==",
        "new": "!=",
    },
    {
        "file": "policies/sched/sluice.c",
        "function": "soonest",
        "context": "up = up ? queue_at_or_after(q, dir, up->sector + 1) : NULL;",
        "old": "1",
        "new": "0",
    },
    {
        "file": "policies/update/bsd_syncer.c",
        "function": "bsd_syncer_scan",
        "context": "done_s = now_s - SLOTS;",
        "old": "-",
        "new": "+",
    },
]
SMALL = """/* 1 < 2 */
#define TWO(a) ((a) + 2)
static const int table[] = {1, 2};

static int small(struct list *l, int a)
{
    int left = a - 1; /* a + 1 */
    if (a == 0 && !left)
        return -EIO;
    for (int i = 0; i < a; i++)
        touch(l, "a < b");
    *l = *other;
    return a < TWO_SIDES ? TWO_SIDES : TWO_ENDS;
}
"""


def find_changes(row: dict[str, str]) -> list[Change]:
    """Return the changes of today's source that a row names."""
    source = Source(row["file"], (ROOT / row["file"]).read_text())
    keys = ("function", "context", "old", "new")
    return [c for c in source.list_changes() if all(getattr(c, key) == row[key] for key in keys)]


def test_changes_are_made_inside_functions_only_and_are_the_classical_ones() -> None:
    """A change is the line of SMALL, the old text and the new one."""
    changes = {f"{c.line}: {c.old} -> {c.new}" for c in Source("small.c", SMALL).list_changes()}
    assert changes == {
        "7: - -> +",
        "7: 1 -> 2",
        "7: 1 -> 0",
        "8: == -> !=",
        "8: 0 -> 1",
        "8: && -> ||",
        "8: ! -> ",
        "9: EIO -> 0",
        "10: 0 -> 1",
        "10: < -> <=",
        "10: ++ -> --",
        '11: touch(l, "a < b"); -> ;',
        "12: *l = *other; -> ;",
        "13: < -> <=",
        "13: TWO_SIDES -> TWO_ENDS",
        "13: TWO_ENDS -> TWO_SIDES",
    }


def test_a_change_is_applied_at_its_place_and_nowhere_else() -> None:
    """Without the changed text, the changed source is the old one."""
    source = Source("small.c", SMALL)
    for change in source.list_changes():
        made = change.apply(SMALL)
        assert made[: change.start] + made[change.start + len(change.new) :] == (
            SMALL[: change.start] + SMALL[change.end :]
        )


def test_every_function_of_the_kernel_and_the_policies_is_found() -> None:
    """A function ends with a closing brace alone at the beginning of a line. The end of a type has
    a semicolon behind the brace."""
    for path in [
        p for kind in ("kernel/**", "policies/*", "drives") for p in ROOT.glob(f"{kind}/*.c")
    ]:
        source = Source(str(path), path.read_text())
        ends = sum(line == "}" for line in source.code.splitlines())
        assert len(source.bodies) == ends, path


def test_every_listed_change_is_one_of_todays_sources_and_has_a_reason() -> None:
    for row in load_equivalent():
        assert row["why"].strip(), row
        assert find_changes(row), f"equivalent.toml: the source offers no such change: {row}"
        assert all(is_listed(change) for change in find_changes(row))


def test_a_file_that_is_not_there_is_refused_with_the_name_that_was_typed() -> None:
    command = [*LINE, "dev", "mutants", "--files", "kernel/nosuch*.c"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert "--files=kernel/nosuch*.c" in done.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """Return a copy of the tree in which changes are tried."""
    return Tree(tmp_path_factory.mktemp("mutants") / "tree", lenient=False)


def row_parameter(row: dict[str, str]) -> object:
    """Return a row as a parameter of a test; with FULL=1 only if the change takes long."""
    mark = in_full if row["file"] in IN_MOST_PROGRAMS else pytest.mark.drawn(4)
    return pytest.param(row, id=Path(row["file"]).stem, marks=mark)


@pytest.mark.parametrize("row", [row_parameter(row) for row in ONCE_UNNOTICED])
def test_what_once_passed_every_test_is_noticed(tree: Tree, row: dict[str, str]) -> None:
    (change,) = find_changes(row)
    assert tree.try_change(change).state == KILLED


def test_what_makes_no_other_code_is_no_change(tree: Tree) -> None:
    """The statement only avoids a warning, so its removal changes no instruction."""
    row = {
        "file": "policies/sched/cscan.c",
        "function": "cscan_again_ns",
        "context": "(void)now_ns;",
        "old": "(void)now_ns;",
        "new": ";",
    }
    (change,) = find_changes(row)
    assert tree.try_change(change).state == EQUAL
