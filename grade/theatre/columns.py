"""Packs columns of whole numbers for a page: differences, in as few bytes as they need, deflated.

A column is its numbers' differences from one to the next, each folded to a number from 0 on (0, -1,
1, -2 ... are 0, 1, 2, 3 ...) and written in groups of 7 bits, the low ones first; the top bit says
that more follow. The column is then deflated (zlib) and written in base64, so that it can stand in
a page. theatre.js has the other direction.
"""

import base64
import zlib
from collections.abc import Iterable


def folded(n: int) -> int:
    """A whole number as one from 0 on."""
    return n << 1 if n >= 0 else (-n << 1) - 1


def groups(n: int) -> bytes:
    """A number from 0 on, in groups of 7 bits."""
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def packed(column: Iterable[int]) -> str:
    """A column as text."""
    out, before = bytearray(), 0
    for n in column:
        out += groups(folded(n - before))
        before = n
    return base64.b64encode(zlib.compress(bytes(out), 9)).decode()


def unpacked(text: str) -> list[int]:
    """The numbers of a column."""
    column, n, shift, before = [], 0, 0, 0
    for byte in zlib.decompress(base64.b64decode(text)):
        n |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            before += n >> 1 if n & 1 == 0 else -(n + 1 >> 1)
            column.append(before)
            n = shift = 0
    return column
