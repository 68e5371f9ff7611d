"""Make folders for work in progress. Each is removed when its work ends. If its command was killed,
the next command that makes a folder at the same place removes it.

- All folders at one place are in one folder, `base`, which has nothing else in it.
- A folder is locked (flock(2)) from its making to the end of its removal. A lock ends with the
  process that holds it, so a folder that is not locked is abandoned.
- Folders are made and removed under the lock of their base. So a process that holds this lock sees
  no folder that is not locked yet, or is half removed.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

BASE = "under-way"  # the name of a base in a folder that also has other files


@contextmanager
def hold_lock(path: Path, how: int) -> Iterator[None]:
    """Hold a lock on a file or folder (flock(2)) during the context. Raises BlockingIOError with
    LOCK_NB."""
    opened = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(opened, how)
        yield
    finally:
        os.close(opened)


def remove_abandoned(base: Path) -> None:
    """Remove the folders whose commands were killed. The caller holds the lock of the base."""
    for folder in base.iterdir():
        try:
            with hold_lock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
                shutil.rmtree(folder)
        except BlockingIOError:
            pass  # in use


@contextmanager
def scratch_folder(base: Path) -> Iterator[Path]:
    """Make a new folder in the base, for the time of the context.

    Makes the base, too. Yields the folder.
    """
    base.mkdir(parents=True, exist_ok=True)
    with ExitStack() as in_use:
        with hold_lock(base, fcntl.LOCK_EX):
            remove_abandoned(base)
            folder = Path(tempfile.mkdtemp(dir=base))
            in_use.enter_context(hold_lock(folder, fcntl.LOCK_SH))
        try:
            yield folder
        finally:
            with hold_lock(base, fcntl.LOCK_EX):
                shutil.rmtree(folder, ignore_errors=True)
