"""An HdrHistogram log: response times of each disk's reads and writes, each second.

The text and the histograms' binary form (V2, compressed, in base64) are as the
HdrHistogram project's HistogramLogWriter and its "encodeIntoByteBuffer" have
them: values in ns, to three digits, up to a day.
"""

import base64
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from sluice.export.recording import Recording
from sluice.system.requests import Request

ABOUT = "HdrHistogram log of response times, a line a second, disk and direction"
DIGITS = 3
SUB_BUCKET_BITS = 11  # 2048 sub-buckets, the power of two from 2 * 10^DIGITS
HALF = 1 << SUB_BUCKET_BITS - 1
HIGHEST_NS = 24 * 3600 * 10**9
SECOND_NS = 10**9
V2 = 0x1C849303 | 0x10  # the low digit's 1: counts are of variable length
V2_COMPRESSED = 0x1C849304 | 0x10
PROCESSOR = "org.HdrHistogram.HistogramLogProcessor"
HEAD = struct.Struct(">iiiiqqd")


def index(value: int) -> int:
    """The count to which a value belongs."""
    bucket = max(value.bit_length() - SUB_BUCKET_BITS, 0)
    return (bucket + 1) * HALF + (value >> bucket) - HALF


def zigzag(n: int) -> bytes:
    """A signed number in as few bytes as it needs, seven bits in each."""
    n = n << 1 if n >= 0 else (-n << 1) - 1
    out = bytearray()
    while n >= 0x80 and len(out) < 8:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def counts(values: Iterable[int]) -> Iterator[int]:
    """The counts in order; a run of zeros is one negative number."""
    after = 0
    for at, n in sorted(Counter(map(index, values)).items()):
        if at > after:
            yield after - at
        yield n
        after = at + 1


def encode(values: Iterable[int], highest: int) -> str:
    """A histogram as text."""
    payload = b"".join(map(zigzag, counts(values)))
    head = HEAD.pack(V2, len(payload), 0, DIGITS, 1, highest, 1.0)
    packed = zlib.compress(head + payload)
    return base64.b64encode(struct.pack(">ii", V2_COMPRESSED, len(packed)) + packed).decode()


def second(r: Request) -> int:
    return r.completed_ns // SECOND_NS


def tag(r: Request) -> str:
    return f"disk{r.disk}-{r.direction}"


def lines(recording: Recording) -> Iterator[str]:
    """The log; a request counts in the second of its completion."""
    yield f"#{recording.run.experiment} run {recording.run.number}, {recording.run.name}"
    yield "#[Histogram log format version 1.3]"
    yield "#[StartTime: 0.000 (seconds since power-on), virtual time]"
    yield "#[BaseTime: 0.000 (seconds since power-on)]"
    yield '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    highest = max([HIGHEST_NS, *(r.response_ns for r in recording.requests)])
    ordered = sorted(recording.requests, key=lambda r: (second(r), tag(r)))
    for (at, name), group in groupby(ordered, key=lambda r: (second(r), tag(r))):
        values = [r.response_ns for r in group]
        yield f"Tag={name},{at:.3f},1.000,{max(values) / 1e6:.3f},{encode(values, highest)}"


def write(recording: Recording, folder: Path) -> list[str]:
    """One log, with tags like disk1-read."""
    path = folder / "responses.hlog"
    path.write_text("".join(f"{line}\n" for line in lines(recording)), encoding="utf-8")
    return [f"java -cp HdrHistogram.jar {PROCESSOR} -i {path.name} -tag disk1-read"]
