"""Make bare Debian systems, in which commands are tried as on a machine that has nothing yet.

- A system is a folder that debootstrap makes. It is kept in the user's cache, next to the Python
  packages that tools/setup.sh puts there, and made anew after MAX_AGE_S. Nothing is run in it: each
  use gets a copy.
- A command in a copy has mounts and processes of its own (unshare(1)). The kernel ends both with
  the command, however that ends, so no mount can be left behind.
- The copy becomes the root of those mounts (pivot_root), and not only of a process (chroot), since
  the kernel makes no namespaces for a process in a chroot, and the grader would do without.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sluice.host.limits import HANG_S
from sluice.host.scratch import scratch_folder

MAX_AGE_S = 30 * 24 * 3600
INCLUDED = "ca-certificates,git,make"  # what README says that a reader needs
TOOLS = ("debootstrap", "unshare", "pivot_root")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# The settings that lead to the package index, if this machine has a way of its own.
NETWORK = re.compile(r"\w+_proxy|PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|CERT)", re.I)
ENTER = """\
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mkdir -p .outside
pivot_root . .outside
umount -l /.outside
rmdir /.outside
cd /root/sluice
exec sh -c "$2"
"""


class NoRoots(RuntimeError):
    """Bare systems cannot be made or used here; the text says why, and what to do."""


def expect_possible() -> None:
    """Raise NoRoots unless this machine can make a system and enter it."""
    if os.geteuid() != 0:
        raise NoRoots(
            "only root can make a bare system and enter it: use sudo bin/sluice dev fresh"
        )
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        names = "debootstrap debian-archive-keyring util-linux"
        raise NoRoots(f"there is no {missing[0]}; on Debian: apt-get install {names}")
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True)
    if tried.returncode:
        raise NoRoots("this machine makes no namespaces (unshare --mount --pid failed)")


def cache_folder() -> Path:
    """Return the folder that keeps systems."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "sluice" / "debian"


def find_system(suite: str) -> Path:
    """Return the kept system of a Debian release. Raises NoRoots.

    The system is made if there is none, or if it is old.
    """
    kept = cache_folder() / f"{suite}+{INCLUDED}"
    if kept.exists() and time.time() - kept.stat().st_mtime < MAX_AGE_S:
        return kept
    print(f"making a bare {suite} by debootstrap, which later runs use again", file=sys.stderr)
    with scratch_folder(cache_folder() / "under-way") as folder:
        made = folder / suite
        line = ["debootstrap", "--variant=minbase", f"--include={INCLUDED}", suite, str(made)]
        done = subprocess.run(
            line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
        )
        if done.returncode:
            last = (done.stdout.strip().splitlines() or ["it said nothing"])[-1]
            raise NoRoots(f"debootstrap made no {suite}: {last}")
        if kept.exists():
            shutil.rmtree(kept)
        made.rename(kept)
        os.utime(kept)
    return kept


def expect_no_mounts(folder: Path) -> None:
    """Raise NoRoots if anything is mounted in a folder that is about to be removed."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        if line.split()[4].startswith(f"{folder}/"):
            raise NoRoots(f"{line.split()[4]} is mounted: unmount it, then remove {folder}")


@contextmanager
def bare_system(suite: str, source: Path, folder: Path) -> Iterator[Path]:
    """Enter a context with a copy of a bare system.

    It has a clone of the repository `source` in /root/sluice. folder: where copies are put. Raises
    NoRoots.
    """
    kept = find_system(suite)
    with scratch_folder(folder) as place:
        root = place / suite
        subprocess.run(["cp", "-a", "--reflink=auto", kept, root], check=True)
        for path in (Path("/etc/resolv.conf"), Path("/etc/hosts"), CERTIFICATES):
            if path.exists():
                shutil.copy(path, root / path.relative_to("/"))
        line = ["git", "clone", "--quiet", "--no-hardlinks", str(source), str(root / "root/sluice")]
        done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8")
        if done.returncode:
            raise NoRoots(f"{source} cannot be cloned: {done.stderr.strip()}")
        yield root
        expect_no_mounts(place)


def end_process(process: subprocess.Popen) -> None:
    """End the process that unshare(1) started, if it has not ended.

    Its child is the first process of the namespace: when that is killed, unshare ends only after
    the kernel has ended all others.
    """
    with suppress(OSError):  # it has ended
        children = (
            Path(f"/proc/{process.pid}/task/{process.pid}/children")
            .read_text(encoding="utf-8")
            .split()
        )
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        if children:
            process.wait(HANG_S)
    process.kill()
    process.wait()


def run_in_copy(root: Path, command: str, log: Path, limit_s: float) -> int:
    """Run a shell command in a copy's clone, with its output in a file.

    Returns its status, or 124 if it took longer than the limit.
    """
    passed = {name: value for name, value in os.environ.items() if NETWORK.fullmatch(name)}
    env = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PIP_LOG": "/root/pip.log",
        **passed,
    }
    line = ["setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"]
    line += ["sh", "-c", ENTER, "enter"]
    with log.open("a", encoding="utf-8") as out:
        process = subprocess.Popen(
            [*line, str(root), command],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return 124
        finally:
            end_process(process)
