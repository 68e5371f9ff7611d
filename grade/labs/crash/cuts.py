"""The disk as a power cut would have left it, after each write that it did.

QEMU keeps the writes of the data disk in their order. So for every n the disk can be made as it
was after the first n writes. e2fsck must be able to repair each of these disks without asking (-p),
and the files must then be what a program may expect.

Source of the log's format: the kernel documentation's "dm-log-writes", which QEMU's
blklogwrites follows: a superblock, then entries, each a sector and its data.
"""

import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grade.machine import image
from grade.scoring.assertions import Wrong, expect
from grade.scoring.scenario import FOR_EVER, Run, Scenario
from grade.scoring.setting import Setting

SECTOR = 512
ENTRY = struct.Struct("<QQQQ")  # sector, sectors, flags, bytes of data
FLUSH, DISCARD, MARK = 1, 4, 8
REPAIRED = (0, 1)  # e2fsck: nothing to do; done

SOON = (
    "write=delayed update=aipu aipu.age_ms=60 aipu.scan_ms=20 nbuf=300"  # blocks are written soon
)

Files = dict[str, bytes | None]  # None: there is no file of that name


def scenario(
    name: str, lines: list[str], files: dict[str, bytes], args: str = SOON, size: str = "2M"
) -> Scenario:
    """A machine's work while its writes are kept. The files are in / of the root disk."""
    script = "\n".join(lines)
    return Scenario(name, script, args, files=tuple(files.items()), size=size, logged=True)


@dataclass(frozen=True)
class Cut:
    """The disk after some of the writes, repaired."""

    writes: int
    until_ns: int  # when the next write was done: until then the disk was so
    path: Path
    setting: Setting

    def files(self, paths: list[str]) -> Files:
        """The contents of these files."""
        with tempfile.TemporaryDirectory() as name:
            outs = {path: Path(name) / str(i) for i, path in enumerate(paths)}
            requests = "".join(
                f"dump {self.setting.inside(path)} {out}\n" for path, out in outs.items()
            )
            script = Path(name) / "requests"
            script.write_text(requests)
            image.command("debugfs", "-f", script, self.path)
            return {p: out.read_bytes() if out.exists() else None for p, out in outs.items()}


Check = Callable[[Cut], None]


def logged(path: Path) -> Iterator[tuple[int, bytes]]:
    """The writes in a log: the place in bytes, and the data."""
    data = path.read_bytes()
    at = SECTOR
    while at + ENTRY.size <= len(data):
        sector, sectors, flags, _ = ENTRY.unpack_from(data, at)
        at += SECTOR
        if not flags & (DISCARD | MARK) and sectors:
            yield sector * SECTOR, data[at : at + sectors * SECTOR]
            at += sectors * SECTOR


@dataclass(frozen=True)
class Write:
    """A write, and the time when it was done, from the trace."""

    at: int
    data: bytes
    done_ns: int


def writes(run: Run) -> list[Write]:
    """The writes of the run."""
    done = run.data(write=True)
    found = list(logged(run.folder / "data.log"))
    places = [r.sector * SECTOR for r in done]
    expect(
        [at for at, _ in found] == places, "the disk's writes to be those of the trace", "others"
    )
    return [Write(at, data, r.completed_ns) for (at, data), r in zip(found, done, strict=True)]


def repair(path: Path, count: int) -> None:
    """Have e2fsck repair the disk without asking; raises Wrong if it cannot."""
    done = image.command("e2fsck", "-fp", path, check=False)
    if done.returncode not in REPAIRED:
        said = " ".join(done.stdout.decode(errors="replace").replace(f"{path}: ", "").split())
        raise Wrong(
            "e2fsck -p to repair the disk without asking, after a power cut at any time",
            f"after write {count} of the data disk it says: {said[:200]}",
        )


def each_cut(run: Run, start_ns: int, least: int, check: Check) -> None:
    """Cut the power after each write that ends the disk's state at or after start_ns; repair the
    disk, and check it. There must be at least `least` writes.
    """
    disk = bytearray((run.folder / "data.img").read_bytes())
    path = run.folder / "cut.img"
    done = writes(run)
    ends_ns = [write.done_ns for write in done[1:]] + [FOR_EVER]
    for count, (write, until_ns) in enumerate(zip(done, ends_ns, strict=True), 1):
        disk[write.at : write.at + len(write.data)] = write.data
        if until_ns >= start_ns:
            path.write_bytes(disk)
            repair(path, count)
            check(Cut(count, until_ns, path, run.scenario.setting))
    expect(len(done) >= least, f"at least {least} writes of the data disk", f"{len(done)}")
