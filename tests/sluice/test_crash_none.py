"""order=none: an fsync makes a new name durable, with the new directories that lead to it.

Under this policy metadata is written late. The recorded writes of a workload are cut at each
moment; only cuts after all operations have returned are looked at here. e2fsck repairs what is
left.
"""

from collections.abc import Iterator

import pytest

from sluice.crash.ext2 import read_tree
from sluice.crash.inject import repair
from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import Setup
from sluice.crash.operations import pattern
from sluice.crash.workloads import find_workload
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)


@pytest.fixture(scope="module", params=["1K", "4K"])
def laboratory(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    """Return a laboratory with order=none and blocks of this size."""
    with Laboratory(Setup("order=none", block=request.param)) as made:
        yield made


@pytest.mark.parametrize(
    "name",
    [
        "creat /n; append /n 3000 5; fsync /n",
        "creat /d/n; through /d/n 0 3000 5",
        "mkdir /d/m; mkdir /d/m/k; creat /d/m/k/n; append /d/m/k/n 3000 5; fsync /d/m/k/n",
        "creat /t; append /t 3000 5; fsync /t; rename /t /n; fsync /n",
        "creat /t; append /t 3000 5; fsync /t; rename /t /e/n; fsync /e/n",
        "creat /t; append /t 3000 5; fsync /t; link /t /e/n; unlink /t; fsync /e/n",
    ],
)
def test_an_fsynced_files_newest_name_is_there_after_every_later_cut(
    laboratory: Laboratory, name: str
) -> None:
    """name: the workload, whose last operation is an fsync of a file with 3000 bytes."""
    workload = find_workload(name)
    path = workload.operations[-1].words[0]
    events = laboratory.record(workload)
    done = 1 + len(workload.operations)  # 1: the mount, which is an operation, too
    cuts = [(cut, image) for cut, image in laboratory.iterate_cuts(events) if cut.returned == done]
    left = {image.hash: image for _, image in cuts}
    assert len(left) >= 1
    for image in left.values():
        disk, trouble = repair(laboratory, image.bytes())
        assert not trouble
        tree = read_tree(disk)
        assert path in tree
        assert tree[path].data == pattern(0, 3000, 5)


def test_a_second_fsync_writes_no_directory_again(laboratory: Laboratory) -> None:
    """The second fsync (operation 4) writes at most the inode."""
    text = "creat /d/n; append /d/n 3000 5; fsync /d/n; fsync /d/n"
    events = laboratory.record(find_workload(text))
    marks = [i for i, event in enumerate(events) if event.kind in ("began", "returned")]

    def count_writes(operation: int) -> int:
        """Return how many writes the disk got while an operation was under way."""
        began, returned = marks[2 * operation : 2 * operation + 2]
        return sum(event.kind == "write" for event in events[began:returned])

    assert count_writes(3) > 1 >= count_writes(4)


# A hole that an fsync has confirmed is filled. The inodes before and after that file's are free.
FILLED = "creat /k; creat /s; creat /l; truncate /s 9000; sync; unlink /k; unlink /l"
FILLED += "; write /s 3000 100 5"
# As many files as a block has inodes.
OTHERS = "; ".join(f"creat /{letter}{letter}" for letter in "ghijklop")


@pytest.mark.parametrize(
    "change",
    [
        f"order none; mkdir /m; mkdir /p; {OTHERS}; creat /m/n; creat /p/n; fsync /m/n; fsync /p/n",
        f"order none; mkdir /m; mkdir /p; order sync; {OTHERS}; creat /m/n; creat /p/n",
    ],
    ids=["fsync", "swap back"],
)
def test_what_a_new_block_holds_up_is_written_where_metadata_was_delayed(change: str) -> None:
    """One block of inodes holds the inode of a new directory and the inode of a file. A hole of the
    file has been filled, so this block of inodes must wait until the hole's new block is written.
    """
    workload = find_workload(f"{FILLED}; {change}")
    with Laboratory(Setup(block="1K")) as laboratory:
        events = laboratory.record(workload)
        done = 1 + len(workload.operations)
        images = {
            image.hash: image
            for cut, image in laboratory.iterate_cuts(events)
            if cut.returned == done
        }
        assert images
        for image in images.values():
            disk, trouble = repair(laboratory, image.bytes())
            assert not trouble
            assert {"/m/n", "/p/n"} <= read_tree(disk).keys()
