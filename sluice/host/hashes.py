"""Hashes of files' bytes. A file that has not changed since its last hash is not read again.

That it has not changed is what the file system says: the same inode, size, and times of the last
write and of the last change. A program that is built again has other ones.
"""

from functools import lru_cache
from hashlib import file_digest
from pathlib import Path

MOST_KEPT = 4096  # of a tree some hundred are hashed


@lru_cache(MOST_KEPT)
def hash_version(path: Path, *_: int) -> str:
    """Return the hash of a file's bytes. The numbers identify this version of the file."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def hash_file(path: Path) -> str:
    """Return the hash of a file's bytes."""
    status = path.stat()
    times = status.st_mtime_ns, status.st_ctime_ns
    return hash_version(path, status.st_dev, status.st_ino, status.st_size, *times)
