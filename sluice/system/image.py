"""Images of file systems: our mkfs makes them, and e2fsprogs check and read them."""

import errno
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from sluice.host.fault import HostFault
from sluice.host.paths import MKFS, ROOT_FOLDER
from sluice.host.quoting import by_descriptor, for_debugfs, inside_its_folder
from sluice.system import guest, virtual_log

E2FSPROGS = {"debugfs", "dumpe2fs", "e2fsck"}  # their last word is an image
# What debugfs says when it could not do its work; of a disk's faults it speaks otherwise. A link on
# the disk may have these words, too, but no line begins with them there.
OUR_FAULT = re.compile(
    r"(?:\w+: )?Usage: .*|debugfs: Unbalanced quotes .*"
    r"|dump: .* while (?:opening .* for dump_inode|writing file)"
)


def command(*words: str | Path, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    """Run a program of the host. Its output is in stdout. Raises AssertionError for a status other
    than 0, if that is checked, and HostFault if a signal ended the program."""
    folder = None
    if words[0] in E2FSPROGS:
        folder, image = inside_its_folder(Path(words[-1]))
        words = (*words[:-1], image)
    done = subprocess.run(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode < 0:
        raise HostFault(f"signal {-done.returncode} ended {words[0]}")
    if check and done.returncode != 0:
        line = " ".join(str(word) for word in words)
        said = done.stdout.decode(errors="replace")
        raise AssertionError(f"{line}: status {done.returncode}\n{said}")
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
    the script that init runs, if any; programs: which of the tree's are in /bin, all, none, or
    those of these names; options: more options of mkfs; log_places, log_summaries, log_seed: lay
    the disk out on a virtual log (virtual_log.laid_out).
    """

    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    rc: str = ""
    programs: bool | tuple[str, ...] = True
    size: str = "32M"
    block: str = "4K"
    options: tuple[str, ...] = ()
    log_places: int = 0
    log_summaries: int = 0
    log_seed: int = 0

    def has(self, program: str) -> bool:
        """True if this program of the tree is in /bin."""
        return program in self.programs if isinstance(self.programs, tuple) else self.programs


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
            (folder / "bin").mkdir()
            for program in (ROOT_FOLDER / "bin").iterdir():
                if content.has(program.name):
                    link(str(program), str(folder / "bin" / program.name))
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
    return words_of_debugfs(command("debugfs", *options, "-R", request, path))


def words_of_debugfs(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return what debugfs printed, without its banner. Raises HostFault if it could not do its
    work, of which its status says nothing."""
    lines = done.stdout.decode(errors="replace").splitlines()
    if ours := next(filter(OUR_FAULT.fullmatch, lines), ""):
        raise HostFault(f"debugfs, which reads disks here: {ours}")
    return "\n".join(line for line in lines if not line.startswith("debugfs 1."))


def dump(path: Path, outs: dict[str, Path]) -> str:
    """Have debugfs copy files of an image, by their paths in it. Returns what it printed; a file
    that is not there has no copy. The copies' folders may have any name. Raises HostFault."""
    with tempfile.TemporaryDirectory() as folder:
        script, copies = Path(folder) / "requests", Path(folder) / "copies"
        copies.mkdir()
        # debugfs starts in the image's folder: `lcd` takes it to where numbers are names enough.
        where = by_descriptor(opened := os.open(copies, os.O_RDONLY | os.O_DIRECTORY))
        try:
            lines = [f"dump {for_debugfs(i)} {n}\n" for n, i in enumerate(outs)]
            script.write_text("".join([f"lcd {where}\n", *lines]), encoding="utf-8")
            said = words_of_debugfs(command("debugfs", "-f", script, path))
        finally:
            os.close(opened)
        for number, out in enumerate(outs.values()):
            if (copies / str(number)).exists():
                shutil.move(copies / str(number), out)
        return said


def read(path: Path, inside: str) -> bytes:
    """A file's bytes, read by debugfs."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        said = dump(path, {inside: out})
        assert out.exists(), f"debugfs found no {inside}: {said}"
        return out.read_bytes()
