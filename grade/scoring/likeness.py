"""Finds submissions that are so alike that a person should look at both.

Fingerprints of the words of the code are compared. Comments and layout are left out, and all names
that the student chose count as one, so renaming, reordering of functions and other spacing hide
nothing. Code that the skeleton has is not counted. Likeness is a hint, and proves nothing.

Source: Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document
fingerprinting", SIGMOD 2003.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from zlib import crc32

from grade.code.source import quiet

WORDS = 8  # in a fingerprint
WINDOW = 4  # of so many neighbours at least one fingerprint is kept
LEAST = 20  # fingerprints: fewer tell nothing
ALIKE = 0.8  # of the fingerprints of both together
WORD = re.compile(r"[A-Za-z_]\w*|\d\w*|\S")
NAME = re.compile(r"[A-Za-z_]")


@dataclass(frozen=True)
class Pair:
    """Two submissions that are alike, and the share of their fingerprints that both have."""

    one: str
    other: str
    share: float


def words(text: str) -> list[str]:
    """The words of C code."""
    return WORD.findall(quiet(text))


def fingerprints(text: str, known: set[str]) -> set[int]:
    """The fingerprints of a text. All names that are not known count as one."""
    plain = [word if word in known or not NAME.match(word) else "name" for word in words(text)]
    grams = [crc32(" ".join(plain[i : i + WORDS]).encode()) for i in range(len(plain) - WORDS + 1)]
    return {min(grams[i : i + WINDOW]) for i in range(len(grams) - WINDOW + 1)}


def own(files: Mapping[str, str], skeleton: Mapping[str, str], known: set[str]) -> set[int]:
    """The fingerprints of what was added to the skeleton."""
    found = (fingerprints(text, known) for text in files.values())
    given = (fingerprints(text, known) for text in skeleton.values())
    return set().union(*found) - set().union(*given)


def alike(
    handed_in: Mapping[str, Mapping[str, str]], skeleton: Mapping[str, str], headers: Iterable[str]
) -> list[Pair]:
    """The pairs of submissions that are alike, the most alike first. Their files are given by
    name."""
    known = {word for text in (*skeleton.values(), *headers) for word in words(text)}
    prints = {name: own(files, skeleton, known) for name, files in handed_in.items()}
    enough = {name: found for name, found in prints.items() if len(found) >= LEAST}
    pairs = [
        Pair(one, other, len(enough[one] & enough[other]) / len(enough[one] | enough[other]))
        for one, other in combinations(sorted(enough), 2)
    ]
    return sorted((p for p in pairs if p.share >= ALIKE), key=lambda p: (-p.share, p.one, p.other))
