"""Runs a stranger's build: without network, with the labs out of sight, as another user.

As far as the machine lets us. As root, all of that; root in a container that may make no
namespaces, only as another user (then hide the labs by their modes); as any other user, in
namespaces of its own. Files may grow to FILE_BYTES, and no process outlives the call.
"""

import os
import pwd
import resource
import shutil
import signal
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grade.scoring.lab import LABS

FILE_BYTES = 64 << 20
USER = "nobody"
NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child")
HIDE = 'mount -t tmpfs -o ro none "$1" && shift && exec "$@"'


class TooLong(Exception):
    """The time was up."""


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it said."""

    status: int
    text: str


@cache
def namespaces() -> tuple[str, ...]:
    """The command before a command that keeps it apart; nothing if there are none to be had."""
    unshare = shutil.which("unshare")
    for way in ((), ("--map-root-user",)) if unshare else ():
        words = (unshare, *way, *NAMESPACES)
        if not subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
            return words
    return ()


@cache
def other_user() -> tuple[str, ...]:
    """The command before a command that has it run as another user; only root may."""
    if os.geteuid():
        return ()
    user = pwd.getpwnam(USER)
    ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}")
    return ("setpriv", *ids, "--clear-groups", "--no-new-privs")


def words(command: list[str]) -> list[str]:
    """The command line that keeps the command apart."""
    inner = [*other_user(), *command]
    if not namespaces():
        return inner
    return [*namespaces(), "sh", "-c", HIDE, "sh", str(LABS), *inner]


def give(folder: Path) -> None:
    """Make the folder and all in it the other user's."""
    if not other_user():
        return
    user = pwd.getpwnam(USER)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)


def limits() -> None:
    """In the child, before exec."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command: list[str], folder: Path, env: dict[str, str], limit_s: float) -> Said:
    """Run the command in the folder, apart; raises TooLong."""
    process = subprocess.Popen(
        words(command),
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=limits,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise TooLong from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return Said(process.returncode, said.decode(errors="replace"))
