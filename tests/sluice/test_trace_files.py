"""Files of traces: how they are packed, their comments, and lines that cannot be read.

The traces are in the format SPC; TEXT has the two requests EXPECTED, as (time in ns, offset, bytes,
1 for a write). PACKERS are the programs that pack. A share says how many of the lines may be
bad.
"""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.trace import reader
from sluice.trace.errors import BadTraceFile
from sluice.trace.stream import SHOWN, SOON, BadLines, LeftOut

pytestmark = pytest.mark.native

EXPECTED = [(0, 7014609920, 24576, 0), (1_500_000, 512, 4096, 1)]
TEXT = b"0,13700410,24576,r,0.25\n0,1,4096,W,0.2515\n"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


def spc_lines(count: int) -> list[bytes]:
    """Return lines of a trace of SPC, a request each."""
    return [b"0,%d,4096,R,%d.5\n" % (8 * i, i) for i in range(count)]


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("ending", ["csv", *PACKERS])
def test_how_a_trace_is_packed_is_known_by_its_content(
    tmp_path: Path, packer: str, ending: str
) -> None:
    """The name's ending does not matter: browsers and people change names."""
    path = tmp_path / f"w.{ending}"
    path.write_bytes(PACKERS[packer](TEXT))
    assert reader.read_requests(path).tolist() == EXPECTED
    path.write_bytes(TEXT)
    assert reader.read_requests(path).tolist() == EXPECTED


@pytest.mark.parametrize("packer", PACKERS)
def test_parts_that_were_packed_alone_and_joined_are_all_read(tmp_path: Path, packer: str) -> None:
    """`cat a.zst b.zst` makes such files; a part may be empty."""
    pack, lines = PACKERS[packer], spc_lines(30_000)
    path = tmp_path / "w"
    path.write_bytes(pack(b"".join(lines[:20_000])) + pack(b"") + pack(b"".join(lines[20_000:])))
    assert len(reader.read_requests(path)) == 30_000


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("left", [0.5, 0.99])
def test_a_packed_trace_that_is_cut_off_is_refused(
    tmp_path: Path, packer: str, left: float
) -> None:
    """left: the part of the file that is there."""
    path = tmp_path / "w"
    data = PACKERS[packer](b"".join(spc_lines(30_000)))
    path.write_bytes(data[: int(left * len(data))])
    with pytest.raises(BadTraceFile, match=f"^{path}: cannot be read: "):
        reader.read_requests(path, "spc")


@pytest.mark.parametrize("packer", PACKERS)
def test_a_packed_trace_with_a_wrong_byte_is_refused(tmp_path: Path, packer: str) -> None:
    """64 bytes in the middle are zeros."""
    path = tmp_path / "w"
    data = bytearray(PACKERS[packer](b"".join(spc_lines(30_000))))
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    path.write_bytes(data)
    with pytest.raises(BadTraceFile):
        reader.read_requests(path, "spc")


def test_zstandard_with_a_long_window_and_frames_to_be_skipped_is_read(tmp_path: Path) -> None:
    """zstd --long=31 writes windows of 2 GiB, and other tools put frames of their own before."""
    params = zstandard.ZstdCompressionParameters.from_level(1, window_log=31)
    out = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=params).stream_writer(
        out, closefd=False
    ) as to:
        to.write(TEXT)
    path = tmp_path / "w"
    path.write_bytes(b"\x5a\x2a\x4d\x18\x03\0\0\0abc" + out.getvalue())
    assert zstandard.get_frame_parameters(out.getvalue()).window_size == 1 << 31
    assert reader.read_requests(path).tolist() == EXPECTED


# A program that reads a trace in pieces, and prints the requests and its largest memory in kB
PEAK = r"""
import re, sys
from pathlib import Path
from sluice.trace import reader
from sluice.trace.stream import LeftOut, open_unpacked

path, count = Path(sys.argv[1]), 0
module = reader.find_format(path, "spc")
with open_unpacked(path) as stream:
    for table in module.read(path, stream, LeftOut()):
        count += len(table)
print(count, re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.parametrize("packer", ["gz", "zst"])
def test_memory_does_not_grow_with_the_trace(tmp_path: Path, packer: str) -> None:
    """350,000 requests more, which are 8.4 MB as a table, take less than 6 MB more."""
    peaks = []
    for count in (150_000, 500_000):
        path = tmp_path / f"{count}"
        path.write_bytes(PACKERS[packer](b"".join(spc_lines(count))))
        run = subprocess.run(
            [sys.executable, "-c", PEAK, path],
            cwd=ROOT, capture_output=True, text=True, check=True, timeout=HANG_S,
        )  # fmt: skip
        read, peak_kb = map(int, run.stdout.split())
        assert read == count
        peaks.append(peak_kb)
    assert peaks[1] - peaks[0] < 6 << 10


def test_a_pipe_is_refused_before_anything_is_read_from_it(tmp_path: Path) -> None:
    """Its beginning, by which the format is recognised, would be missing afterwards. /dev/null is
    first, because a reader that opened the pipe would wait for more."""
    os.mkfifo(tmp_path / "pipe")
    opened = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(opened, b"".join(spc_lines(100)))
    for path in (Path(os.devnull), tmp_path / "pipe"):
        for name in ("", "spc"):
            with pytest.raises(BadTraceFile, match="is a pipe or a device, and a trace is opened"):
                reader.read_requests(path, name, count=10)
    assert os.read(opened, 1 << 16) == b"".join(spc_lines(100))
    os.close(opened)


def test_comments_are_skipped_wherever_they_are(tmp_path: Path) -> None:
    path = tmp_path / "w"
    first, second = TEXT.splitlines(keepends=True)
    path.write_bytes(b"# made by hand\n\n" + first + b"  # 7,7,7\n" + second + b"#")
    assert reader.read_requests(path).tolist() == EXPECTED
    assert reader.find_format(path, "").__name__.endswith(".spc")


# ---- lines that cannot be read ----


def read_with(path: Path, share: float, count: int | None = None) -> tuple[int, str]:
    """Return how many requests are read if a share of lines may be bad, and what is left out."""
    left = LeftOut(bad=BadLines(share))
    return len(reader.read_requests(path, "spc", count, left_out=left)), str(left)


def write_bad_lines(path: Path, count: int, bad: list[int]) -> None:
    """Write a trace of this many lines; those with these numbers, from 1 on, cannot be read."""
    lines = spc_lines(count)
    for number in bad:
        lines[number - 1] = b"0,1,2\xff torn\n" if number % 2 else b"torn\n"
    path.write_bytes(b"".join(lines))


def test_no_line_may_be_bad_unless_it_is_asked_for(tmp_path: Path) -> None:
    """Line 1990 of 2000 is torn."""
    path = tmp_path / "w"
    write_bad_lines(path, 2000, [1990])
    with pytest.raises(BadTraceFile, match=rf"^{path}:1990: 1 fields, not 5 or more: 'torn'$"):
        read_with(path, 0)


def test_lines_that_cannot_be_read_are_counted_and_told_with_their_numbers(tmp_path: Path) -> None:
    """A file of 2000 lines has some that cannot be read; 1 % is allowed. Up to SHOWN of their
    numbers are named. With a count of requests, lines behind the last one do not matter."""
    path = tmp_path / "w"
    write_bad_lines(path, 2000, [3])
    assert read_with(path, 0.01) == (1999, "lines that cannot be read: 1 (line 3)")
    write_bad_lines(path, 2000, [3, 700, 1999])
    message = "lines that cannot be read: 3 (lines 3, 700, 1999)"
    assert read_with(path, 0.01) == (1997, message)
    assert read_with(path, 0.01, 1000)[1] == "lines that cannot be read: 2 (lines 3, 700)"
    bad = list(range(5, 5 * SHOWN + 6, 5))
    write_bad_lines(path, 2000, bad)
    message = f"lines that cannot be read: {len(bad)} (lines 5, 10, 15, 20, 25, ...)"
    assert read_with(path, 0.01) == (2000 - len(bad), message)


def test_too_many_lines_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    """The error comes as soon as there are too many (from SOON lines on), or at the end of a short
    file."""
    path = tmp_path / "w"
    write_bad_lines(path, 20_000, list(range(1, 20_000, 50)))
    with pytest.raises(
        BadTraceFile, match=rf"^{path}:501: .*: 11 of 501 lines cannot be read"
    ) as e:
        read_with(path, 0.01)
    assert "more than 0.01 of them: lines 1, 51, 101, 151, 201, ..." in str(e.value)
    write_bad_lines(path, SOON // 10, [7, 9])
    assert read_with(path, 0.02) == (98, "lines that cannot be read: 2 (lines 7, 9)")
    with pytest.raises(
        BadTraceFile, match=rf"^{path}: 2 of 100 lines cannot be read, more than 0.0"
    ):
        read_with(path, 0.01)
