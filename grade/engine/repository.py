"""Make a folder a git repository with one commit, the same each time.

The commit's author, date and message are fixed, and the host's own git settings are ignored. So
the same files have the same commit id on every machine. The student who gets
the repository commits under their own name.
"""

import os
import subprocess
from pathlib import Path

from grade.definition.lab import BadLab

BRANCH = "main"
WHO, MAIL, WHEN = "Sluice", "sluice@localhost", "2026-01-01T00:00:00+00:00"
ALONE = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": WHO,
    "GIT_AUTHOR_EMAIL": MAIL,
    "GIT_AUTHOR_DATE": WHEN,
    "GIT_COMMITTER_NAME": WHO,
    "GIT_COMMITTER_EMAIL": MAIL,
    "GIT_COMMITTER_DATE": WHEN,
}


def run_git(folder: Path, *words: str) -> str:
    """Run git in the folder and return its output. Raises BadLab if git is missing or fails."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            env=inherited | ALONE,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
    except FileNotFoundError:
        raise BadLab("git is missing: install the package git") from None
    if done.returncode:
        raise BadLab(f"{folder}: git {words[0]}: {done.stderr.strip()}")
    return done.stdout


def commit_all(folder: Path, message: str) -> None:
    """Make the folder a repository, and commit everything in it that .gitignore does not name."""
    run_git(folder, "init", "-q", "--template=", f"--initial-branch={BRANCH}")
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "-q", "-m", message)
