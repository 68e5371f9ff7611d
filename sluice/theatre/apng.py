"""Joins PNG pictures of one size and form to an animated one: the chunks acTL, fcTL and fdAT of the
Portable Network Graphics Specification, third edition (W3C). A program that does not know them
shows the first picture."""

import struct
import zlib
from collections.abc import Iterator
from itertools import count

SIGNATURE = b"\x89PNG\r\n\x1a\n"
FOREVER = 0


def read_chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the chunks of a PNG: name and data. Raises ValueError for data that is no PNG."""
    if not png.startswith(SIGNATURE):
        raise ValueError("this is no PNG: its first bytes are others")
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def encode_chunk(name: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG, with its length and checksum."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def join_frames(frames: list[bytes], delays_ms: list[int]) -> bytes:
    """Return the animation, which repeats for ever.

    frames: PNGs; delays_ms: how long each is shown. Raises ValueError if the frames differ in size
    or form.
    """
    form = dict(read_chunks(frames[0]))[b"IHDR"]
    size, place = form[:8], bytes(8)
    out = SIGNATURE + encode_chunk(b"IHDR", form)
    out += encode_chunk(b"acTL", struct.pack(">II", len(frames), FOREVER))
    numbers = count()
    for i, (frame, delay_ms) in enumerate(zip(frames, delays_ms, strict=True)):
        found = list(read_chunks(frame))
        if found[0] != (b"IHDR", form):
            raise ValueError(f"picture {i} has another size or form than the first")
        shown = struct.pack(">HHBB", delay_ms, 1000, 0, 0)
        out += encode_chunk(b"fcTL", struct.pack(">I", next(numbers)) + size + place + shown)
        data = b"".join(data for name, data in found if name == b"IDAT")
        data = zlib.compress(zlib.decompress(data), 9)  # a renderer's PNG is several times as large
        if i:
            out += encode_chunk(b"fdAT", struct.pack(">I", next(numbers)) + data)
        else:
            out += encode_chunk(b"IDAT", data)
    return out + encode_chunk(b"IEND", b"")
