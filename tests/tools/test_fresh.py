"""`sluice dev fresh` tries the README's commands in bare Debian systems, which are folders that
root enters (chroot). It leaves no process and no mount, and says why where it cannot work.

The fixture `small` is such a folder, with only a few programs.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typed import enter

from sluice.host.paths import ROOT
from tools.fresh import bareroot
from tools.fresh import command as fresh

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can enter a bare system")
PROGRAMS = ("sh", "umount", "rmdir", "touch", "sleep")  # programs that ENTER and the tests run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a system of a few programs, with the libraries that they need."""
    root = tmp_path / "small"
    for name in ("proc", "sys", "dev", "bin", "tmp", "root/sluice"):
        (root / name).mkdir(parents=True)
    for name in PROGRAMS:
        path = shutil.which(name, path="/usr/bin:/bin")
        shutil.copy(path, root / "bin" / name)
        said = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+)", said):
            place = root / library.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)

    return root


def mounted_below(folder: Path) -> list[str]:
    """Return the mounts of this host below a folder."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in mounts if str(folder) in line]


def is_run(words: str) -> bool:
    """True if a process has these words in its command line."""
    lines = Path("/proc").glob("[0-9]*/cmdline")
    for line in lines:
        try:
            if words.encode() in line.read_bytes().replace(b"\0", b" "):
                return True
        except OSError:
            continue  # it has just ended
    return False


@needs_root
def test_a_command_is_run_in_the_system_and_its_mounts_end_with_it(small: Path) -> None:
    log = small.parent / "log"
    assert bareroot.run_in_copy(small, "echo hello; touch made; exit 7", log, 60) == 7
    assert log.read_text() == "hello\n"
    assert (small / "root/sluice/made").exists()
    assert not (small / ".outside").exists()
    assert mounted_below(small) == []


@needs_root
def test_a_command_that_is_stopped_leaves_no_process_and_no_mount(small: Path) -> None:
    log = small.parent / "log"
    # The limit of 2 s ends the command, with the status of timeout(1).
    assert bareroot.run_in_copy(small, "touch begun; sleep 86399", log, 2) == 124
    assert (small / "root/sluice/begun").exists(), log.read_text()
    assert not is_run("sleep 86399")
    assert mounted_below(small) == []
    bareroot.expect_no_mounts(small)


@needs_root
def test_a_command_ends_with_the_process_that_began_it_even_if_that_was_killed(
    small: Path,
) -> None:
    """The command keeps a pipe open until it ends, so the end of the pipe is the command's end."""
    pipe = small / "root/sluice/pipe"
    os.mkfifo(pipe)
    name = bareroot.run_in_copy.__name__
    words = f"{name}(Path({str(small)!r}), 'exec sleep 86398 > pipe', Path('/dev/null'), 999)"
    line = f"from pathlib import Path; from tools.fresh.bareroot import {name}; {words}"
    began = subprocess.Popen([sys.executable, "-c", line], cwd=ROOT)

    def end_the_wait() -> None:  # below, if the command ended before it opened the pipe
        began.wait()
        pipe.open("w").close()

    threading.Thread(target=end_the_wait, daemon=True).start()
    with pipe.open() as reading:  # waits until the command writes
        assert is_run("sleep 86398")
        began.kill()
        began.wait()
        assert reading.read() == ""  # waits until the command has ended


@needs_root
def test_a_folder_in_which_something_is_mounted_is_not_removed() -> None:
    with pytest.raises(bareroot.NoRoots, match="is mounted: unmount it"):
        bareroot.expect_no_mounts(Path("/dev"))  # has pts, shm and others


def test_where_there_can_be_no_bare_system_one_line_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two options that exclude each other, a user who is not root (1000), and root without the
    program debootstrap."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert enter("dev", "fresh", "--full", "--newest") == 2
    assert "give either --full or --newest" in capsys.readouterr().err
    assert enter("dev", "fresh") == 2
    assert capsys.readouterr().err == (
        "fresh: only root can make a bare system and enter it: use sudo bin/sluice dev fresh\n"
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nonesuch")
    assert enter("dev", "fresh") == 2
    assert re.fullmatch(r"fresh: there is no debootstrap; .*\n", capsys.readouterr().err)


def test_what_pip_fetched_is_the_sum_of_its_log(tmp_path: Path) -> None:
    """The figure is in MB: 16.9 MB and 43 kB."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root/pip.log").write_text(
        "2026-11-28T03:00:00,1   Downloading numpy-2.4.6-cp311-cp311-manylinux.whl (16.9 MB)\n"
        "2026-11-28T03:00:00,2   Downloading zict-3.0.0-py2.py3-none-any.whl (43 kB)\n"
        "2026-11-28T03:00:00,3   Installing collected packages: numpy (1 MB)\n"
    )
    assert fresh.count_pip_downloads(tmp_path) == pytest.approx(16.943)
    assert fresh.count_pip_downloads(tmp_path / "root") == 0


def test_a_command_whose_output_lacks_what_it_must_have_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that does not boot ends `make qemu` with status 0 all the same."""

    def says(root: Path, command: str, log: Path, limit_s: float) -> int:
        """Pretend that the command prints its own name only, and succeeds."""
        with log.open("a") as out:
            out.write(f"{command}\n")
        return 0

    monkeypatch.setattr(fresh, "run_in_copy", says)
    log = tmp_path / "log"
    assert fresh.run_step(tmp_path, fresh.Step("a prompt", "prompt"), log).status == 0
    assert fresh.run_step(tmp_path, fresh.Step("nothing", "prompt"), log).status == 1
