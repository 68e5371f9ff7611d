"""Formats of public traces: small samples of our own, as the tools and sites write them.

A request is (time in ns, offset in bytes, bytes, 1 for a write). The samples begin with two
requests: FIRST, a read of 48 sectors at sector 13700410, and SECOND, a write of 8 sectors at sector
1. `sample` writes a format's sample. Several disks in one trace lie one after another, each from a
whole MiB on (PART).
"""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sluice.trace import reader
from sluice.trace.errors import BadTraceFile
from sluice.trace.extents import EXTENT, Extents
from sluice.trace.formats import blktrace
from sluice.trace.seconds import spread_seconds
from sluice.trace.stream import HEAD, LeftOut

pytestmark = pytest.mark.native

PART = 1 << 20
FIRST, SECOND = (0, 7014609920, 24576, 0), (1_500_000, 512, 4096, 1)
EXPECTED = [FIRST, SECOND]
# Offset, bytes and direction of two uses of one file, which lies at the beginning of the disk
PLACES = [(0, 24576, 0), (24576, 4096, 1)]

SAMPLES = {
    "alibaba": (
        "io_traces.csv",
        b"419,R,7014609920,24576,1577808144360767\n419,W,512,4096,1577808144362267\n",
    ),
    "tencent": (
        "2018-10-01-01",
        b"1538323200,13700410,48,0,1063\n1538323200,1,8,1,1063\n1538323201,8,8,0,1063\n",
    ),
    "cloudphysics": (
        "trace.csv",
        b"version,time,op,size,lbn\n1,33898,28,24576,13700410\n1,33898,2a,4096,1\n"
        b"1,33898,35,0,0\n1,33899,2a,4096,8\n",
    ),
    "k5cloud": ("1042", b"1042,0.000125,R,7014609920,24576\n1042,0.001625,W,512,4096\n"),
    "iotracer_block": (
        "ds_20240115_103045_123.csv",
        b"2024-01-15 10:30:45.124456,1234,python3,13700410,read,24576,1.000,1235,48,0,1233\n"
        b"2024-01-15 10:30:45.125000,1234,python3,0,flush,0,2.345,1235,0,2,1233\n"
        b"2024-01-15 10:30:45.125000,1234,fstrim,64,discard,4096,2.345,1235,8,2,1233\n"
        b"2024-01-15 10:30:45.127456,1234,a,b,1,write,4096,2.5,1235,8,1,1233\n",
    ),
    "nbdkit": (
        "nbdkit.log",
        b"2026-11-27 23:46:18.600000 Preconnect\n"
        b"2026-11-27 23:46:18.640000 connection=1 Connect export='' tls=0 size=0x100000\n"
        b"2026-11-27 23:46:18.646801 connection=1 Read id=1 offset=0x1a21a7400 count=0x6000 ...\n"
        b"2026-11-27 23:46:18.646900 connection=1 ...Read id=1 return=0\n"
        b"2026-11-27 23:46:18.647000 connection=1 Flush id=2 ...\n"
        b"2026-11-27 23:46:18.647100 connection=1 Trim id=3 offset=0x0 count=0x200 fua=0 ...\n"
        b"2026-11-27 23:46:18.648301 connection=1 Zero id=4 offset=0x200 count=0x1000 trim=1 "
        b"fua=0 fast=0 ...\n"
        b"2026-11-27 23:46:18.649000 connection=1 ...Zero id=4 return=0\n"
        b"2026-11-27 23:46:18.700000 connection=1 Disconnect transactions=4\n",
    ),
}
# The time of the second request, where times are whole seconds: two in one second lie half a second
# apart
TIMES = {"tencent": 500_000_000, "cloudphysics": 500_000_000}


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes the sample of a format and returns its path."""

    def write(name: str) -> Path:
        file, data = SAMPLES[name]
        (tmp_path / file).write_bytes(data)
        return tmp_path / file

    return write


def format_of(path: Path) -> str:
    """Return the name of the format that a file is taken for."""
    return reader.find_format(path, "").__name__.rpartition(".")[2]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_public_trace_is_recognised_and_read_as_its_source_has_it(sample, name: str) -> None:
    """The sample is read as it is, and packed by gzip."""
    path = sample(name)
    second = (TIMES.get(name, SECOND[0]), *SECOND[1:])
    assert format_of(path) == name
    assert reader.read_requests(path).tolist()[:2] == [FIRST, second]
    packed = path.with_name("w")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert reader.read_requests(packed, name).tolist()[:2] == [FIRST, second]


@pytest.mark.parametrize("name", ["alibaba", "tencent", "k5cloud", "iotracer_block"])
def test_a_head_and_comments_before_it_are_skipped(sample, name: str) -> None:
    """The format's usual head is skipped. A head with its columns in another order is refused."""
    path = sample(name)
    head = reader.known_formats()[name].HEAD
    path.write_bytes(f"# taken from a site\n{head}\n".encode() + path.read_bytes())
    assert format_of(path) == name
    assert reader.read_requests(path).tolist()[0] == FIRST
    words = head.split(",")
    path.write_text(",".join([words[1], words[0], *words[2:]]) + "\n1,2,3\n")
    with pytest.raises(BadTraceFile, match=":1: the columns must be in this order: "):
        reader.read_requests(path, name)


def test_heads_of_msr_and_spc_are_skipped_too(tmp_path: Path) -> None:
    """A line with the columns' names, which the original traces lack."""
    path = tmp_path / "w"
    for text in (
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"
        "128166372003061629,usr,0,Read,7014609920,24576,41286\n",
        "ASU,LBA,Size,Opcode,Timestamp\n0,13700410,24576,r,0.25\n",
    ):
        path.write_text(text)
        assert reader.read_requests(path).tolist() == [FIRST]


def test_times_of_msr_may_count_from_the_first_request(tmp_path: Path) -> None:
    """One file has one beginning: a time of the year 1601 behind one of 2007 is refused."""
    path = tmp_path / "w"
    path.write_text("0,usr,0,Read,7014609920,24576,1\n15000,usr,0,Write,512,4096,1\n")
    assert reader.read_requests(path).tolist() == [FIRST, (1_500_000, 512, 4096, 1)]
    path.write_text(
        "128166372003061629,usr,0,Read,7014609920,24576,1\n15000,usr,0,Write,512,4096,1\n"
    )
    with pytest.raises(BadTraceFile, match=r":2: the time: -11644473599998500000 ns: must be 0 to"):
        reader.read_requests(path)


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("alibaba", b"W,512", b"T,512", ":2: neither R nor W but 'T'"),
        ("alibaba", b"419,W", b"x,W", ":2: the device 'x': must be a whole number"),
        ("alibaba", b",1577808144362267", b"", ":2: 4 fields, not 5"),
        ("tencent", b",1,8,1,", b",1,8,2,", ":2: neither 0 nor 1 but '2'"),
        ("tencent", b",1,8,1,", b",-1,8,1,", ":2: the offset in sectors '-1'"),
        ("cloudphysics", b"2a,4096,1", b"2g,4096,1", ":3: .*base 16: '2g'"),
        ("cloudphysics", b"1,33898,2a", b"3,33898,2a", ":3: the version 3: must be 1 or 2"),
        ("k5cloud", b"0.001625", b"soon", ":2: the time 'soon': must be a number in s"),
        ("iotracer_block", b"a,b,1,write", b"a,b,1,sync", ":4: neither read nor write but 'sync'"),
        ("iotracer_block", b"45.127456", b"61.127456", ":4: the time '2024-01-15 10:30:61.127456'"),
        ("nbdkit", b"offset=0x200 count=0x1000", b"offset=0x200", ":7: Zero without id=, offset="),
        ("nbdkit", b"18.648301 connection", b"connection", ":7: no line of nbdkit's filter"),
    ],
)
def test_a_wrong_line_of_a_public_trace_is_refused_with_its_number(
    sample, name: str, old: bytes, new: bytes, why: str
) -> None:
    """`old` in the sample of the format `name` is replaced by `new`; why: a pattern for the
    refusal, which begins with the line's number."""
    path = sample(name)
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(BadTraceFile, match=why):
        reader.read_requests(path, name)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("alibaba", b"7,W,512,512,1577808144362268\n"),
        ("tencent", b"1538323202,1,1,1,7\n"),
        ("k5cloud", b"7,9.5,W,512,512\n"),
        (
            "nbdkit",
            b"2026-11-27 23:46:18.700000 connection=2 Connect export='b' tls=0\n"
            b"2026-11-27 23:46:18.700001 connection=2 Write id=1 offset=0x200 count=0x200 fua=1\n",
        ),
    ],
)
def test_disks_of_a_public_trace_lie_one_after_another(sample, name: str, line: bytes) -> None:
    """The line is of another disk, whose place 512 comes after the first disk."""
    path = sample(name)
    path.write_bytes(path.read_bytes() + line)
    # the first whole MiB after the first disk's last request
    end = -(-(FIRST[1] + FIRST[2]) // PART) * PART
    assert reader.read_requests(path).tolist()[-1][1:] == (end + 512, 512, 1)


def test_what_a_public_trace_leaves_out_is_counted(sample) -> None:
    """The samples have a flush and a trim, or a command that is neither read nor write."""
    for name, why in (
        ("iotracer_block", "requests without data: 1; discards: 1"),
        ("nbdkit", "requests without data: 1; discards: 1"),
        ("cloudphysics", "other commands (0x35): 1"),
    ):
        left = LeftOut()
        reader.read_requests(sample(name), left_out=left)
        assert str(left) == why


def test_requests_of_a_whole_second_are_spread_over_it_whatever_the_pieces() -> None:
    """The ten requests come in pieces of these sizes, which must not change the times."""
    rows = np.zeros(10, reader.join_tables([]).dtype)
    rows["time_ns"] = np.array([5, 5, 5, 5, 6, 9, 9, 9, 9, 9]) * 10**9
    wanted = [5, 5.25, 5.5, 5.75, 6, 9, 9.2, 9.4, 9.6, 9.8]
    for sizes in ([10], [3, 7], [1] * 10, [4, 1, 5], [5, 5]):
        pieces = np.split(rows, np.cumsum(sizes)[:-1])
        found = np.concatenate(list(spread_seconds(iter(pieces))))
        assert (found["time_ns"] / 1e9).tolist() == wanted


def test_the_traces_of_arc_have_blocks_of_512_bytes_and_no_times(tmp_path: Path) -> None:
    """A line is first block, number of blocks, and two fields that are ignored."""
    path = tmp_path / "P1.lis"
    path.write_text("1049 4 0 0\n7 1 0 1\n")
    assert format_of(path) == "arc"
    assert reader.find_format(path, "").TIMELESS
    assert reader.read_requests(path).tolist() == [
        (0, 1049 * 512, 2048, 0),
        (0, 7 * 512, 512, 0),
    ]


# ---- traces of files ----

# The head of Thesios' traces
THESIOS = (
    "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class,"
    "from_flash_cache,cache_hit,request_io_size_bytes,response_io_size_bytes,disk_io_size_bytes,"
    "start_time,disk_time,simulated_disk_start_time,simulated_latency"
)


def thesios_line(file: str, at: int, kind: str, size: int, time: str) -> str:
    """Return a line of Thesios."""
    return (
        f"{file},{at},bigtable,1700000000,WARM,REPLICATED,{kind},OTHER,0,0,{size},{size},{size},"
        f"{time},0.01,{time},0.02"
    )


def test_thesios_is_read_by_the_names_of_its_columns(tmp_path: Path) -> None:
    """Each part of the trace has a head. Files get their places on the disk in extents of EXTENT
    bytes, in the order of their first uses. A request across two extents becomes two."""
    path = tmp_path / "data-00000-of-00100"
    lines = [
        THESIOS,
        thesios_line("f1", 4096, "READ", 24576, "1705276800.25"),
        thesios_line("f2", 0, "WRITE", 512, "1705276800.2515"),
        THESIOS,
        thesios_line("f1", EXTENT - 512, "READ", 1024, "1705276801.25"),
    ]
    path.write_text("\n".join(lines) + "\n")
    assert format_of(path) == "thesios"
    assert reader.read_requests(path).tolist() == [
        (0, 4096, 24576, 0),
        (1_500_000, EXTENT, 512, 1),
        (10**9, EXTENT - 512, 512, 0),
        (10**9, 2 * EXTENT, 512, 0),
    ]
    path.write_text(THESIOS.replace("op_type", "type") + "\n")
    with pytest.raises(BadTraceFile, match=":1: the head has no column op_type"):
        reader.read_requests(path, "thesios")
    path.write_text("\n".join([*lines[:3], lines[1] + ",1"]))
    with pytest.raises(BadTraceFile, match=":4: 18 fields, not 17"):
        reader.read_requests(path)


def test_a_file_that_is_written_alone_lies_in_one_piece() -> None:
    """Extents(time, file, offset, bytes, direction) gives the requests on the disk. Here file `a`
    gets three extents, then `b` one, then `a` a fourth."""
    files = Extents()
    assert files.requests(7, "a", 0, 3 * EXTENT, 1) == [(7, 0, 3 * EXTENT, 1)]
    assert files.requests(7, "b", 5, 2, 0) == [(7, 3 * EXTENT + 5, 2, 0)]
    assert files.requests(7, "a", 3 * EXTENT - 1, 2, 0) == [
        (7, 3 * EXTENT - 1, 1, 0),
        (7, 4 * EXTENT, 1, 0),
    ]
    assert files.requests(7, "c", 1 << 70, 0, 1) == [(7, 0, 0, 1)]
    with pytest.raises(ValueError, match="the offset: "):
        files.requests(7, "c", 1 << 63, 1, 1)


# io-tracer's trace of files: time, operation, pid, process, path, bytes, inode, flags, ..., offset
IOTRACER_FILE = (
    "2024-01-15 10:30:45.123456,READ,1234,python3,/home/u/a,b.txt,24576,77,O_RDWR|O_CREAT,0,0,9\n"
    "2024-01-15 10:30:45.124000,OPEN,1234,python3,/home/u/log,0,78,O_WRONLY|O_APPEND,0,0,9\n"
    "2024-01-15 10:30:45.124956,WRITE,1234,python3,/home/u/a,b.txt,4096,77,NO_FLAGS,0,24576,9\n"
)


def test_io_tracers_files_are_known_by_their_inodes(tmp_path: Path) -> None:
    """A path may have a comma. An OPEN is left out."""
    path, left = tmp_path / "fs_20240115_103045_123.csv", LeftOut()
    path.write_text(IOTRACER_FILE)
    assert format_of(path) == "iotracer_file"
    assert reader.read_requests(path, left_out=left).tolist() == [
        (0, *PLACES[0]),
        (1_500_000, *PLACES[1]),
    ]
    assert str(left) == "operations on files that neither read nor write: 1"


def test_io_tracer_without_offsets_is_refused_with_words(tmp_path: Path) -> None:
    """The lines of an older version lack the offset. A path with commas may make up for the missing
    field."""
    path = tmp_path / "w"
    path.write_text(
        "2024-01-15 10:30:45.123456,OPEN,1,a,/b,0,77,O_RDWR,0\n"
        "2024-01-15 10:30:45.123456,READ,1,a,/b,4096,77,O_RDWR|O_CREAT,0\n"
    )
    with pytest.raises(BadTraceFile, match=":2: no offset: this version of io-tracer does not say"):
        reader.read_requests(path, "iotracer_file")
    path.write_text(
        "2024-01-15 10:30:45.123456,READ,1,a,/b,c,d,4096,77,O_RDWR,0\n"
    )  # as many fields
    with pytest.raises(BadTraceFile, match=":1: no offset: this version of io-tracer does not say"):
        reader.read_requests(path, "iotracer_file")


# What versions of io-tracer write of a read and of a write to two devices: without a head, with one
# flag for each letter of the kernel's kind; with the kernel's flags, or blanks in their place; and
# with a head.
IOTRACER_BLOCK = (
    "2026-11-30 08:00:01.001000,9,cat,13700410,read|ahead,24576,1.0,9,0,1,8:16,0.25,\n"
    "2026-11-30 08:00:01.002500,7,jbd2,1,flush|write|sync,4096,1.0,7,1,1,8:0,,\n",
    "2026-11-30 08:00:01.001000,9,a,b,13700410,read,24576,1.0,9,0,1,8:16,0.25,REQ_META,OP_READ\n"
    "2026-11-30 08:00:01.001000,7,jbd2,0,flush,0,,7,1,1,8:0,,,\n"
    "2026-11-30 08:00:01.002500,7,jbd2,1,write,4096,1.0,7,1,1,8:0,,,\n",
    "timestamp,operation,pid,tid,command,sector,size,latency_ms,device,flags,cpu_id,mono_ns\n"
    '2026-11-30 08:00:01.001000,read,9,9,"a,b",13700410,24576,1.0,8:16,ahead|meta,0,77\n'
    "2026-11-30 08:00:01.001000,discard,9,9,fstrim,0,512,1.0,8:16,,0,78\n"
    "2026-11-30 08:00:01.001500,write,7,7,jbd2,1,4096,,8:0,,,79\n",
    "timestamp,pid,command,sector,operation,size,latency_ms,tid,cpu_id,ppid,device,mono_ns\n"
    "2026-11-30 08:00:01.001000,9,cat,13700410,read,24576,1.0,9,0,1,8:16,77\n"
    "2026-11-30 08:00:01.002500,7,jbd2,1,write,4096,1.0,7,1,1,8:0,79\n",
)


@pytest.mark.parametrize("text", IOTRACER_BLOCK, ids=["kinds", "codes", "head", "old head"])
def test_each_version_of_io_tracers_blocks_is_read_with_its_devices(
    tmp_path: Path, text: str
) -> None:
    """The read is on 8:16 and the write on 8:0, which follows on the disk."""
    path = tmp_path / "w"
    path.write_text(text)
    assert format_of(path) == "iotracer_block"
    end = -(-(FIRST[1] + FIRST[2]) // PART) * PART
    assert reader.read_requests(path).tolist() == [FIRST, (1_500_000, end + 512, 4096, 1)]


def test_an_io_tracer_line_without_its_four_fields_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w"
    path.write_text(IOTRACER_BLOCK[0] + "2026-11-30 08:00:02.000000,9,cat,1,read,much,1.0,9\n")
    with pytest.raises(BadTraceFile, match=":3: no sector, operation, size and latency"):
        reader.read_requests(path)


IOTRACER_FILES = (  # without a head, where a blank offset is 0; and with one, also in capitals
    "2026-11-30 08:00:01.000000,READ,9,cat,/home/u/a,b,24576,77,,,9\n"
    "2026-11-30 08:00:01.000500,DIO_READ,9,cat,/home/u/a,b,24576,77,,,9\n"
    "2026-11-30 08:00:01.000700,WRITE,9,cat,,10,,O_RDWR,5,9\n"
    "2026-11-30 08:00:01.001500,WRITE,9,cat,/home/u/a,b,4096,77,O_RDWR|O_CREAT,24576,9\n",
    "timestamp,operation,pid,tid,command,filename,size,offset,bytes_completed,inode,device,flags\n"
    '2026-11-30 08:00:01.000000,read,9,9,cat,"/home/u/a,b",131072,,24576,77,8:1,\n'
    '2026-11-30 08:00:01.000500,open,9,9,cat,"/home/u/a,b",,,,77,8:1,O_RDONLY\n'
    "2026-11-30 08:00:01.000700,read,9,9,cat,,10,5,10,,,\n"
    '2026-11-30 08:00:01.001500,WRITE,9,9,cat,"/home/u/a,b",4096,24576,4096,77,8:1,\n',
    "timestamp,operation,pid,command,filename,size_requested,inode,flags,offset,tid,mono_ns\n"
    "2026-11-30 08:00:01.000000,READ,9,cat,/home/u/a,24576,77,,,9,1\n"
    "2026-11-30 08:00:01.000500,OPEN,9,cat,/home/u/a,,77,O_RDONLY,,9,2\n"
    "2026-11-30 08:00:01.000700,READ,9,cat,,10,,,5,9,3\n"
    "2026-11-30 08:00:01.001500,WRITE,9,cat,/home/u/a,4096,77,,24576,9,4\n",
)


@pytest.mark.parametrize("text", IOTRACER_FILES, ids=["blanks", "head", "old head"])
def test_each_version_of_io_tracers_files_is_read(tmp_path: Path, text: str) -> None:
    """The third operation has neither an inode nor a path, so its file is unknown."""
    path, left = tmp_path / "w", LeftOut()
    path.write_text(text)
    assert format_of(path) == "iotracer_file"
    assert reader.read_requests(path, left_out=left).tolist() == [
        (0, *PLACES[0]),
        (1_500_000, *PLACES[1]),
    ]
    assert str(left) == (
        "operations on files that neither read nor write: 1; "
        "reads and writes of what has neither inode nor name: 1"
    )


def test_a_failed_read_of_io_tracer_is_left_out(tmp_path: Path) -> None:
    """A failed read has an errno and no bytes."""
    path, left = tmp_path / "w", LeftOut()
    path.write_text(
        "timestamp,operation,filename,size,offset,inode,bytes_completed,errno\n"
        "2026-11-30 08:00:01.000000,read,/a,24576,0,7,24576,\n"
        "2026-11-30 08:00:01.000000,read,/a,4096,0,7,,EIO\n"
    )
    assert reader.read_requests(path, left_out=left).tolist() == [(0, *PLACES[0])]
    assert str(left) == "requests without data: 1"


def test_files_of_equal_inodes_on_two_devices_are_two(tmp_path: Path) -> None:
    """Each gets an extent of its own."""
    path = tmp_path / "w"
    head = IOTRACER_FILES[1].splitlines()[0]
    line = "\n2026-11-30 08:00:01.000000,read,9,9,cat,/a,4096,0,4096,77,8:{},"
    path.write_text(head + line.format(1) + line.format(2))
    assert reader.read_requests(path)["offset"].tolist() == [0, EXTENT]


def test_old_files_of_io_tracer_are_known_so_that_the_message_tells_what_is_missing(
    tmp_path: Path,
) -> None:
    """The format is recognised, although it cannot be read."""
    path = tmp_path / "w"
    path.write_text("2024-01-15 10:30:45.123456,READ,1,a,/b,4096,77,O_RDWR|O_CREAT,0\n")
    with pytest.raises(BadTraceFile, match=":1: no offset: this version of io-tracer does not say"):
        reader.read_requests(path)


# ---- blktrace and blkparse ----

# Text of blkparse, with the stages of both requests to fill in
YCSB = (
    "259,2    0        1     0.000000000  4020  {}   R 13700410 + 48 [java]\n"
    "259,2    0        2     0.000000500  4020  C   R 13700410 + 48 [0]\n"
    "259,2    3        9     0.001500000   311  {}  WS 1 + 8 [jbd2/nvme0n1-8]\n"
)


@pytest.mark.parametrize("stage", ["Q", "D", "I"])
def test_ycsbs_trace_of_rocksdb_is_text_of_blkparse(tmp_path: Path, stage: str) -> None:
    """The stage is queued (Q), inserted (I) or dispatched (D). A file may lack earlier stages."""
    path = tmp_path / "ssdtrace-00"
    path.write_text(YCSB.format(stage, stage))
    assert format_of(path) == "blkparse"
    assert reader.read_requests(path).tolist() == EXPECTED
    path.write_text(YCSB.format("Q", "D"))
    assert reader.read_requests(path).tolist() == [FIRST]


def test_the_stage_of_blkparse_is_that_of_the_beginning_and_no_line_is_lost(tmp_path: Path) -> None:
    """The stage is chosen from the first HEAD bytes, which may end anywhere in a line. A later line
    of an earlier stage is not read."""
    path = tmp_path / "w"
    line = "8,0 0 1 {}.5 9 D W 8 + 8 [a]\n"
    text = "".join(line.format(i) for i in range(9000))
    assert len(text) > 3 * HEAD
    for pad in range(len(line)):  # wherever the beginning ends within a line
        path.write_text("x" * pad + "\n" + text + "8,0 0 1 99999.5 9 Q W 8 + 8 [a]\n")
        left = LeftOut()
        assert len(reader.read_requests(path, "blkparse", 2500, left_out=left)) == 2500
        assert str(left) in ("", "lines that are no events of blkparse: 1")
    assert len(reader.read_requests(path)) == 9000


# A record of blktrace: magic, sequence, time, sector, bytes, action, pid, device, CPU, error,
# further bytes. An action has its class in the upper half: queue (1 << 4), read (1) or write (2).
RECORD = struct.Struct("<IIQQIIIIIHH")
QUEUED = 1 << 20 | 1
READ_QUEUED, WRITE_QUEUED = 1 << 16 | QUEUED, 2 << 16 | QUEUED


def blktrace_file(rows: list[tuple[int, int, int, int]], cpu: int = 0) -> bytes:
    """Return a file of blktrace. rows: time in ns, sector, bytes, action."""
    return b"".join(
        RECORD.pack(blktrace.MAGIC | blktrace.VERSION, i + 1, *row, 7, 8 << 20, cpu, 0, 0)
        for i, row in enumerate(rows)
    )


BLK_ROWS = [(250, 13700410, 24576, READ_QUEUED), (1_500_250, 1, 4096, WRITE_QUEUED)]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_binary_of_blktrace_is_read_by_blkparse(tmp_path: Path, pack) -> None:
    """blkparse is a program of the package blktrace."""
    path = tmp_path / "w"
    path.write_bytes(pack(blktrace_file(BLK_ROWS)))
    assert format_of(path) == "blktrace"
    assert reader.read_requests(path).tolist() == EXPECTED


def test_the_files_of_all_cpus_are_read_together(tmp_path: Path) -> None:
    """blktrace writes a file for each CPU; the other is found by its name."""
    for cpu in (0, 1):
        path = tmp_path / f"sda.blktrace.{cpu}"
        path.write_bytes(blktrace_file(BLK_ROWS[cpu : cpu + 1], cpu))
    assert reader.read_requests(path).tolist() == EXPECTED


def test_without_blkparse_it_is_said_what_to_install(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "w"
    path.write_bytes(blktrace_file(BLK_ROWS))
    monkeypatch.setattr("shutil.which", lambda *args, **more: None)
    with pytest.raises(BadTraceFile, match="apt-get install blktrace"):
        reader.read_requests(path)
