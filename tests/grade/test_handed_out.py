"""The tree that a student gets: a repository, with what editors and containers want, that says what
it lacks. Where it can be tried here, every command of it is.

`handed_out` is the tree of the lab smooth, in which delayed-write is solved (SOLVED) and the
functions of other labs are stubs.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from trees import make

from grade.definition.lab import BadLab, Lab, find_lab
from grade.engine import repository, tree

LAB = "smooth"
SOLVED = frozenset({"delayed-write"})


@pytest.fixture(scope="module")
def lab() -> Lab:
    """Return the lab smooth."""
    return find_lab(LAB)


@pytest.fixture(scope="module")
def handed_out(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the student's tree."""
    out = tmp_path_factory.mktemp("student") / "tree"
    tree.make_skeleton(lab, out, {}, solved=SOLVED)
    return out


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and return its output."""
    return subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def boot(folder: Path) -> str:
    """Return the commands of `make qemu`, each on one line, without running them."""
    return make(folder, "-n", "SETUP=no", "qemu").stdout.replace("\\\n", " ")


def test_it_is_a_repository_with_one_commit_and_nothing_left_to_commit(handed_out: Path) -> None:
    """`tracked` are the files in the commit."""
    assert git(handed_out, "rev-list", "--count", "HEAD") == "1"
    assert git(handed_out, "status", "--porcelain") == ""
    tracked = set(git(handed_out, "ls-files").splitlines())
    wanted = {"Makefile", ".editorconfig", ".vscode/launch.json", "tools/gdb/editor.sh"}
    assert wanted | {f"grade/labs/{LAB}/reference.elf"} <= tracked
    assert git(handed_out, "log", "--format=%s") == f"The lab {LAB}, as it was handed out"


def test_it_is_the_same_to_the_byte_each_time_whatever_git_was_told(
    handed_out: Path, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id of a commit is a hash of all files, of the message, the author and the date."""
    own = tmp_path / ".gitconfig"
    own.write_text(
        "[user]\n\tname = Somebody\n\temail = else@example.org\n[commit]\n\tgpgsign = true\n"
        "[core]\n\tautocrlf = true\n[init]\n\tdefaultBranch = other\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    mask = os.umask(0o077)
    try:
        tree.make_skeleton(lab, tmp_path / "again", {}, solved=SOLVED)
    finally:
        os.umask(mask)
    monkeypatch.delenv("GIT_DIR")
    assert git(tmp_path / "again", "rev-parse", "main") == git(handed_out, "rev-parse", "main")


def test_without_git_there_is_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is found on this path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadLab, match="install the package git"):
        repository.commit_all(tmp_path, "a message")


def test_a_commit_that_fails_is_told(tmp_path: Path) -> None:
    """The folder is no repository and has no files."""
    with pytest.raises(BadLab, match="git commit"):
        repository.commit_all(tmp_path, "of nothing")


def test_it_has_what_editors_and_containers_want(handed_out: Path) -> None:
    """A development container, settings of editors, and compile_commands.json, which git
    ignores."""
    settings = json.loads((handed_out / ".devcontainer/devcontainer.json").read_text())
    dockerfile = handed_out / ".devcontainer" / settings["build"]["dockerfile"]
    assert "tools/setup.sh" in dockerfile.read_text()
    assert "indent_style = tab" in (handed_out / ".editorconfig").read_text()
    make(handed_out, "SETUP=no", "compile_commands.json")
    entries = json.loads((handed_out / "compile_commands.json").read_text())
    assert "policies/update/aipu.c" in {entry["file"] for entry in entries}
    assert {entry["directory"] for entry in entries} == {str(handed_out)}
    assert git(handed_out, "status", "--porcelain") == "", "git must not see it"


def test_it_says_what_other_labs_leave_open_when_it_boots(handed_out: Path) -> None:
    """The note names clook_next, of the lab elevator, and not aipu_scan, which is this lab's."""
    line = "- `clook_next` in `policies/sched/clook.c` (the lab elevator): So far requests are "
    assert line in (handed_out / tree.UNSOLVED).read_text()
    assert "aipu_scan" not in (handed_out / tree.UNSOLVED).read_text(), "that is this lab's"
    note = next(
        line for line in boot(handed_out).splitlines() if line.startswith("echo 'note:")
    )  # with the line that it goes on in
    said = subprocess.run(["sh", "-c", note], cwd=handed_out, capture_output=True, text=True).stdout
    assert re.search(
        r"do less than they should:.* clook_next .*; grade/labs/UNSOLVED.md says", said
    )
    assert "aipu_scan" not in said
    assert "Yours in the lab elevator" in (handed_out / "policies/sched/clook.c").read_text()


def test_a_tree_that_lacks_nothing_says_nothing(lab: Lab, tmp_path: Path) -> None:
    """All other labs are solved in it."""
    others = frozenset(other.name for other in tree.other_labs(lab))
    made = tree.make_skeleton(lab, tmp_path, {}, solved=others)
    assert made.left == ()
    assert not (tmp_path / tree.UNSOLVED).exists()
    assert tree.UNSOLVED not in boot(tmp_path)
