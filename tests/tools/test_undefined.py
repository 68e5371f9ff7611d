"""Behaviour that C leaves undefined and a compiler chooses: no warning finds it."""

import re

import pytest

from sluice.host.paths import ROOT

pytestmark = pytest.mark.check

SOURCES = [p for at in ("user", "sluice/programs", "tools/bench") for p in (ROOT / at).rglob("*.c")]


def calls_of_open(text: str) -> list[str]:
    """Return the arguments of each call of open()."""
    return re.findall(r"\bopen\(((?:[^()]|\([^()]*\))*)\)", text)


def lacks_mode(arguments: str) -> bool:
    """True if open() creates a file with whatever is in the third register."""
    return "O_CREAT" in arguments and re.sub(r"\([^()]*\)", "", arguments).count(",") < 2


def test_a_file_is_created_with_a_mode() -> None:
    """open(path, O_CREAT) took the mode 0 from one compiler, and EINVAL from another."""
    assert len(SOURCES) > 60
    wrong = [
        f"{path.relative_to(ROOT)}: open({arguments})"
        for path in SOURCES
        for arguments in calls_of_open(path.read_text(encoding="utf-8"))
        if lacks_mode(arguments)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ("open(path, O_WRONLY | O_CREAT)", True),
        ("open(at(a, b), O_CREAT | (x ? O_SYNC : 0))", True),
        ("open(path, O_WRONLY | O_CREAT, 0666)", False),
        ("open(path, O_RDONLY)", False),
    ],
)
def test_the_check_finds_a_missing_mode(call: str, wrong: bool) -> None:
    (arguments,) = calls_of_open(call)
    assert lacks_mode(arguments) == wrong
