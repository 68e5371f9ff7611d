"""Joins PNG pictures of one size and form to an animated one: the chunks acTL, fcTL and fdAT of the
Portable Network Graphics Specification, third edition (W3C). A program that does not know them
shows the first picture."""

import struct
import zlib
from itertools import count

from sluice.report.png import SIGNATURE, encode_chunk, read_chunks

FOREVER = 0


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
