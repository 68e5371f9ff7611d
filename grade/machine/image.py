"""Images of file systems: our mkfs makes them, and e2fsprogs check and read them."""

import errno
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from grade.host.paths import MKFS, ROOT_FOLDER
from grade.machine import guest, virtual_log


def command(*words: str | Path, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    """Run a program of the host. Its output is in stdout."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if check and done.returncode != 0:
        line = " ".join(str(word) for word in words)
        raise AssertionError(f"{line}: status {done.returncode}\n{done.stdout.decode()}")
    return done


def copy(source: Path, target: Path) -> None:
    """Copy an image. Its holes stay holes."""
    with source.open("rb", buffering=0) as old, target.open("wb", buffering=0) as new:
        size = os.fstat(old.fileno()).st_size
        new.truncate(size)
        guest.copy(old.fileno(), 0, new.fileno(), 0, size)


@dataclass(frozen=True)
class Content:
    """The contents of an image.

    files: contents by path in the image, programs in /bin; links: text of each symbolic link; rc:
    the script that init runs, if any; programs: include all of /bin; options: more options of mkfs;
    log_places, log_summaries, log_seed: lay the disk out on a virtual log (virtual_log.laid_out).
    """

    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    rc: str = ""
    programs: bool = True
    size: str = "32M"
    block: str = "4K"
    options: tuple[str, ...] = ()
    log_places: int = 0
    log_summaries: int = 0
    log_seed: int = 0


def link(source: str, target: str) -> None:
    """Give a file a second name, or copy it if that is on another file system."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copy2(source, target)


def make(path: Path, content: Content) -> Path:
    """Make the image. Returns its path."""
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        folder = Path(name)
        if content.programs:
            shutil.copytree(ROOT_FOLDER, folder, copy_function=link, dirs_exist_ok=True)
        files = dict(content.files)
        if content.rc:
            files["/rc"] = content.rc.encode()
        for inside, data in files.items():
            target = folder / inside.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.write_bytes(data)
            if target.parent.name == "bin":
                target.chmod(0o755)
        for inside, text in content.links.items():
            (folder / inside.lstrip("/")).symlink_to(text)
        command(
            *(MKFS, "-s", content.size, "-b", content.block, "-d", folder),
            *(*content.options, path),
        )
    if content.log_places:
        disk = virtual_log.laid_out(
            path.read_bytes(),
            content.log_places,
            nsummaries=content.log_summaries,
            seed=content.log_seed,
        )
        path.write_bytes(disk)
    return path


def check(path: Path) -> None:
    """Have e2fsck check it. Any complaint is an error."""
    command("e2fsck", "-fn", path)


def debugfs(path: Path, request: str, write: bool = False) -> str:
    """Run one request of debugfs. Returns what it printed, without its banner."""
    options = ["-w"] if write else []
    text = command("debugfs", *options, "-R", request, path).stdout.decode(errors="replace")
    return "\n".join(line for line in text.splitlines() if not line.startswith("debugfs 1."))


def read(path: Path, inside: str) -> bytes:
    """A file's bytes, read by debugfs."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        said = debugfs(path, f"dump {inside} {out}")
        assert out.exists() and not said.strip(), f"debugfs found no {inside}: {said}"
        return out.read_bytes()
