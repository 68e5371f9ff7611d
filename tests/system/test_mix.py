"""The program mix, a load of several users: which tasks it does, in directories of the users' own,
and what it prints of them.

A first command with prepare=1 makes the users' files; the second one does tasks for some seconds.
"""

import re

import pytest
from conftest import MakeImage
from either import run_rc

from sluice.experiment import jobs
from sluice.system import image
from sluice.system.qemu import Config, Disk

ARGS = "drive=st31230n check=1"
RUN = "mix dir=/ users=3 prepare=1 seed=4 {words}\nmix dir=/ users=3 runtime_s=10 seed=4 {words}\n"


def test_users_do_the_same_tasks_each_time_and_tell_of_them_in_order(make_image: MakeImage):
    """Two runs from one seed print the same and leave the same disk; each user's line agrees with
    itself."""
    consoles, disks = [], []
    for _ in range(2):
        disk = make_image(rc=RUN.format(words="name=m work=100"))
        result = run_rc(Config((Disk(disk),), args=ARGS, lab=True))
        assert result.status == 0, result.console
        consoles.append(result.console)
        disks.append(disk.read_bytes())
    assert consoles[0] == consoles[1]
    assert disks[0] == disks[1]
    rows = jobs.parse_job_lines(consoles[0])
    assert [(row["program"], row["job"], row["user"]) for row in rows] == [
        ("mix", "m", user) for user in range(3)
    ]
    for row in rows:
        assert row["tasks"] == sum(n for _, n in row["histogram"]) > 10
        # No task begins after 10 s, and the last one ends.
        assert 0 <= row["elapsed_ns"] - 10 * 10**9 <= row["response_ns"]["max"]
        assert row["read_bytes"] > row["written_bytes"] > 0
    assert len({row["tasks"] for row in rows}) > 1, "users differ"


def test_tasks_leave_a_users_file_and_its_copy_as_large_as_they_were(make_image: MakeImage):
    """Each of three users has a file of 40 KiB and a copy of 12 KiB, and no other file is left."""
    disk = make_image(rc=RUN.format(words="file_kb=40 copy_kb=12"))
    assert run_rc(Config((Disk(disk),), args=ARGS, lab=True)).status == 0
    for user in range(3):
        assert len(image.read_file(disk, f"/user{user}/data")) == 40 << 10
        assert len(image.read_file(disk, f"/user{user}/copy")) == 12 << 10
    listing = image.run_command("debugfs", "-R", "ls -p /user0", disk).stdout.decode()
    names = {line.split("/")[5] for line in listing.splitlines() if line.startswith("/")}
    assert names == {".", "..", "data", "copy"}


def test_computing_is_so_many_instructions(make_image: MakeImage):
    """With work=31250 a task of computing executes 31,250,000 instructions of 32 ns, which take
    1 s. One task in nine is of this kind. All others are much shorter: the files are small."""
    script = "mix dir=/ users=1 prepare=1 file_kb=4 copy_kb=4\n"
    script += "mix dir=/ users=1 runtime_s=100 file_kb=4 copy_kb=4 work=31250\n"
    args = "drive=fixed write=delayed check=1"
    result = run_rc(Config((Disk(make_image(rc=script)),), args=args, lab=True))
    [row] = jobs.parse_job_lines(result.console)
    seconds = [n for low, n in row["histogram"] if low > 990_000_000]  # tasks of about 1 s
    assert sum(seconds) == pytest.approx(row["tasks"] / 9, rel=0.3)
    assert 10**9 < row["response_ns"]["max"] < 1.05 * 10**9


def test_a_task_has_as_many_random_ios_as_it_is_told(make_image: MakeImage):
    """With small_ios=1 a task writes 32 KiB at most, since the files are small. With 2000 random
    I/Os in one kind of task, the mean of all tasks is between 100 and 400 KiB."""
    kib = []
    for ios in (1, 2000):
        words = f"file_kb=4 copy_kb=4 work=100 small_ios={ios}"
        disk = make_image(rc=RUN.format(words=words))
        result = run_rc(Config((Disk(disk),), args=ARGS, lab=True))
        rows = jobs.parse_job_lines(result.console)
        kib.append(sum(r["written_bytes"] for r in rows) / sum(r["tasks"] for r in rows) / 1024)
    assert kib[0] < 32 and 100 < kib[1] < 400


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("users=25", "users=25: must be 1 to 24"),
        ("copy_kb=600", "copy_kb=600: more than file_kb=512"),
        ("runtime_s=1 dir=/none", "/none/user0"),
        ("userz=1", "userz"),
    ],
)
def test_impossible_words_are_refused_by_name(make_image: MakeImage, words: str, said: str):
    result = run_rc(Config((Disk(make_image(rc=f"mix {words}\n")),), args=ARGS, lab=True))
    assert result.status != 0
    assert re.search(rf"^mix: .*{re.escape(said)}", result.console, re.M), result.console
