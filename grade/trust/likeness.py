"""Find submissions whose text is so alike that a person should look at both.

Fingerprints of the words of the code are compared, separately for each function, so that the order
of functions does not matter. Comments and layout are left out. Functions, constants, types and
fields that the headers define keep their names. All names that the student chose are replaced by
one word, CHOSEN. What a name is depends on where it stands, so a chosen name is replaced even if a
header uses the same name for something else. Code that the skeleton has is not counted. Likeness is
a hint, and proves nothing. Solutions of a few lines are compared by their behaviour only
(behaviour.py).

Source: Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document fingerprinting",
SIGMOD 2003. Two packages of PyPI do the same and are not used (looked at in November 2026).
compare50 1.2.15 needs attrs below 21, and the schema checker of the tests a later one, so it would
need an environment of its own, of 140 MB. Like this file, it finds a set of policies that was
renamed and reordered. But its scores are relative to the most similar pair: four unrelated sets of
policies had 6.5 to 10 of 10, and the copy had 10. So it cannot report that no pair is alike. Its
page shows two texts side by side, which helps a person who looks at a pair. copydetect 0.5.0
compares hashes that Python makes anew in each process, so that its figures differ from run to run,
and brings 200 MB of packages for plots.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import combinations
from zlib import crc32

from grade.code.source import blank_comments

WORDS = 8  # words in a fingerprint
WINDOW = 4  # at least one of this many neighbouring fingerprints is kept
LEAST = 20  # fewer fingerprints or decisions (behaviour.py) are not compared
ALIKE = 0.8  # least share of common fingerprints among those of both files together
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
    """Two submissions that are alike.

    share: the share of the compared items that both have. says: what was compared, in words.
    """

    one: str
    other: str
    share: float
    says: str


@dataclass(frozen=True)
class Known:
    """The names that headers and the skeleton define, and so no student has chosen."""

    functions: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()  # after struct, enum or union
    types: frozenset[str] = frozenset()  # by typedef
    others: frozenset[str] = frozenset()  # every word: fields and constants among them

    def normalize_word(self, before: str, word: str, after: str) -> str:
        """Return the word itself, or CHOSEN if the student chose it; its neighbours decide."""
        if not NAME.match(word) or word in KEYWORDS or word in self.types:
            return word
        if before in TAGGED:
            return word if word in self.tags else CHOSEN
        if after == "(":
            return word if word in self.functions else CHOSEN
        kept = before in (".", "->") or CONSTANT.fullmatch(word)
        return word if kept and word in self.others else CHOSEN


def collect_known_names(texts: Iterable[str]) -> Known:
    """Return the names in these headers and sources."""
    whole = "\n".join(map(blank_comments, texts))
    found = TYPE.findall(whole)
    tags, types = frozenset(tag for tag, _ in found), frozenset(name for _, name in found)
    return Known(frozenset(CALLED.findall(whole)), tags, types, frozenset(WORD.findall(whole)))


def similar_pairs(found: Mapping[str, Set[int]], says: str, least: float = ALIKE) -> list[Pair]:
    """Return the pairs with a share of common items of at least `least`, the most alike first.

    found: the items of each submission, by its name. The share is of the items that either has.
    Submissions with fewer than LEAST items are left out. says: what the items are, in words.
    """
    enough = {name: items for name, items in found.items() if len(items) >= LEAST}
    pairs = []
    for one, other in combinations(sorted(enough), 2):
        common, either = enough[one] & enough[other], enough[one] | enough[other]
        pairs.append(Pair(one, other, len(common) / len(either), says))
    return sorted((p for p in pairs if p.share >= least), key=lambda p: (-p.share, p.one, p.other))


def split_words(text: str) -> list[str]:
    """Return the words of C code, without comments and literals."""
    return WORD.findall(blank_comments(text))


def split_functions(found: list[str]) -> Iterator[list[str]]:
    """Yield the words of each function and each declaration."""
    piece, depth = [], 0
    for word in found:
        piece.append(word)
        depth += (word == "{") - (word == "}")
        if depth <= 0 and word in ("}", ";"):
            yield piece
            piece, depth = [], 0
    yield piece


def fingerprints(text: str, known: Known) -> set[int]:
    """Return the fingerprints of a text.

    In each function, each WORDS neighbouring words have a checksum. Of each WINDOW neighbouring
    checksums the least one is kept.
    """
    kept = set()
    for piece in split_functions(split_words(text)):
        around = zip(["", *piece], piece, [*piece[1:], ""], strict=False)
        plain = [known.normalize_word(*three) for three in around]
        sums = [
            crc32(" ".join(plain[i : i + WORDS]).encode()) for i in range(len(plain) - WORDS + 1)
        ]
        windows = max(1, len(sums) - WINDOW + 1) if sums else 0
        kept |= {min(sums[i : i + WINDOW]) for i in range(windows)}
    return kept


def own_fingerprints(
    files: Mapping[str, str], skeleton: Mapping[str, str], known: Known
) -> set[int]:
    """Return the fingerprints of what a student added to the skeleton."""
    found = (fingerprints(text, known) for text in files.values())
    given = (fingerprints(text, known) for text in skeleton.values())
    return set().union(*found) - set().union(*given)


def find_similar_pairs(
    handed_in: Mapping[str, Mapping[str, str]], skeleton: Mapping[str, str], headers: Iterable[str]
) -> list[Pair]:
    """Return the pairs of submissions that are alike, the most alike first.

    handed_in: each submission's files, by name.
    """
    known = collect_known_names([*skeleton.values(), *headers])
    return similar_pairs(
        {name: own_fingerprints(files, skeleton, known) for name, files in handed_in.items()}, SAYS
    )
