"""A form is parsed in the sandbox, once, and what it costs there is limited.

A form is the TOML file with a student's answers. Wrong is raised for what is the student's fault,
HostFault for the grader's.
"""

import pytest

from grade.engine import answers
from grade.engine.assertions import Wrong
from grade.trust import formfile, sandbox, sourcefile
from grade.trust.archive import Refused
from sluice.host.fault import HostFault


@pytest.fixture(autouse=True)
def forget() -> None:
    """Forget the forms that other tests had parsed."""
    formfile.parse_form.cache_clear()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow a parser 1 s of a processor. Its sandbox may take no notice of SIGXCPU, and is killed
    after another second."""
    monkeypatch.setattr(formfile, "CPU_S", 1)
    monkeypatch.setattr(sandbox, "CPU_MORE_S", 1)


def replace_parser(monkeypatch: pytest.MonkeyPatch, does: str, only: str = "") -> None:
    """Replace the parser by one that first does this; if `only` is given, only with texts that
    contain it."""
    begin = f"if {only!r} in open('{formfile.TEXT}').read():\n    {does}\n"
    monkeypatch.setattr(formfile, "PARSER", begin + formfile.PARSER)


def test_values_come_out_as_they_are() -> None:
    """Numbers of any size stay whole numbers; values of other types come as something that is
    neither a number nor a text."""
    found = formfile.parse_form(
        'student = "Zoë"\na = 18446744073709551616\nb = 1.5\nc = 2026-11-28\n'
    )
    assert found["student"] == "Zoë" and found["a"] == 2**64
    assert repr(found["b"]) == "1.5" and "2026" in repr(found["c"])
    assert type(found["b"]) not in (int, str)


def test_a_form_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text is read three times; `texts` has what was parsed."""
    texts, run = [], formfile.run_parser
    monkeypatch.setattr(formfile, "run_parser", lambda text: texts.append(text) or run(text))
    for _ in range(3):
        assert answers.read_form("a = 1\n") == {"a": 1}
    assert texts == ["a = 1\n"]


@pytest.mark.parametrize(
    ("text", "why"),
    [("a = \n", "line 1"), ("a = 1\na = 2\n", "Cannot overwrite"), ("\0", "line 1")],
)
def test_what_is_no_toml_is_the_students(text: str, why: str) -> None:
    """The message has the place."""
    with pytest.raises(Wrong, match=why):
        answers.read_form(text)


def test_a_large_form_is_refused_before_anything_parses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formfile, "run_parser", lambda *_: pytest.fail("it was parsed"))
    with pytest.raises(Wrong, match="has 16385 bytes, and a form may have 16384"):
        answers.read_form("#" * (formfile.MOST_BYTES + 1))


@pytest.mark.parametrize("does", ["while True: pass", "x = bytes(1 << 40)"])
def test_a_form_that_costs_too_much_is_the_students(
    does: str, monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    """does: what the parser does with the form `costly`. Another form is parsed as always."""
    replace_parser(monkeypatch, does, only="costly")
    with pytest.raises(Wrong, match="more than 1 s of a processor, or too much memory"):
        answers.read_form('costly = "yes"\n')
    assert answers.read_form("a = 1\n") == {"a": 1}


def test_the_sandbox_gets_the_limit_of_a_form_and_not_of_a_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit is processor time in s."""
    limits, run = [], sandbox.run_command
    monkeypatch.setattr(
        sandbox, "run_command", lambda *a, **k: limits.append(k["cpu_s"]) or run(*a, **k)
    )
    answers.read_form("a = 2\n")
    assert limits == [formfile.CPU_S] and formfile.CPU_S < sandbox.CPU_S


def test_if_no_form_can_be_parsed_the_grader_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser fails with every text."""
    replace_parser(monkeypatch, "raise SystemExit(1)")
    with pytest.raises(HostFault):
        answers.read_form("a = 1\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/* */\n" * (sourcefile.MOST_LINES + 1), "5001 lines, and a source may have 5000"),
        ("/" * (sourcefile.MOST_TEXT + 1), "131073 bytes, and a source may have 131072"),
    ],
    ids=["lines", "bytes"],
)
def test_a_source_that_nobody_writes_is_refused_before_it_is_read(
    text: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """text: a source that is too long, or has too many lines; why: a pattern for the refusal."""
    monkeypatch.setattr(sourcefile, "check_text", lambda *_: pytest.fail("it was read"))
    with pytest.raises(Refused, match=why):
        sourcefile.check_texts({"policies/sched/mine.c": text})
