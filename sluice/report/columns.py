"""Packs columns of whole numbers for a page, in as few bytes as they need, deflated.

A column is stored as its numbers or as the differences of neighbours, whichever takes fewer bytes.
From each value the median of all values is subtracted. The results are divided by their greatest
common divisor and folded to numbers from 0 on (0, -1, 1, -2 ... become 0, 1, 2, 3 ...). They are
written in groups of 7 bits; a byte's top bit says that its number has a further group. The lowest
groups of all numbers come first, then the second groups of those numbers that have one, and so on,
because similar bytes are deflated better. Two numbers stand before them, each with its groups in a
row: 2 x the divisor, plus 1 if differences are stored; and the median, folded.

The column is then deflated (zlib) and written in base64, so that it can stand in a page. columns.js
unpacks it.
"""

import base64
import math
import zlib
from collections.abc import Iterable
from pathlib import Path

UNPACKER = Path(__file__).with_suffix(".js")


def fold_sign(n: int) -> int:
    """Return a number from 0 on that stands for a whole number: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return n << 1 if n >= 0 else (-n << 1) - 1


def unfold_sign(n: int) -> int:
    """Return the whole number that was folded to n: 0, -1, 1, -2, 2 ... to 0, 1, 2, 3, 4 ..."""
    return -(n + 1 >> 1) if n & 1 else n >> 1


def encode_groups(numbers: list[int]) -> bytes:
    """Return numbers from 0 on in groups of 7 bits: the low groups of all numbers, then the next
    groups, and so on."""
    out = bytearray()
    while numbers:
        out += bytes(n & 127 | 128 if n > 127 else n for n in numbers)
        numbers = [n >> 7 for n in numbers if n > 127]
    return bytes(out)


def deflate_text(data: bytes) -> str:
    """Return bytes as text, which inflated() of columns.js decodes."""
    return base64.b64encode(zlib.compress(data, 9)).decode()


def encode_column(numbers: list[int], differences: bool) -> bytes:
    """Return the bytes of a column before compression. differences: whether the numbers are
    differences."""
    median = sorted(numbers)[len(numbers) // 2] if numbers else 0
    distances = [n - median for n in numbers]
    divisor = math.gcd(*distances) or 1
    head = encode_groups([divisor * 2 + differences]) + encode_groups([fold_sign(median)])
    return head + encode_groups([fold_sign(n // divisor) for n in distances])


def pack_column(column: Iterable[int]) -> str:
    """Return a column as text, in the shorter of the two forms."""
    numbers = list(column)
    steps = [n - before for before, n in zip([0, *numbers], numbers, strict=False)]
    as_numbers = deflate_text(encode_column(numbers, False))
    as_differences = deflate_text(encode_column(steps, True))
    return min(as_numbers, as_differences, key=len)


def decode_first(data: bytes) -> tuple[int, bytes]:
    """Return the first number, and the bytes after it. Each byte has 7 bits of the number, the
    lowest first, and 128 if another byte follows."""
    length = next(i for i, byte in enumerate(data) if byte < 128) + 1
    number = sum((byte & 127) << 7 * i for i, byte in enumerate(data[:length]))
    return number, data[length:]


def unpack_column(text: str) -> list[int]:
    """Return the numbers of a column from its text."""
    head, data = decode_first(zlib.decompress(base64.b64decode(text)))
    divisor, are_differences = head >> 1, head & 1
    median, data = decode_first(data)
    column = [0] * sum(byte < 128 for byte in data)  # each number has one last group
    unfinished, at, shift = list(range(len(column))), 0, 0  # the numbers with a group to come
    while unfinished:
        groups, at = data[at : at + len(unfinished)], at + len(unfinished)
        for i, group in zip(unfinished, groups, strict=True):
            column[i] |= (group & 127) << shift
        unfinished = [i for i, group in zip(unfinished, groups, strict=True) if group > 127]
        shift += 7
    before = 0
    for i, n in enumerate(column):
        column[i] = before + divisor * unfold_sign(n) + unfold_sign(median)
        before = column[i] if are_differences else 0
    return column
