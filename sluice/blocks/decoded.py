"""Decodes a trace of any format into the replayer's requests, in a file, without holding them all.

- The first pass reads the trace once and writes its requests as they come. It finds out when the
  first one came, how far each disk is used, and whether the requests are in the order of time.
- The second pass writes the file that the replayer reads (sluice/trace/packed.py): the first
  request at time 0, several disks one after another, all in the order of time. Requests that came
  out of order are sorted in runs of RUN requests, which are then merged slice by slice.
- Memory is that of a run of requests, and one bit for each block of the parts of the volume that
  the trace touches.
"""

import json
import mmap
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from sluice.host.scratch import BASE, scratch_folder
from sluice.trace import reader
from sluice.trace.common import REQUEST
from sluice.trace.errors import BadTraceFile
from sluice.trace.packed import FORM, HEAD, MAGIC
from sluice.trace.stream import LeftOut, open_unpacked
from sluice.trace.units import PLACE, ROUND

BLOCK = 4096  # bytes of a block of the cache
PIECE = 1 << 16  # requests that are handled at a time
RUN = 1 << 20  # requests that are sorted in memory
LATEST_NS = 1 << 62  # the replayer's clock ends at 2^63 ns
LARGEST = 1 << 60  # bytes of a volume, so that the number of a byte is never cut
# The flag by which Linux gives more addresses than it has memory; Python 3.11 has no name for it.
NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)

Table = NDArray[np.void]
Seen = Callable[[int], None]


@dataclass(frozen=True)
class Decoded:
    """The facts about a decoded trace."""

    requests: int  # their number
    reads: int  # how many of them read
    bytes: int  # of all requests
    read_bytes: int  # of the reads
    blocks: int  # different blocks of 4 KiB that the requests touch
    volume_bytes: int  # of the disk that has room for them: whole MiB
    last_ns: int  # when the last request comes, after the first one
    timeless: bool  # the format has no times
    left_out: str  # the requests that the format leaves out, in words
    format: str  # its name


@dataclass
class Survey:
    """The results of the first pass: the first time, whether times rise, and each disk's end."""

    first_ns: int = 1 << 64
    last_ns: int = 0
    in_order: bool = True
    count: int = 0
    ends: dict[int, int] = field(default_factory=dict)  # in bytes, by the number of a disk

    def add(self, rows: Table, several: bool) -> None:
        """Take the next requests into account."""
        times = rows["time_ns"]
        is_rising = bool((times[1:] >= times[:-1]).all()) and int(times[0]) >= self.last_ns
        self.in_order = self.in_order and is_rising
        self.first_ns = min(self.first_ns, int(times.min()))
        self.last_ns = max(self.last_ns, int(times.max()))
        self.count += len(rows)
        disks = rows["offset"] // np.uint64(PLACE) if several else np.zeros(len(rows), "<u8")
        ends = rows["offset"] - disks * np.uint64(PLACE) + rows["bytes"]  # on its disk
        for disk in np.unique(disks).tolist():
            end = int(ends[disks == disk].max())
            self.ends[disk] = max(self.ends.get(disk, 0), end)

    def starts(self) -> dict[int, int]:
        """Return where each disk begins on the volume, in bytes, and under -1 the volume's size."""
        found, at = {}, 0
        for unit, end in sorted(self.ends.items()):
            found[unit] = at
            at += -(-end // ROUND) * ROUND
        return found | {-1: at}


def copy_pieces(
    pieces: Iterator[Table], out: BinaryIO, survey: Survey, several: bool, most: int | None
) -> Iterator[int]:
    """Write tables of requests to a file, at most `most` requests. Yields the length of each."""
    left = most
    for piece in pieces:
        rows = piece[:left]
        if len(rows):
            survey.add(rows, several)
            out.write(rows.tobytes())
            yield len(rows)
        left = None if left is None else left - len(rows)
        if left == 0:
            return


def read_rows(path: Path) -> Iterator[Table]:
    """Yield the requests of a file that has nothing else, in pieces."""
    with path.open("rb") as stream:
        while data := stream.read(PIECE * REQUEST.itemsize):
            yield np.frombuffer(data, REQUEST).copy()


def sort_runs(path: Path, folder: Path) -> list[NDArray[np.void]]:
    """Return the requests of a file as runs, each in the order of time, in files of the folder."""
    whole = np.memmap(path, REQUEST, "r")
    runs: list[NDArray[np.void]] = []
    for number, at in enumerate(range(0, len(whole), RUN)):
        rows = np.array(whole[at : at + RUN])
        rows[np.argsort(rows["time_ns"], kind="stable")].tofile(folder / f"run{number}")
        runs.append(np.memmap(folder / f"run{number}", REQUEST, "r"))
    return runs


def merge_runs(runs: list[NDArray[np.void]]) -> Iterator[Table]:
    """Yield the requests of sorted runs in the order of time. Of equal times, the earlier run's is
    first.

    They come in slices of time. A slice ends where one of the runs has a multiple of PIECE
    requests, so each run has about PIECE requests in a slice at most.
    """
    marks = np.unique(np.concatenate([run["time_ns"][PIECE - 1 :: PIECE] for run in runs]))
    began = [0] * len(runs)  # where each run goes on
    for mark in [*marks, None]:  # None: up to the end
        ended = [
            len(run) if mark is None else int(np.searchsorted(run["time_ns"], mark, "right"))
            for run in runs
        ]
        rows = np.concatenate(
            [run[low:high] for run, low, high in zip(runs, began, ended, strict=True)]
        )
        began = ended
        yield rows[np.argsort(rows["time_ns"], kind="stable")]


def sort_rows(path: Path, survey: Survey, folder: Path) -> Iterator[Table]:
    """Yield the requests of a file in the order of time."""
    return read_rows(path) if survey.in_order else merge_runs(sort_runs(path, folder))


class BlockSet:
    """A set of a volume's blocks: a bit for each. Memory is touched only where blocks are."""

    def __init__(self, volume_bytes: int) -> None:
        size = max(volume_bytes // BLOCK // 8 + 1, 1)
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
        self.bits = np.frombuffer(mmap.mmap(-1, size, flags=private), np.uint8)
        self.count = 0

    def add(self, rows: Table) -> None:
        """Add the blocks that requests touch."""
        first = rows["offset"] // np.uint64(BLOCK)
        last = (rows["offset"] + rows["bytes"] - np.uint64(1)) // np.uint64(BLOCK)
        length = (last - first + np.uint64(1)).astype("<i8")  # in blocks
        begin = np.cumsum(length) - length  # of each request: the blocks of those before it
        for low, high in slices_of(length, PIECE * 16):
            lengths, begins = length[low:high], begin[low:high] - begin[low]
            # 0, 1, 2 ... within each request
            steps = np.arange(int(lengths.sum())) - np.repeat(begins, lengths)
            self.add_blocks(np.repeat(first[low:high], lengths) + steps.astype("<u8"))

    def add_blocks(self, blocks: NDArray[np.uint64]) -> None:
        """Add blocks by their numbers."""
        blocks = np.unique(blocks)
        byte = blocks >> np.uint64(3)
        bit = np.left_shift(1, blocks & np.uint64(7)).astype(np.uint8)
        # Where another byte begins; the bits of a byte are joined.
        heads = np.flatnonzero(np.concatenate([[True], byte[1:] != byte[:-1]]))
        changed, new = byte[heads], np.bitwise_or.reduceat(bit, heads)
        old = self.bits[changed]
        self.count += int(np.bitwise_count(new & ~old).sum())
        self.bits[changed] = old | new


def slices_of(length: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Yield the first row of each part of a list, and the row behind the part. The lengths of a
    part's rows have the sum `most` at most, or it is a single row."""
    total, low = np.cumsum(length), 0
    while low < len(length):
        before = int(total[low - 1]) if low else 0
        high = max(int(np.searchsorted(total, before + most, "right")), low + 1)
        yield low, high
        low = high


@dataclass
class Sums:
    """The sums of the second pass; Decoded says what they are."""

    requests: int = 0
    reads: int = 0
    bytes: int = 0
    read_bytes: int = 0
    last_ns: int = 0

    def add(self, rows: Table) -> None:
        """Add requests."""
        read = rows["write"] == 0
        self.requests += len(rows)
        self.reads += int(read.sum())
        self.bytes += int(rows["bytes"].sum(dtype="<u8"))
        self.read_bytes += int(rows["bytes"][read].sum(dtype="<u8"))
        self.last_ns = int(rows["time_ns"][-1])


def move_rows(rows: Table, survey: Survey, starts: dict[int, int], scale: float) -> Table:
    """Return requests with the first at time 0, `scale` times as fast, on one volume."""
    rows["time_ns"] -= np.uint64(survey.first_ns)
    if scale != 1:
        rows["time_ns"] = np.round(rows["time_ns"] / scale).astype("<u8")
    for disk, start in starts.items():
        low = disk * PLACE  # where the disk lies in the trace; `start` is where on the volume
        if disk > 0:
            of_disk = (rows["offset"] >= low) & (rows["offset"] < low + PLACE)
            rows["offset"][of_disk] += np.uint64((start - low) % (1 << 64))  # modulo a word
    return rows


def write_packed(
    rows: Iterator[Table], survey: Survey, scale: float, out: BinaryIO
) -> tuple[Sums, int, int]:
    """Write the replayer's file. Returns the sums, the number of blocks, and the volume's bytes."""
    starts = survey.starts()
    volume = starts.pop(-1)
    blocks, sums = BlockSet(volume), Sums()
    out.write(HEAD.pack(MAGIC, FORM, survey.count))
    for piece in rows:
        if len(piece):
            moved = move_rows(piece, survey, starts, scale)
            blocks.add(moved)
            sums.add(moved)
            out.write(moved.tobytes())
    return sums, blocks.count, volume


def expect_possible(path: Path, survey: Survey, left_out: LeftOut, scale: float) -> None:
    """Raise BadTraceFile for a trace that has no request, or more than a replay can hold."""
    if not survey.count:
        why = f"; left out: {left_out}" if left_out.counts else ""
        raise BadTraceFile(f"{path}: has no request{why}")
    if (survey.last_ns - survey.first_ns) / scale >= LATEST_NS:
        raise BadTraceFile(f"{path}: scale = {scale}: the last request comes later than 2^62 ns")
    if survey.starts()[-1] > LARGEST:
        raise BadTraceFile(
            f"{path}: reaches to byte {survey.starts()[-1]}; a volume has {LARGEST} at most"
        )


def decode_trace(
    path: Path,
    target: Path,
    format: str = "",
    count: int | None = None,
    scale: float = 1.0,
    seen: Seen = lambda n: None,
) -> Decoded:
    """Write a trace, or its first `count` requests, as the replayer's requests. Returns what is
    known of them.

    target: the new file, next to which TARGET.json has what is returned; format: a module of
    sluice/trace/formats, or "" for the one that the file looks like; scale: how many times as fast
    the requests come; seen: called with the number of further requests read. Raises BadTraceFile.
    """
    module = reader.find_format(path, format)
    several, left_out, survey = getattr(module, "SEVERAL", False), LeftOut(count), Survey()
    with scratch_folder(target.parent / BASE) as folder:
        raw, part = folder / "raw", folder / "packed"
        with open_unpacked(path) as stream, raw.open("wb") as out:
            for n in copy_pieces(module.read(path, stream, left_out), out, survey, several, count):
                seen(n)
        expect_possible(path, survey, left_out, scale)
        with part.open("wb") as out:
            sums, blocks, volume = write_packed(sort_rows(raw, survey, folder), survey, scale, out)
        known = Decoded(
            **asdict(sums), blocks=blocks, volume_bytes=volume,
            timeless=getattr(module, "TIMELESS", False), left_out=str(left_out),
            format=module.__name__.rpartition(".")[2],
        )  # fmt: skip
        about = folder / "about"
        about.write_text(json.dumps(asdict(known)), encoding="utf-8")
        part.replace(target)
        about.replace(facts_path(target))
    return known


def facts_path(target: Path) -> Path:
    """Return the path of the file that says what is known of a decoded trace."""
    return target.with_name(f"{target.name}.json")


def load_decoded(target: Path) -> Decoded | None:
    """Return what is known of a trace that was decoded before, or None."""
    about = facts_path(target)
    if not about.exists():
        return None
    return Decoded(**json.loads(about.read_text(encoding="utf-8")))
