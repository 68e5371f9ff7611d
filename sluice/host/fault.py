"""Failures of this machine or of the grader itself. They say nothing about what is being graded, so
they never become a score: whoever catches HostFault says that there is no result, and why.

An error of the operating system whose number is in HOST cannot come from a wrong value that a
submission left behind. Other errors may, so they are judged by a control: the same step is done
with the staff's own files (tree.py, grading.py).
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
    """This machine or the grader failed; the text says how, and what to do now."""


def is_of_host(error: BaseException) -> bool:
    """True if no submission can have led to this error."""
    of_system = isinstance(error, OSError) and error.errno in HOST
    return of_system or isinstance(error, HostFault | MemoryError)


def what_failed(error: BaseException) -> str:
    """Return a line that says what went wrong, for a person who can mend it."""
    if isinstance(error, MemoryError):
        return "this machine has no memory left"
    if not isinstance(error, OSError) or not error.strerror:
        return str(error) if isinstance(error, HostFault) else f"{type(error).__name__}: {error}"
    where = f"{error.filename}: " if error.filename is not None else ""
    room = "; make room there, or name another place by OUT= and TMPDIR="
    return f"{where}{error.strerror}{room if error.errno in FULL else ''}"


def enterable(folder: Path) -> bool:
    """True if every user of this machine may enter the folder: all folders above it say so."""
    return all(path.stat().st_mode & 0o001 for path in (folder, *folder.parents))
