"""Runs a stranger's build: without network, with the labs out of sight, as another user.

As far as the machine lets us. As root, all of that; root in a container that may make no
namespaces, only as another user (then hide the labs by their modes); as any other user, in
namespaces of its own. Files, and what it says, may grow to FILE_BYTES, a process to MEMORY_BYTES;
each may compute for CPU_S, and no process outlives the call.
"""

import os
import pwd
import resource
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grade.scoring.lab import LABS

FILE_BYTES = 64 << 20
MEMORY_BYTES = 512 << 20
CPU_S = 60
MOST_SAID = 64 << 10  # bytes, of the end
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
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command: list[str], folder: Path, env: dict[str, str], limit_s: float) -> Said:
    """Run the command in the folder, apart; raises TooLong. Of what it says, the end."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            words(command),
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            preexec_fn=limits,
            start_new_session=True,
        )
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise TooLong from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(max(0, said.seek(0, os.SEEK_END) - MOST_SAID))
        return Said(process.returncode, said.read().decode(errors="replace"))
