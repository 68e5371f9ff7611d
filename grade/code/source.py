"""Find functions in C text by name, to cut a hole where one was or to plant a mistake.

A function is found where its name stands outside all braces, followed by its parameters and a body.
Comments, strings and preprocessor lines are skipped. A file's layout does not matter, so this works
on what students write.
"""

import re
from dataclasses import dataclass

LITERAL = r"""(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"  # one that nobody ends goes on to the end
QUIET = re.compile(rf"{COMMENT}|{LITERAL}|^[ \t]*\#(?:\\\n|[^\n])*", re.S | re.M)
PAIRS = {"(": ")", "{": "}"}


class NoFunction(ValueError):
    """The text lacks the function, or the function lacks the text to replace."""


@dataclass(frozen=True)
class Span:
    """The position of a function's body: text[start:end] stands between its braces."""

    start: int
    end: int


def blank_comments(text: str) -> str:
    """Return the text with comments, strings and directives blanked. Offsets stay the same."""
    return QUIET.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def find_closing_bracket(text: str, at: int) -> int:
    """Return the offset of the bracket that closes the bracket at `at`, or -1 if none does."""
    opens, closes = text[at], PAIRS[text[at]]
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == opens) - (text[i] == closes)
        if not depth:
            return i
    return -1


def body(text: str, function: str) -> Span:
    """Return the position of the function's body. Raises NoFunction."""
    code = blank_comments(text)
    for match in re.finditer(rf"\b{re.escape(function)}\s*\(", code):
        before = code[: match.start()]
        if before.count("{") != before.count("}"):
            continue
        end = find_closing_bracket(code, match.end() - 1)
        brace = re.compile(r"\s*\{").match(code, end + 1) if end >= 0 else None
        if not brace:
            continue
        last = find_closing_bracket(code, brace.end() - 1)
        if last >= 0:
            return Span(brace.end(), last)
    raise NoFunction(f"there is no function {function}")


def replace_body(text: str, function: str, new: str) -> str:
    """Return the text with the function's body replaced by `new`. Raises NoFunction."""
    span = body(text, function)
    return text[: span.start] + "\n" + new.strip("\n") + "\n" + text[span.end :]


def has_body(text: str, function: str, words: str) -> bool:
    """Return True if the function has this body, in any spacing. A missing function has none."""
    try:
        span = body(text, function)
    except NoFunction:
        return False
    return text[span.start : span.end].split() == words.split()


def replace_text(text: str, function: str, old: str, new: str) -> str:
    """Return the text with `old` replaced by `new` in the function.

    The spacing of `old` does not matter. Raises NoFunction unless `old` occurs exactly once.
    """
    span = body(text, function)
    inside = text[span.start : span.end]
    pattern = r"\s+".join(re.escape(word) for word in old.split())
    if len(re.findall(pattern, inside)) != 1:
        raise NoFunction(f"{function} does not contain once: {' '.join(old.split())}")
    inside = re.sub(pattern, lambda _: new, inside)
    return text[: span.start] + inside + text[span.end :]
