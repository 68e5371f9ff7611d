"""The contract of a C function that returns nothing says what the function does.

A contract is the comment above a function's declaration in a header. It begins with a verb, as
"Drop the contents of a block". A sentence that describes an event, as "The block belongs to nothing
any more", leaves the reader to guess who does what.
"""

import re

import pytest

from sluice.host.paths import ROOT

CONTRACT = re.compile(
    r"^/\*(?P<text>(?:[^*]|\*(?!/))*)\*/\n"
    r"(?:static |inline |__\w+ )*void (?P<name>\w+)\((?:[^;{}()]|\([^()]*\))*\)"
    r"\s*(?:__\w+\s*)?[;{]",
    re.MULTILINE,
)
# Words with which a sentence begins whose verb does not come first. "If" may begin a command.
NO_VERBS = """
a after all an any as at because before both by caller each every for from has how in is it its
more most no none nothing of on once one only since some that the there these they this those
two until what when where while who why with without
"""
NO_VERB = frozenset(NO_VERBS.split())


def find_without_verb(source: str) -> list[str]:
    """Return the names of the functions in a header's text whose contract begins with no verb."""
    found = []
    for contract in CONTRACT.finditer(source):
        word = re.search(r"\w+", contract["text"])
        if word and word[0].lower() in NO_VERB:
            found.append(contract["name"])
    return found


def test_a_contract_begins_with_a_verb() -> None:
    headers = [path for top in ("kernel", "policies") for path in ROOT.glob(f"{top}/**/*.h")]
    contracts = [path.read_text(encoding="utf-8") for path in headers]
    assert sum(len(CONTRACT.findall(text)) for text in contracts) > 80  # the pattern still fits
    found = {
        str(path.relative_to(ROOT)): names
        for path, text in zip(headers, contracts, strict=True)
        if (names := find_without_verb(text))
    }
    assert not found


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("/* The block is let go. */\nvoid let_go(struct buf *);\n", ["let_go"]),
        ("/*\n * It ends,\n * at last. */\nstatic inline void end(void)\n{", ["end"]),
        ("/* From now on call fn. */\nvoid add(void (*fn)(int), int);\n", ["add"]),
        ("/* Let the block go. */\nvoid let_go(struct buf *);\n", []),
        ("/* The number of blocks. */\nu64 count(void);\n", []),
    ],
)
def test_a_sentence_about_an_event_is_found(source: str, names: list[str]) -> None:
    assert find_without_verb(source) == names
