"""Sound inputs, which are changed at random (fuzz_targets.py)."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from functools import partial
from random import Random

# A few requests in each format, by a file's name as its tool or site gives it.
TRACES = {
    "io_traces.csv": b"419,R,7014609920,24576,1577808144360767\n419,W,512,4096,1577808144362267\n",
    "2018-10-01-01": b"1538323200,13700410,48,0,1063\n1538323201,8,8,1,1063\n",
    "trace.csv": b"version,time,op,size,lbn\n1,33898,28,24576,13700410\n1,33899,2a,4096,8\n",
    "1042": b"1042,0.000125,R,7014609920,24576\n1042,0.001625,W,512,4096\n",
    "prn_1.csv": b"128166372003061629,prn,1,Read,7014609920,24576,41286\n"
    b"128166372016382155,prn,1,Write,1317441536,8192,1963\n",
    "Financial1.spc": b"0,303567,3584,w,0.000000\n1,55590,3072,w,0.000000\n0,4,512,r,0.026214\n",
    "requests.csv": b"time_ns,op,offset,size\n0,read,0,4096\n1000000,write,8192,4096\n",
    "any.csv": b"when,what,where,long\n0.5,R,0,4096\n1.5,W,8192,4096\n",
    "blk.txt": b"  8,0    1        1     0.000000000   700  D   R 223490 + 8 [cat]\n"
    b"  8,0    1        2     0.000107000   700  D   W 10 + 16 [cat]\n",
    "log.fio": b"fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 0 4096\n"
    b"/dev/sda wait 1000\n/dev/sda write 8192 4096\n/dev/sda close\n",
    "fio3": b"fio version 3 iolog\n0 /dev/sda add\n1 /dev/sda open\n5 /dev/sda read 0 4096\n",
    "disksim.txt": b"0.000000 0 1024 8 1\n0.500000 0 2048 16 0\n",
    "nbdkit.log": b"2026-11-27 23:46:18.640000 connection=1 Connect export='' tls=0 size=0x100000\n"
    b"2026-11-27 23:46:18.646801 connection=1 Read id=1 offset=0x1a21a7400 count=0x6000 ...\n"
    b"2026-11-27 23:46:18.647000 connection=1 Flush id=2 ...\n",
    "t.arc.lis": b"0 8 0 1\n64 8 0 2\n",
}
SOURCE = b"/* The oldest first. */\nint next(void)\n{\n    return 0;\n}\n"
MOST_USTAR = 90  # characters of a name, which this format can always hold
OTHERS = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE)
NAMES = (
    *("kernel/disk/queue.c", "policies/sched/mine.c", "./policies/sched/mine.c", "mine.c"),
    *("sluice/policies/sched/mine.c", "../mine.c", "/mine.c", "a/" * 40 + "mine.c", "Mine.c"),
    *("policies\\sched\\mine.c", "mine (1).c", "queue.c", "__MACOSX/._mine.c", "m\u00efne.c"),
)


def build_tar(chance: Random) -> bytes:
    """Return a tar archive in one of its formats, now and then with a link or a folder in it."""
    file = io.BytesIO()
    form = chance.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for name in chance.sample(NAMES, chance.randrange(1, 5)):
            long = name * chance.choice((1, 1, 1, 9))
            item = tarfile.TarInfo(long[:MOST_USTAR] if form == tarfile.USTAR_FORMAT else long)
            item.size = len(SOURCE)
            if chance.randrange(8) == 0:
                item.type, item.linkname, item.size = chance.choice(OTHERS), "/etc/passwd", 0
            archive.addfile(item, io.BytesIO(SOURCE[: item.size]))
    return file.getvalue()


def build_zip(chance: Random) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as z:
        for name in chance.sample(NAMES, chance.randrange(1, 5)):
            z.writestr(zipfile.ZipInfo(name), SOURCE)  # with a time that is always the same
    return file.getvalue()


def build_archive(chance: Random) -> bytes:
    """Return an archive as a student might hand one in, not yet packed."""
    return build_zip(chance) if chance.randrange(3) == 0 else build_tar(chance)


def pack(data: bytes, chance: Random) -> bytes:
    """Return the archive packed in one of the usual ways, now and then cut or changed after."""
    gzipped = partial(gzip.compress, mtime=0)
    pack_data = chance.choice((bytes, bytes, gzipped, bz2.compress, lzma.compress))
    packed = pack_data(data)
    return packed[: chance.randrange(len(packed) + 1)] if chance.randrange(8) == 0 else packed
