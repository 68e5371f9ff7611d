"""Recognise failures of this machine or of the grader itself. They say nothing about the
submission, so they never become a score: code that catches HostFault reports that there is no
result, and why.

A submission cannot cause an error of the operating system whose number is in HOST. It may have
caused another error, so a control follows: the same step is done with the staff's own files
(tree.py, grading.py).
"""

import errno
from pathlib import Path

HOST = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO),  # the disk
    *(errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE),  # memory, processes, open files
    *(errno.EACCES, errno.EPERM),
}
FULL = {errno.ENOSPC, errno.EDQUOT}


class HostFault(Exception):
    """A failure of this machine or of the grader; the text says how, and what to do now."""


def is_host_fault(error: BaseException) -> bool:
    """Return whether no submission can have caused this error."""
    of_system = isinstance(error, OSError) and error.errno in HOST
    return of_system or isinstance(error, HostFault | MemoryError)


def describe_fault(error: BaseException) -> str:
    """Return a line that says what went wrong, for a person who can mend it."""
    if isinstance(error, MemoryError):
        return "this machine has no memory left"
    if not isinstance(error, OSError) or not error.strerror:
        return str(error) if isinstance(error, HostFault) else f"{type(error).__name__}: {error}"
    where = f"{error.filename}: " if error.filename is not None else ""
    room = "; free space there, or name another place by --out and TMPDIR="
    return f"{where}{error.strerror}{room if error.errno in FULL else ''}"


def is_enterable(folder: Path) -> bool:
    """Return whether every user of this machine may enter the folder and all folders above it."""
    return all(path.stat().st_mode & 0o001 for path in (folder, *folder.parents))
