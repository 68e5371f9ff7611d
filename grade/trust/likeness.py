"""Finds submissions whose text is so alike that a person should look at both.

Fingerprints of the words of the code are compared, each function's apart, so that their order does
not matter. Comments and layout are left out. A name counts by its place: a function, constant, type
or field that the headers have is itself; every other name is one that the student chose, and all of
these count as one, whatever other meaning the same name has in a header. Code that the skeleton has
is not counted. Likeness is a hint, and proves nothing. Solutions of a few lines are compared by
their behaviour only (behaviour.py).

Source: Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document
fingerprinting", SIGMOD 2003. Two packages of PyPI do the same and are not used (looked at in
November 2026). compare50 1.2.15 needs attrs below 21, and the schema checker of the tests a
later one, so it would need an environment of its own, of 140 MB. There it finds a set of policies
with other names and in another order, as this does; but its scores are relative to the pair that is
most alike. Four sets of policies that have nothing to do with each other had 6.5 to 10 of 10, and
the copy had 10. So it cannot say that nobody is alike. Its page shows two texts side by side, which
helps a person who looks at a pair. copydetect 0.5.0 compares hashes that Python makes anew in each
process, so that its figures differ from run to run, and brings 200 MB of packages for plots.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import combinations
from zlib import crc32

from grade.code.source import quiet

WORDS = 8  # in a fingerprint
WINDOW = 4  # of so many neighbours at least one fingerprint is kept
LEAST = 20  # fingerprints, or decisions (behaviour.py): fewer tell nothing
ALIKE = 0.8  # of those of both together
WORD = re.compile(r"[A-Za-z_]\w*|\d\w*|->|\S")
NAME = re.compile(r"[A-Za-z_]")
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")
TYPE = re.compile(r"\b(?:struct|enum|union)\s+(\w+)|\btypedef\b[^;{}]*?(\w+)\s*;")
TAGGED = ("struct", "enum", "union")
CALLED = re.compile(r"\b(\w+)\s*\(")
LANGUAGE = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register return short signed sizeof static struct switch typedef union "
    "unsigned void volatile while bool true false NULL"
)
KEYWORDS = frozenset(LANGUAGE.split())
CHOSEN = "name"  # stands for each name of the student's choice
SAYS = "of the text is the same"


@dataclass(frozen=True)
class Pair:
    """Two submissions that are alike; the share of what was compared that both have, and what that
    is."""

    one: str
    other: str
    share: float
    says: str


@dataclass(frozen=True)
class Known:
    """The names that headers and the skeleton give a meaning: words that nobody has chosen."""

    functions: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()  # after struct, enum or union
    types: frozenset[str] = frozenset()  # by typedef
    others: frozenset[str] = frozenset()  # every word: fields and constants among them

    def plain(self, before: str, word: str, after: str) -> str:
        """The word as it counts between its neighbours."""
        if not NAME.match(word) or word in KEYWORDS or word in self.types:
            return word
        if before in TAGGED:
            return word if word in self.tags else CHOSEN
        if after == "(":
            return word if word in self.functions else CHOSEN
        kept = before in (".", "->") or CONSTANT.fullmatch(word)
        return word if kept and word in self.others else CHOSEN


def known_in(texts: Iterable[str]) -> Known:
    """The names in these headers and sources."""
    whole = "\n".join(map(quiet, texts))
    found = TYPE.findall(whole)
    tags, types = frozenset(tag for tag, _ in found), frozenset(name for _, name in found)
    return Known(frozenset(CALLED.findall(whole)), tags, types, frozenset(WORD.findall(whole)))


def similar(found: Mapping[str, Set[int]], says: str, least: float = ALIKE) -> list[Pair]:
    """The pairs that share at least so much of what both have together, the most alike first; says:
    what the share is of."""
    enough = {name: parts for name, parts in found.items() if len(parts) >= LEAST}
    pairs = [
        Pair(one, other, len(enough[one] & enough[other]) / len(enough[one] | enough[other]), says)
        for one, other in combinations(sorted(enough), 2)
    ]
    return sorted((p for p in pairs if p.share >= least), key=lambda p: (-p.share, p.one, p.other))


def words(text: str) -> list[str]:
    """The words of C code."""
    return WORD.findall(quiet(text))


def pieces(found: list[str]) -> Iterator[list[str]]:
    """The words of each function and declaration apart."""
    piece, depth = [], 0
    for word in found:
        piece.append(word)
        depth += (word == "{") - (word == "}")
        if depth <= 0 and word in ("}", ";"):
            yield piece
            piece, depth = [], 0
    yield piece


def fingerprints(text: str, known: Known) -> set[int]:
    """The fingerprints of a text."""
    kept = set()
    for piece in pieces(words(text)):
        around = zip(["", *piece], piece, [*piece[1:], ""], strict=False)
        plain = [known.plain(*three) for three in around]
        grams = [
            crc32(" ".join(plain[i : i + WORDS]).encode()) for i in range(len(plain) - WORDS + 1)
        ]
        windows = max(1, len(grams) - WINDOW + 1) if grams else 0
        kept |= {min(grams[i : i + WINDOW]) for i in range(windows)}
    return kept


def own(files: Mapping[str, str], skeleton: Mapping[str, str], known: Known) -> set[int]:
    """The fingerprints of what was added to the skeleton."""
    found = (fingerprints(text, known) for text in files.values())
    given = (fingerprints(text, known) for text in skeleton.values())
    return set().union(*found) - set().union(*given)


def alike(
    handed_in: Mapping[str, Mapping[str, str]], skeleton: Mapping[str, str], headers: Iterable[str]
) -> list[Pair]:
    """The pairs of submissions that are alike, the most alike first. Their files are given by
    name."""
    known = known_in([*skeleton.values(), *headers])
    return similar({name: own(files, skeleton, known) for name, files in handed_in.items()}, SAYS)
