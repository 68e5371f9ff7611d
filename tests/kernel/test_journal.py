"""Transactions of the kernel's journal, natively, with e2fsck as the judge."""

import re
import shutil
from itertools import permutations
from pathlib import Path

import pytest
from test_recovery import TOOL, run

from sluice.host.paths import MKFS
from sluice.system.image import debugfs

pytestmark = pytest.mark.native
LOGGED = "delays=2"  # order=journal
FREES = """many /d 60 gone
write /d/large 200000 1
sync
rmmany /d 60 gone
truncate /d/large 3000
"""
NEW = "write /d/new 150000 7\nsync\nverify /d/new 0 150000 7\nverify /d/large 0 3000 1\n"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an image with a journal and a folder."""
    path = tmp_path_factory.mktemp("journal") / "empty"
    run(MKFS, "-b", "1K", "-s", "4M", "-J", "1M", path)
    run(TOOL, path, script="mkdir /d\n")
    return path


def test_a_commit_without_memory_frees_nothing_twice(empty: Path, tmp_path: Path) -> None:
    """Each request for memory of a commit fails once; the next commit does it all."""
    image, failed = tmp_path / "image", 0
    for n in range(1, 50):
        shutil.copy(empty, image)
        script = f"{FREES}nomemory {n}\nsync\nnomemory 0\n{NEW}"
        said = run(TOOL, LOGGED, "seed=3", "flush=0", image, script=script)
        assert "in use" not in said and "read-only" not in said
        run("e2fsck", "-fn", image)
        if "memory failed" not in said:
            break
        assert "sync: -12" in said
        failed += 1
    assert 1 <= failed < 49


@pytest.mark.parametrize(("old", "new"), permutations(range(3), 2))
def test_an_fsync_that_meets_a_swap_of_order_confirms_what_is_on_the_disk(
    empty: Path, tmp_path: Path, old: int, new: int
) -> None:
    """The swap comes in each step of the fsync, and then an inode of the same block changes."""
    image, cuts = tmp_path / "image", tmp_path / "cuts"
    cuts.mkdir()
    shutil.copy(empty, image)
    script = f"write /d/a 3000 1\nwrite /d/b 100 1\nsync\nmeet /d/a /d/b {cuts} {old} {new}\n"
    said = run(TOOL, "flush=0", image, script=script)
    assert "read-only" not in said and "meet" not in said
    run("e2fsck", "-fn", image)
    sizes = {}
    for cut in cuts.iterdir():
        run("e2fsck", "-E", "journal_only", "-p", cut, check=1)
        sizes[int(cut.name)] = int(re.search(r"Size: (\d+)", debugfs(cut, "stat /d/a"))[1])
    assert len(sizes) > 12
    assert sizes == {n: 3000 + n for n in sizes}


@pytest.mark.parametrize("seed", range(4))
def test_processes_that_swap_the_order_policy_lose_and_leak_nothing(
    empty: Path, tmp_path: Path, seed: int
) -> None:
    """Four processes do 300 operations each; some of these operations swap the policy."""
    image = tmp_path / "image"
    shutil.copy(empty, image)
    said = run(TOOL, f"seed={seed}", image, script="processes 4 300 swaps\nsync\n")
    assert "read-only" not in said and "sync" not in said
    run("e2fsck", "-fn", image)


@pytest.mark.parametrize("frees", ["rm /d/a", "truncate /d/a 3000", "mv /d/b /d/a"])
def test_what_cannot_be_freed_without_memory_is_left_to_e2fsck(
    empty: Path, tmp_path: Path, frees: str
) -> None:
    """The unmount leaves a disk that is not clean, so that e2fsck looks at it unasked."""
    image = tmp_path / "image"
    shutil.copy(empty, image)
    script = f"write /d/a 900000 1\nwrite /d/b 20000 1\nsync\nnomemory 1\n{frees}\nnomemory 0\n"
    said = run(TOOL, LOGGED, "flush=0", image, script=f"{script}write /d/new 90000 2\nsync\n")
    assert "memory failed" in said and "sync" not in said
    assert "not cleanly unmounted" in run("e2fsck", "-p", image, check=1)
    run("e2fsck", "-fn", image)
    run(TOOL, image, script="verify /d/new 0 90000 2\n")
