"""Writes files of experiments whole or not at all, and makes each image once.

mkfs makes an image from its options, and the bytes are the same each time. The image is kept in the
cache under the hash of what it was made from; results identify it by the hash of its bytes. Runs
read it and leave it as it is: their disks are in memory.
"""

import errno
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from sluice.host.hashes import hash_file
from sluice.host.paths import BUILD, KEPT, MKFS, ROOT_FOLDER
from sluice.host.scratch import BASE, scratch_folder
from sluice.system import image
from sluice.system.image import Content

FOLDER = BUILD / "experiments"
CACHE = KEPT / "cache"
PIECE = 1 << 16  # bytes


def write_atomically(path: Path, what: str | bytes) -> None:
    """Write the file atomically: no reader sees a part of it. A device or a pipe stays where it is
    and gets the bytes: as root, a file would take the place of /dev/null."""
    data = what.encode() if isinstance(what, str) else what
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    part = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    part.write_bytes(data)
    part.replace(path)


def hash_value(what: object) -> str:
    """Return the hash of any value that JSON can hold."""
    return sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


@cache
def hash_mkfs() -> str:
    """Return the hash of the program that makes images."""
    return hash_file(MKFS)


def data_pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and bytes of each piece of a sparse file that is not all zeros. Holes are
    not read."""
    size = path.stat().st_size
    with path.open("rb", buffering=0) as file:
        at = 0
        while at < size:
            try:
                data = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # there are only holes from here on
                    return
                raise
            at = data // PIECE * PIECE
            found = os.pread(file.fileno(), PIECE, at)
            if found.count(0) < len(found):
                yield at, found
            at += PIECE


def hash_sparse(path: Path) -> str:
    """Return the hash of a file's size and bytes. Where its holes are makes no difference."""
    found = sha256(str(path.stat().st_size).encode())
    for at, piece in data_pieces(path):
        found.update(at.to_bytes(8, "little") + piece)
    return found.hexdigest()


@dataclass(frozen=True)
class Image:
    """An image in the cache, and the hash of its bytes."""

    path: Path
    digest: str


@cache
def program_hashes() -> dict[str, str]:
    """Return the hash of every program of the tree, by name."""
    return {path.name: hash_file(path) for path in sorted(ROOT_FOLDER.glob("bin/*"))}


def clear_hashes() -> None:
    """Clear the cached hashes, because the programs may have been built again since."""
    hash_mkfs.cache_clear()
    program_hashes.cache_clear()


def cached_image(content: Content) -> Image:
    """Return the image of this content from the cache, in which it is made if necessary."""
    made_from = {
        "mkfs": hash_mkfs(),
        "programs": {
            name: digest for name, digest in program_hashes().items() if content.has_program(name)
        },
        "files": {name: sha256(data).hexdigest() for name, data in content.files.items()},
        "links": content.links,
        "rc": content.rc,
        "words": [content.size, content.block, *content.options],
        "log": [content.log_places, content.log_summaries, content.log_seed],
    }
    path = CACHE / f"{hash_value(made_from)[:32]}.img"
    digest = path.with_suffix(".sha256")
    if not digest.exists():
        with scratch_folder(CACHE / BASE) as folder:
            made = image.make_image(folder / "new.img", content)
            made.replace(path)
        write_atomically(digest, hash_sparse(path))
    return Image(path, digest.read_text(encoding="utf-8"))
