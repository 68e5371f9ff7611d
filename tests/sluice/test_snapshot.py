"""A command works on a snapshot of what is built: a `make` beside it changes nothing for it.

A snapshot is a folder in build/snapshots/ with copies of sources and built files, for the time of
one command. `make` holds a lock on the Makefile while it builds. Fixtures: `tree` is a copy of the
whole tree as built, and `small` is a tree with four files that a snapshot needs.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from trees import copy_of_tree, make, plain_environment

from sluice.experiment import run as runs
from sluice.host import paths, snapshot
from sluice.host.limits import HANG_S
from sluice.host.scratch import hold_lock

# A program that prints where it and its child find the kernel and other files
TELL = """\
import os, subprocess, sys
from sluice.host import paths
said = [str(paths.KERNEL), str(paths.MKFS), str(paths.ROOT_FOLDER), str(paths.TREE)]
child = "from sluice.host import paths; print(paths.KERNEL)"
said += subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout.split()
print(*said, *sys.argv[1:])
sys.exit(3)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the tree as built."""
    return copy_of_tree(tmp_path)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a tree with all that a snapshot needs."""
    root = tmp_path / "small"
    for name in ("Makefile", "kernel/a.c", "build/kernel/kernel.elf", "build/root/bin/dd"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"old {name}")
    os.utime(root / "kernel/a.c", (1, 1))
    return root


def wait_for(path: Path) -> None:
    """Wait until this file is there."""
    end_s = time.monotonic() + HANG_S
    while not path.exists():
        assert time.monotonic() < end_s, f"{path} did not come"
        time.sleep(0.01)


def is_locked(root: Path) -> bool:
    """True if a make builds there."""
    try:
        with hold_lock(root / "Makefile", fcntl.LOCK_SH | fcntl.LOCK_NB):
            return False
    except BlockingIOError:
        return True


def test_a_snapshot_has_all_of_the_time_when_it_was_taken_and_ends_with_its_use(
    small: Path,
) -> None:
    """All files are changed after the snapshot was taken."""
    with snapshot.take_snapshot(small) as folder:
        for path in [p for p in small.rglob("*") if p.is_file() and folder not in p.parents]:
            path.write_text("new")
        for name in ("Makefile", "kernel/a.c", "build/kernel/kernel.elf", "build/root/bin/dd"):
            assert (folder / name).read_text() == f"old {name}"
        assert (folder / "kernel/a.c").stat().st_mtime == 1
    assert not list((small / "build/snapshots").iterdir())


def test_a_command_gets_the_parts_that_it_needs(tree: Path) -> None:
    """The printed words say if the twin, the kernel and the kernel's sources are in the
    snapshot."""
    (tree / "build/twin").mkdir(exist_ok=True)
    (tree / "grade/look.py").write_text(
        "from sluice.host.paths import TREE\n"
        "names = 'build/twin', 'build/kernel/kernel.elf', 'kernel/main.c'\n"
        "print(*((TREE / name).exists() for name in names))\n"
    )
    for option, said in (
        ([], "True True True\n"),
        (["--without-twin"], "False True True\n"),
        (["--for-runs"], "True True False\n"),
    ):
        words = ["-m", "sluice.host.snapshot", *option, "-m", "grade.look"]
        line = [tree / ".venv/bin/python", *words]
        done = subprocess.run(line, cwd=tree, capture_output=True, text=True, timeout=HANG_S)
        assert done.stdout == said, done.stderr


def test_a_killed_commands_snapshot_is_removed_by_the_next_and_no_other_is(small: Path) -> None:
    """A snapshot is abandoned if no process holds its lock."""
    abandoned = small / "build/snapshots/abandoned"
    abandoned.mkdir(parents=True)
    with snapshot.take_snapshot(small) as one, snapshot.take_snapshot(small) as other:
        assert not abandoned.exists()
        assert one != other and one.exists() and other.exists()


def test_no_other_command_meets_a_snapshot_that_is_half_gone(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process holds the lock of all snapshots while it removes abandoned ones, and also while it
    removes its own."""
    removed, remove = [], shutil.rmtree

    def look(folder: Path, **how: object) -> None:
        """Remove a snapshot's folder. The lock of all snapshots must be held meanwhile."""
        with (
            pytest.raises(BlockingIOError),
            hold_lock(folder.parent, fcntl.LOCK_EX | fcntl.LOCK_NB),
        ):
            pass
        removed.append(folder)
        remove(folder, **how)

    monkeypatch.setattr(shutil, "rmtree", look)
    with snapshot.take_snapshot(small) as folder:
        pass
    assert removed == [folder]


def test_a_run_removes_its_files_and_those_that_killed_runs_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run's files are in a folder of their own, which is removed also if the run fails."""
    base = tmp_path / "cache" / "under-way"
    abandoned = base / "abandoned"
    abandoned.mkdir(parents=True)
    (abandoned / "root.img").touch()

    def machine(run: object, folder: Path) -> None:
        """Check that only this run's folder is there, and fail."""
        assert list(base.iterdir()) == [folder]
        raise runs.RunFailed("there is no machine")

    monkeypatch.setattr(runs, "UNDER_WAY", base)
    monkeypatch.setattr(runs, "build_machine", machine)
    with pytest.raises(runs.RunFailed, match="there is no machine"):
        runs.make_run(SimpleNamespace(config={}, uses_twin=False), tmp_path / "console")
    assert not list(base.iterdir())


def test_nothing_is_copied_while_a_make_builds(small: Path) -> None:
    """While the lock is held, half of what is built may be changed. The snapshot waits for the
    end."""
    kernel = small / "build/kernel/kernel.elf"
    seen: list[str] = []

    def look() -> None:
        with snapshot.take_snapshot(small) as folder:
            seen.append((folder / kernel.relative_to(small)).read_text())

    other = threading.Thread(target=look)
    with hold_lock(small / "Makefile", fcntl.LOCK_EX):
        other.start()
        wait_for(small / "build/snapshots")
        kernel.write_text("half of")
        other.join(0.2)
        assert not seen
        kernel.write_text("new")
    other.join(HANG_S)
    assert seen == ["new"]


def test_make_is_locked_while_it_builds_and_only_then(tree: Path) -> None:
    """The compiler of this make waits, the first time, until the test lets it go on."""
    os.mkfifo(tree / "go-on")
    slow = tree / "slow-cc"
    slow.write_text(
        "#!/bin/sh\ncase $1 in -dumpmachine) exec cc $1;; esac\n"
        "mkdir first 2> /dev/null && { touch started; read word < go-on; }\n"
        'exec cc "$@"\n'
    )
    slow.chmod(0o755)
    line = ["make", "SETUP=no", "build/mkfs/mkfs", f"HOSTCC={slow}"]
    with subprocess.Popen(line, cwd=tree, env=plain_environment(), text=True) as building:
        wait_for(tree / "started")
        while_it_builds = is_locked(tree)
        (tree / "go-on").write_text("now\n")
        assert building.wait(HANG_S) == 0
    assert while_it_builds
    assert not is_locked(tree)


def test_a_command_and_its_children_work_on_the_snapshot(tree: Path) -> None:
    """The printed paths, also the child's, are in the snapshot. The command's exit status is 3."""
    (tree / "grade/tell.py").write_text(TELL)
    words = ["-m", "sluice.host.snapshot", "-m", "grade.tell", "its", "words"]
    line = [tree / ".venv/bin/python", *words]
    done = subprocess.run(line, cwd=tree, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 3, done.stderr
    *told, one, other = done.stdout.split()
    assert (one, other) == ("its", "words")
    assert len(told) == 5
    assert all(path.startswith(f"{tree}/build/snapshots/") for path in told)
    assert not list((tree / "build/snapshots").iterdir())


def test_a_snapshot_of_another_tree_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names the snapshot for child processes."""
    monkeypatch.setenv(paths.SNAPSHOT, "/elsewhere/build/snapshots/x")
    assert paths.tree_root() == paths.ROOT
    monkeypatch.setenv(paths.SNAPSHOT, str(paths.SNAPSHOTS / "x"))
    assert paths.tree_root() == paths.SNAPSHOTS / "x"


def test_a_make_of_other_sources_beside_a_grading_changes_nothing_of_it(tree: Path) -> None:
    """When the grading has begun it is stopped, dd and the disk's queue are spoilt and built, and
    it goes on."""
    line = ["make", "grade", "LAB=elevator", "TEST=rise", "NONCE=7", "OUT={}"]

    def grading(out: str, beside: bool) -> dict:
        """Return the result of a grading; beside: sources are changed and built meanwhile."""
        words = [word.format(tree / out) for word in line]
        with subprocess.Popen(
            words, cwd=tree, env=plain_environment(), start_new_session=True
        ) as process:
            if beside:
                wait_for(tree / out)
                os.killpg(process.pid, signal.SIGSTOP)
                spoil(tree)
                os.killpg(process.pid, signal.SIGCONT)
            assert process.wait(HANG_S) == 0
        return json.loads((tree / out / "result.json").read_text())

    alone, beside = grading("alone", False), grading("beside", True)
    assert alone["score"] == beside["score"] == 15
    assert alone["tests"] == beside["tests"]


def spoil(tree: Path) -> None:
    """Replace the programs and the kernel by others that do not work."""
    (tree / "user/bin/dd.c").write_text("int main(void)\n{\n    return 1;\n}\n")
    queue = tree / "kernel/disk/queue.c"
    queue.write_text(queue.read_text() + "int spoilt;\n")
    kernel = (tree / "build/kernel/kernel.elf").read_bytes()
    dd = (tree / "build/root/bin/dd").read_bytes()
    make(tree, "SETUP=no")
    assert (tree / "build/kernel/kernel.elf").read_bytes() != kernel
    assert (tree / "build/root/bin/dd").read_bytes() != dd
