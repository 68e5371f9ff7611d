"""Pictures as arrays of numbers, shape (rows, columns, 3), 0 to 255; and PNG files of them."""

import struct
import zlib
from pathlib import Path

import numpy as np

from sluice.report.png import SIGNATURE, encode_chunk, read_chunks

RGB, RGBA = 2, 6  # colour types of a PNG


def encoded(picture: np.ndarray) -> bytes:
    """Return a PNG file of a picture. Each row has no filter (0)."""
    height, width, _ = picture.shape
    rows = np.rint(picture).astype(np.uint8).reshape(height, width * 3)
    form = struct.pack(">IIBBBBB", width, height, 8, RGB, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows), 9)
    return (
        SIGNATURE
        + encode_chunk(b"IHDR", form)
        + encode_chunk(b"IDAT", data)
        + encode_chunk(b"IEND", b"")
    )


def nearest(left: int, up: int, corner: int) -> int:
    """Return the byte of three that is nearest to left + up - corner: Paeth's predictor."""
    guess = left + up - corner
    return min((left, up, corner), key=lambda n: abs(guess - n))


def decoded(png: bytes) -> np.ndarray:
    """Return the picture in a PNG file of 8 bits a colour; what is transparent is mixed with
    white."""
    found = list(read_chunks(png))
    width, height, depth, kind, *_ = struct.unpack(">IIBBBBB", dict(found)[b"IHDR"])
    assert (depth, kind) in ((8, RGB), (8, RGBA)), "this is another form of PNG"
    each = 3 if kind == RGB else 4
    data = zlib.decompress(b"".join(part for name, part in found if name == b"IDAT"))
    # A row has the number of its filter, then its bytes. A filter has subtracted, from each byte,
    # what it guessed by the bytes to the left, above, and above to the left; they are added again.
    above, rows = [0] * (width * each), []
    for at in range(0, len(data), width * each + 1):
        used, row = data[at], list(data[at + 1 : at + 1 + width * each])
        for i in range(len(row)) if used else ():
            left, corner = (row[i - each], above[i - each]) if i >= each else (0, 0)
            up = above[i]
            guess = (0, left, up, (left + up) // 2, nearest(left, up, corner))[used]
            row[i] = (row[i] + guess) & 255
        rows.append(row)
        above = row
    picture = np.array(rows, float).reshape(height, width, each)
    if kind == RGB:
        return picture
    opacity = picture[:, :, 3:] / 255
    return picture[:, :, :3] * opacity + 255 * (1 - opacity)


def compare(picture: np.ndarray, path: Path, most: float, out: Path) -> None:
    """Fail if a number of a picture differs by more than `most` from the stored picture's.

    The drawn picture is left in the folder `out`: look at it and, if it is right, store it.
    """
    drawn = out / path.name
    drawn.write_bytes(encoded(picture))
    says = f"look at {drawn}; if it is right, copy it to {path}"
    assert path.exists(), f"there is no picture to compare with: {says}"
    stored = decoded(path.read_bytes())
    assert stored.shape == picture.shape, f"{path.name} has another size: {says}"
    apart = abs(stored - picture).max(axis=2)
    row, column = np.unravel_index(apart.argmax(), apart.shape)
    where = f"{path.name} differs by {apart.max():.0f} at row {row}, column {column}"
    assert apart.max() <= most, f"{where}: {says}"
