"""Write an HdrHistogram log: response times of each disk's reads and writes, for each second.

The text has the format of the HdrHistogram project's HistogramLogWriter. The
histograms have its binary format (V2, compressed, in base64), as its
"encodeIntoByteBuffer" writes it: values in ns, to three digits, up to a day.
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
V2 = 0x1C849303 | 0x10  # the format's magic number; 0x10: counts are of variable length
V2_COMPRESSED = 0x1C849304 | 0x10
PROCESSOR = "org.HdrHistogram.HistogramLogProcessor"
HEAD = struct.Struct(">iiiiqqd")


def count_index(value: int) -> int:
    """Return the index of the count to which a value belongs. Values below 2^SUB_BUCKET_BITS have
    one each; after that each power of two has HALF, by the value's highest SUB_BUCKET_BITS bits."""
    bucket = max(value.bit_length() - SUB_BUCKET_BITS, 0)
    return (bucket + 1) * HALF + (value >> bucket) - HALF


def encode_number(n: int) -> bytes:
    """Return a signed number in as few bytes as it needs, with seven bits in each."""
    left = n << 1 if n >= 0 else (-n << 1) - 1  # 0, -1, 1, -2 ... become 0, 1, 2, 3 ...
    out = bytearray()
    while left >= 0x80 and len(out) < 8:
        out.append(left & 0x7F | 0x80)  # another byte follows
        left >>= 7
    out.append(left)
    return bytes(out)


def encode_counts(values: Iterable[int]) -> Iterator[int]:
    """Yield the counts in order. A run of zeros is one negative number."""
    after = 0
    for at, n in sorted(Counter(map(count_index, values)).items()):
        if at > after:
            yield after - at
        yield n
        after = at + 1


def encode_histogram(values: Iterable[int], highest: int) -> str:
    """Return a histogram as text."""
    payload = b"".join(map(encode_number, encode_counts(values)))
    head = HEAD.pack(V2, len(payload), 0, DIGITS, 1, highest, 1.0)
    packed = zlib.compress(head + payload)
    return base64.b64encode(struct.pack(">ii", V2_COMPRESSED, len(packed)) + packed).decode()


def completion_second(r: Request) -> int:
    """Return the second in which a request was completed."""
    return r.completed_ns // SECOND_NS


def direction_tag(r: Request) -> str:
    """Return the tag of a request's histogram: disk and direction."""
    return f"disk{r.disk}-{r.direction}"


def log_lines(recording: Recording) -> Iterator[str]:
    """Yield the lines of the log. A request counts in the second of its completion."""
    yield f"#{recording.run.experiment} run {recording.run.number}, {recording.run.name}"
    yield "#[Histogram log format version 1.3]"
    yield "#[StartTime: 0.000 (seconds since power-on), virtual time]"
    yield "#[BaseTime: 0.000 (seconds since power-on)]"
    yield '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    highest = max([HIGHEST_NS, *(r.response_ns for r in recording.requests)])
    ordered = sorted(recording.requests, key=lambda r: (completion_second(r), direction_tag(r)))
    for (at, name), group in groupby(
        ordered, key=lambda r: (completion_second(r), direction_tag(r))
    ):
        values = [r.response_ns for r in group]
        longest_ms = max(values) / 1e6
        yield f"Tag={name},{at:.3f},1.000,{longest_ms:.3f},{encode_histogram(values, highest)}"


def write(recording: Recording, folder: Path) -> list[str]:
    """Write one log, with tags like disk1-read. Returns the command that opens it."""
    path = folder / "responses.hlog"
    path.write_text("".join(f"{line}\n" for line in log_lines(recording)), encoding="utf-8")
    return [f"java -cp HdrHistogram.jar {PROCESSOR} -i {path.name} -tag disk1-read"]
