"""Changes of an input at random: of its bytes, its lines, or its words."""

import re
from random import Random

WORD = re.compile(rb"[0-9]+|[A-Za-z_]+|[^\w\s]")
NASTY = (
    *(b"0", b"-1", b"1", b"", b"nan", b"1e309", b"0x10", b"\x00", b"\xff\xfe", b"\xc3\xa9"),
    *(b"18446744073709551615", b"18446744073709551616", b"9223372036854775808", b"4294967296"),
    *(b'"', b"'", b",", b"[", b"]", b"{", b"=", b"#", b"..", b"/", b"\\", b"\r", b"true"),
)
MOST_BYTES = 1 << 20


def change_byte(data: bytearray, chance: Random) -> None:
    """Change, insert or leave out a byte, or set it to a value that is often an edge."""
    at = chance.randrange(len(data))
    what = chance.randrange(4)
    if what == 0:
        data[at] ^= 1 << chance.randrange(8)
    elif what == 1:
        data[at] = chance.choice((0, 1, 0x20, 0x7F, 0x80, 0xFF))
    elif what == 2:
        del data[at]
    else:
        data.insert(at, chance.randrange(256))


def change_word(data: bytearray, chance: Random) -> None:
    """Put something else in the place of a number, a word or a sign."""
    words = list(WORD.finditer(data))
    if not words:
        return
    word = chance.choice(words)
    data[word.start() : word.end()] = chance.choice((*NASTY, chance.choice(words)[0]))


def change_part(data: bytearray, chance: Random) -> None:
    """Leave out, double or move a part."""
    first = chance.randrange(len(data))
    part = bytes(data[first : first + chance.choice((1, 16, 512, 4096))])
    if chance.randrange(2):
        del data[first : first + len(part)]
    if chance.randrange(2):
        at = chance.randrange(len(data) + 1)
        data[at:at] = part


def cut_end(data: bytearray, chance: Random) -> None:
    """Leave out the end."""
    del data[chance.randrange(len(data)) :]


WAYS = (change_byte, change_byte, change_word, change_word, change_part, cut_end)


def change_data(data: bytes, chance: Random) -> bytes:
    """Return the data with one to eight changes."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        if changed:
            chance.choice(WAYS)(changed, chance)
    return bytes(changed[:MOST_BYTES])
