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
from sluice.host.quoting import descriptor_path, folder_and_name, quote_debugfs
from sluice.system import guest, virtual_log

E2FSPROGS = {"debugfs", "dumpe2fs", "e2fsck"}  # their last word is an image
# debugfs's messages when it could not do its work. Its messages about a disk's faults are others. A
# link on the disk may hold the same words, but debugfs prints no line that begins with them then.
OUR_FAULT = re.compile(
    r"(?:\w+: )?Usage: .*|debugfs: Unbalanced quotes .*"
    r"|dump: .* while (?:opening .* for dump_inode|writing file)"
)


def run_command(*words: str | Path, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    """Run a program of the host. Returns the ended program, with all its output in stdout.

    Raises AssertionError for a status other than 0, if check is true, and HostFault if a signal
    ended the program.
    """
    folder = None
    if words[0] in E2FSPROGS:
        folder, image = folder_and_name(Path(words[-1]))
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


def copy_image(source: Path, target: Path) -> None:
    """Copy an image. Its holes stay holes."""
    with source.open("rb", buffering=0) as old, target.open("wb", buffering=0) as new:
        size = os.fstat(old.fileno()).st_size
        new.truncate(size)
        guest.copy_range(old.fileno(), 0, new.fileno(), 0, size)


@dataclass(frozen=True)
class Content:
    """The contents of an image.

    files: contents by path in the image, programs in /bin; links: text of each symbolic link; rc:
    the script that init runs, if any; programs: which programs of the tree are in /bin: all, none,
    or those with these names; options: more options of mkfs; log_places, log_summaries, log_seed:
    lay the disk out on a virtual log (virtual_log.laid_out).
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

    def has_program(self, program: str) -> bool:
        """Return whether this program of the tree is in /bin."""
        return program in self.programs if isinstance(self.programs, tuple) else self.programs


def link_or_copy(source: str, target: str) -> None:
    """Give a file a second name, or copy it if that is on another file system or another user's."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EACCES):
            raise
        shutil.copy2(source, target)


def make_image(path: Path, content: Content) -> Path:
    """Make the image. Returns its path."""
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        folder = Path(name)
        if content.programs:
            (folder / "bin").mkdir()
            for program in (ROOT_FOLDER / "bin").iterdir():
                if content.has_program(program.name):
                    link_or_copy(str(program), str(folder / "bin" / program.name))
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
        words = ["-s", content.size, "-b", content.block, "-d", str(folder), *content.options]
        run_command(MKFS, *words, path)
    if content.log_places:
        disk = virtual_log.lay_out_log(
            path.read_bytes(),
            content.log_places,
            nsummaries=content.log_summaries,
            seed=content.log_seed,
        )
        path.write_bytes(disk)
    return path


def check_image(path: Path) -> None:
    """Check the image by e2fsck. Raises AssertionError for any complaint."""
    run_command("e2fsck", "-fn", path)


def debugfs(path: Path, request: str, write: bool = False) -> str:
    """Run one request of debugfs. Returns its output, without its banner."""
    options = ["-w"] if write else []
    return debugfs_output(run_command("debugfs", *options, "-R", request, path))


def debugfs_output(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return debugfs's output, without its banner. Raises HostFault if debugfs could not do its
    work, which its status does not show."""
    lines = done.stdout.decode(errors="replace").splitlines()
    if ours := next(filter(OUR_FAULT.fullmatch, lines), ""):
        raise HostFault(f"debugfs, which reads disks here: {ours}")
    return "\n".join(line for line in lines if not line.startswith("debugfs 1."))


def dump_files(path: Path, outs: dict[str, Path]) -> str:
    """Copy files out of an image by debugfs. Returns debugfs's output.

    outs: the target of each file, by its path in the image. A file that does not exist has no copy.
    The targets' folders may have any name. Raises HostFault.
    """
    with tempfile.TemporaryDirectory() as folder:
        script, copies = Path(folder) / "requests", Path(folder) / "copies"
        copies.mkdir()
        # debugfs starts in the image's folder: `lcd` takes it to where numbers are names enough.
        where = descriptor_path(opened := os.open(copies, os.O_RDONLY | os.O_DIRECTORY))
        try:
            lines = [f"dump {quote_debugfs(i)} {n}\n" for n, i in enumerate(outs)]
            script.write_text("".join([f"lcd {where}\n", *lines]), encoding="utf-8")
            said = debugfs_output(run_command("debugfs", "-f", script, path))
        finally:
            os.close(opened)
        for number, out in enumerate(outs.values()):
            if (copies / str(number)).exists():
                shutil.move(copies / str(number), out)
        return said


def read_file(path: Path, inside: str) -> bytes:
    """Return the bytes of a file in an image, read by debugfs."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        said = dump_files(path, {inside: out})
        assert out.exists(), f"debugfs found no {inside}: {said}"
        return out.read_bytes()
