"""Run compilers and linkers in a sandbox, because their input is not trusted.

A command reads the folder `$TREE` and writes into the folder `$WORK`, which is removed at the end.
Only its standard output leaves the sandbox. Where the machine allows it (bubblewrap), the command
has namespaces of its own. It sees only `$TREE`, read-only, `$WORK`, and the programs that it was
given, with their libraries: no other file of the host, no /proc, no network, no process of others.
No process outlives the call.

On every machine the command has an environment of a few fixed variables, and limits: FILE_BYTES for
a file, MEMORY_BYTES and CPU_S for a process, PROCESSES at once. If the caller is root, the command
runs as a user without an account, which no other call uses at the time, and at the end all
processes of that user are killed. Without namespaces, as in most containers, the command sees the
files that every user may read. Without root and namespaces it runs as you. grade/labs/TRUST.md says
what follows from that.

A shell in the sandbox tries both folders and prints a sign before it becomes the command. Without
the sign the sandbox failed, not the command: this raises HostFault.
"""

import os
import pwd
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from select import select
from typing import BinaryIO

from sluice.host.fault import HostFault, describe_fault, is_enterable

FILE_BYTES = 64 << 20
WORK_BYTES = 256 << 20  # all files in $WORK together; only with namespaces
MEMORY_BYTES = 512 << 20
PROCESSES = 64
# After CPU_S a process gets SIGXCPU, for which there is a message; CPU_MORE_S later, SIGKILL.
CPU_S, CPU_MORE_S = 60, 5
MOST_SAID = 64 << 10  # bytes kept of the end of messages
FIRST_USER, USERS, CALLS = (
    20_000,
    40_000,
    16,
)  # ids of users; CALLS spreads the processes' first tries
TREE, WORK = Path("/tree"), Path("/work")  # the two folders in the sandbox's namespaces
MERGED = tuple(map(Path, ("/bin", "/sbin", "/lib", "/lib64")))  # links into /usr on most systems
# The command is process 1 of its namespace: all others end with it, and its time is counted.
APART = ("--unshare-pid", "--as-pid-1", "--unshare-net", "--unshare-ipc", "--unshare-uts")

ENDED = "Z"  # the state of a process that has ended and was not waited for
LINGER_S = 60  # the most that a killed process may take to end


class TooLong(Exception):
    """The command did not end within its time."""


@dataclass(frozen=True)
class Apart:
    """A folder made for a command in the sandbox. It may be given to another user."""

    path: Path


PLACES = ("/tmp", "/var/tmp", "/dev/shm")


@cache
def choose_folder(usual: str) -> str:
    """Return the folder for the sandbox's files: `usual`, or one of PLACES.

    If root calls, the user as whom the command will run must be able to enter it. Raises HostFault
    if this user can enter none.
    """
    if os.geteuid() or is_enterable(Path(usual).resolve()):
        return usual
    for other in PLACES:
        if os.access(other, os.W_OK) and is_enterable(Path(other).resolve()):
            return other
    raise HostFault(
        f"{usual}: only root may enter this folder, and the compiler of a submission runs as "
        "another user: set TMPDIR to a folder that every user may enter"
    )


@contextmanager
def sandbox_folder() -> Iterator[Apart]:
    """Enter a context with an empty folder for a command."""
    where = choose_folder(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix="sluice-tree-", dir=where) as name:
        yield Apart(Path(name))


@dataclass(frozen=True)
class Made:
    """The result of a command: its status, its output, and its messages."""

    status: int
    data: bytes
    text: str


# ---- what is inside ----


@cache
def find_libraries(programs: frozenset[Path]) -> frozenset[Path]:
    """Return the programs and the libraries that they need, with their folders' real paths."""
    said = subprocess.run(
        ["ldd", *programs], capture_output=True, text=True, check=False, encoding="utf-8"
    ).stdout
    # ldd prints a line for each library, which begins with a tab and has the library's path.
    words = {word for line in said.splitlines() if line[:1] == "\t" for word in line.split()}
    libraries = {Path(word) for word in words if word.startswith("/")}
    return frozenset(path.parent.resolve() / path.name for path in programs | libraries)


def view_options(programs: frozenset[Path], folders: frozenset[Path]) -> list[str]:
    """Return the options of bubblewrap that show these files, read-only.

    They also make an empty /work, /tmp and /proc.
    """
    alone = {path for path in find_libraries(programs) if not folders & set(path.parents)}
    shown = alone | folders
    line = ["--dev", "/dev", "--symlink", str(WORK), "/tmp"]
    for parent in sorted({Path("/proc"), TREE}.union(*(path.parents for path in shown))):
        line += ["--perms", "0755", "--dir", str(parent)]
    for link in filter(Path.is_symlink, MERGED):
        line += ["--symlink", str(link.readlink()), str(link)]
    for path in sorted(shown):
        line += ["--ro-bind", str(path.resolve()), str(path)]
    line += ["--perms", "1777", "--size", str(WORK_BYTES), "--tmpfs", str(WORK)]
    return [*line, "--remount-ro", "/"]


# ---- whose it is ----


def has_account(user: int) -> bool:
    """Return True if there is an account of this number."""
    try:
        return bool(pwd.getpwuid(user))
    except KeyError:
        return False


def user_processes(user: int) -> Iterator[Path]:
    """Yield the folders in /proc of this user's processes.

    Processes that have ended and were not waited for are among them, because the limit counts them.
    """
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if path.stat().st_uid == user:
                yield path


def is_running(path: Path) -> bool:
    """Return True if the process of a folder in /proc has not ended."""
    with suppress(OSError):
        return (path / "stat").read_text(encoding="utf-8").rpartition(") ")[2][0] != ENDED
    return False


@contextmanager
def borrow_user() -> Iterator[int]:
    """Enter a context with a user number without an account, which no other call has.

    Without root it is your own number. An abstract socket with the number as its name reserves the
    number; it disappears when its process ends. Raises HostFault.
    """
    if os.geteuid():
        yield os.geteuid()
        return
    first = os.getpid() * CALLS
    for i in range(USERS):
        user = FIRST_USER + (first + i) % USERS
        with socket.socket(socket.AF_UNIX) as sign:
            try:
                sign.bind(f"\0sluice-user-{user}")
            except OSError:
                continue
            if not has_account(user) and not any(user_processes(user)):
                yield user
                return
    raise HostFault("no number of a user is free for a submission's compiler: end old processes")


def user_command(user: int) -> list[str]:
    """Return the words to put before a command, so that it runs as that user and without rights."""
    if os.geteuid():
        return []
    ids = [f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]
    return [shutil.which("setpriv") or "setpriv", *ids, "--bounding-set=-all", "--inh-caps=-all"]


def change_owner(folder: Apart, user: int) -> None:
    """Make that user the owner of the folder and of everything in it."""
    if not os.geteuid():
        for path in (folder.path, *folder.path.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)


def kill_user_processes(user: int) -> None:
    """Kill that user's processes until there are none. The user must be one of borrow_user."""
    while not os.geteuid() and any(map(is_running, user_processes(user))):
        line = [*user_command(user), "sh", "-c", "kill -s KILL -- -1"]
        subprocess.run(line, capture_output=True, check=False)


# ---- how it is kept ----


def bwrap_command(user: int, programs: frozenset[Path], folders: frozenset[Path]) -> list[str]:
    """Return the words of bubblewrap to put before a command, except those that show the tree."""
    own = [] if not os.geteuid() else ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    kept = frozenset(Path(word) for word in user_command(user)[:1])
    line = [
        shutil.which("bwrap") or "bwrap",
        "--die-with-parent",
        *APART,
        "--unshare-cgroup-try",
        *own,
    ]
    return [*line, *view_options(programs | kept, folders)]


@cache
def has_namespaces() -> bool:
    """Return True if bubblewrap can make namespaces here."""
    if not shutil.which("bwrap"):
        return False
    true = Path(shutil.which("true") or "/bin/true")
    with borrow_user() as user:
        before = bwrap_command(user, frozenset({true}), frozenset())
        line = [*before, *user_command(user), str(true)]
        return not subprocess.run(line, capture_output=True, check=False).returncode


def describe_weakness() -> str:
    """Return what is weaker here than with namespaces, for the staff; empty if nothing is."""
    if has_namespaces():
        return ""
    who, what = ("you", "you") if os.geteuid() else ("a user of its own", "every user")
    return f"without namespaces, as {who}: a compiler may read what {what} may"


def set_limits(file_bytes: int, cpu_s: int, others: int) -> None:
    """Set the limits of a child process; called in it before exec.

    others: the number of processes that the user has already.
    """
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + CPU_MORE_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (others + PROCESSES, others + PROCESSES))


def count_tasks(user: int) -> int:
    """Return the number of that user's tasks; the limit on processes is on this number."""
    return sum(len(list(path.glob("task/*"))) for path in user_processes(user))


@contextmanager
def command_context(
    user: int, tree: Apart, programs: frozenset[Path], folders: frozenset[Path]
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Enter a context with the words before the command, and its environment."""
    path = ":".join(sorted({str(program.parent) for program in programs}))
    env = {"PATH": path, "LC_ALL": "C"}
    if has_namespaces():
        env |= {"TREE": str(TREE), "WORK": str(WORK), "TMPDIR": str(WORK)}
        libraries = {str(file.parent) for file in find_libraries(programs) - programs}
        env["LD_LIBRARY_PATH"] = ":".join(sorted(libraries))
        line = bwrap_command(user, programs, folders)
        yield [*line, "--ro-bind", str(tree.path), str(TREE), "--chdir", str(TREE)], env
        return
    with sandbox_folder() as work:
        change_owner(work, user)
        place = str(work.path)
        yield [], env | {"TREE": str(tree.path), "WORK": place, "TMPDIR": place}


def has_ended(process: subprocess.Popen[bytes], limit_s: float) -> bool:
    """Return True if the process ends within this time.

    Where the host has pidfds, the process is not reaped, so that its number is not used again.
    """
    if not hasattr(os, "pidfd_open"):  # macOS
        with suppress(subprocess.TimeoutExpired):
            process.wait(limit_s)
        return process.poll() is not None
    ended = os.pidfd_open(process.pid)
    try:
        return bool(select([ended], [], [], limit_s)[0])
    finally:
        os.close(ended)


def wait_for_command(
    process: subprocess.Popen[bytes], limit_s: float, user: int, open_until_ended: int
) -> None:
    """Wait until the command has ended. Raises TooLong.

    Then none of its processes is left. The exception, on a machine without namespaces and root, is
    a process that left the command's process group. open_until_ended: the reading end of a pipe
    whose writing end only the command's processes have.
    """
    try:
        if not has_ended(process, limit_s):
            raise TooLong
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # no other process has this number yet
        process.wait()
        kill_user_processes(user)
        select([open_until_ended], [], [], LINGER_S)


@contextmanager
def open_pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Enter a context with the two ends of a pipe: to read from, and to write to."""
    ends = os.pipe()
    with os.fdopen(ends[0], "rb") as read, os.fdopen(ends[1], "wb") as write:
        yield read, write


def run_command(
    command: list[str],
    tree: Apart,
    programs: frozenset[Path],
    folders: frozenset[Path],
    limit_s: float,
    file_bytes: int = FILE_BYTES,
    cpu_s: int = CPU_S,
) -> Made:
    """Run the command in the sandbox and return how it ended, its output and its messages.

    Raises TooLong, and HostFault if the command was never started. Only the end of its messages is
    kept. programs: the files that it may execute. folders: the folders of the host that it sees.
    """
    try:
        executable = programs | {find_shell()}
        return run_once(command, tree, executable, folders, limit_s, file_bytes, cpu_s)
    except (OSError, subprocess.SubprocessError) as error:
        raise HostFault(f"the sandbox of a submission: {describe_fault(error)}") from None


@cache
def find_shell() -> Path:
    """Return the path of the shell that becomes the command."""
    return Path(shutil.which("sh") or "/bin/sh")


def start_command(sign: str) -> list[str]:
    """Return the words before a command that start a shell, which becomes the command.

    The shell first tries both folders and then prints the sign.
    """
    tried = 'cd "$TREE" && unset OLDPWD && test -w "$WORK" && test -x "$WORK"'
    script = f'{tried} && echo "$0" >&2 && exec "$@"'
    return [str(find_shell()), "-c", script, sign]


def read_messages(said: BinaryIO, sign: str, status: int) -> str:
    """Return the end of the command's messages. Raises HostFault if no sign stands before them."""
    said.seek(0)
    before, mark, first = said.read(MOST_SAID).decode(errors="replace").partition(f"{sign}\n")
    if not mark:
        why = before.strip() or f"it ended with status {status}"
        raise HostFault(f"the sandbox of a submission does not start: {why}")
    if said.seek(0, os.SEEK_END) <= MOST_SAID:
        return first
    said.seek(-MOST_SAID, os.SEEK_END)
    return said.read().decode(errors="replace")


def run_once(
    command: list[str],
    tree: Apart,
    programs: frozenset[Path],
    folders: frozenset[Path],
    limit_s: float,
    file_bytes: int,
    cpu_s: int,
) -> Made:
    """Run the command like `run_command`, which turns this function's OSError into HostFault."""
    sign = f"begun-{secrets.token_hex(8)}"
    with ExitStack() as stack:
        user = stack.enter_context(borrow_user())
        change_owner(tree, user)
        made = stack.enter_context(tempfile.TemporaryFile())
        said = stack.enter_context(tempfile.TemporaryFile())
        ended, not_ended = stack.enter_context(open_pipe())
        before, env = stack.enter_context(command_context(user, tree, programs, folders))
        process = subprocess.Popen(
            [*before, *user_command(user), *start_command(sign), *command],
            cwd=tree.path,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=made,
            stderr=said,
            preexec_fn=partial(set_limits, file_bytes, cpu_s, count_tasks(user)),
            start_new_session=True,
            pass_fds=(not_ended.fileno(),),
        )
        not_ended.close()
        wait_for_command(process, limit_s, user, ended.fileno())
        made.seek(0)
        text = read_messages(said, sign, process.returncode)
        return Made(process.returncode, made.read(), text)
