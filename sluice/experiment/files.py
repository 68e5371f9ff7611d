"""Files of experiments: they are written whole or not at all, and images are made once.

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
from hashlib import file_digest, sha256
from pathlib import Path

from sluice.host.paths import BUILD, MKFS, ROOT_FOLDER
from sluice.host.scratch import BASE, scratch
from sluice.system import image
from sluice.system.image import Content

FOLDER = BUILD / "experiments"
CACHE = FOLDER / "cache"
PIECE = 1 << 16  # bytes


def write_whole(path: Path, what: str | bytes) -> None:
    """Write the file so that no reader sees half of it."""
    part = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    part.write_bytes(what.encode() if isinstance(what, str) else what)
    part.replace(path)


def hash_of(what: object) -> str:
    """The hash of any value that JSON can hold."""
    return sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


@cache
def hash_of_mkfs() -> str:
    """The hash of the program that makes images."""
    return hash_file(MKFS)


def hash_file(path: Path) -> str:
    """The hash of a file's bytes."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    """The pieces of a sparse file that are not all zeros, with their places. Holes are not read."""
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
    """The hash of a file's size and bytes, wherever its holes are."""
    found = sha256(str(path.stat().st_size).encode())
    for at, piece in pieces(path):
        found.update(at.to_bytes(8, "little") + piece)
    return found.hexdigest()


@dataclass(frozen=True)
class Image:
    """An image in the cache, and the hash of its bytes."""

    path: Path
    digest: str


@cache
def programs() -> dict[str, str]:
    """The hash of every program of the tree, by its name."""
    return {path.name: hash_file(path) for path in sorted(ROOT_FOLDER.glob("bin/*"))}


def forget() -> None:
    """Forget cached hashes, because the programs may have been built again since."""
    hash_of_mkfs.cache_clear()
    programs.cache_clear()


def cached(content: Content) -> Image:
    """The image of this content, made if the cache does not have it."""
    made_from = {
        "mkfs": hash_of_mkfs(),
        "programs": {name: digest for name, digest in programs().items() if content.has(name)},
        "files": {name: sha256(data).hexdigest() for name, data in content.files.items()},
        "links": content.links,
        "rc": content.rc,
        "words": [content.size, content.block, *content.options],
        "log": [content.log_places, content.log_summaries, content.log_seed],
    }
    path = CACHE / f"{hash_of(made_from)[:32]}.img"
    digest = path.with_suffix(".sha256")
    if not digest.exists():
        with scratch(CACHE / BASE) as folder:
            made = image.make(folder / "new.img", content)
            made.replace(path)
        write_whole(digest, hash_sparse(path))
    return Image(path, digest.read_text(encoding="utf-8"))
