"""Match text whose form is known because an earlier check has accepted it."""

import re


def match_whole(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    """Return the match of a pattern with a whole text. Raises ValueError if there is none."""
    found = pattern.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not of the form {pattern.pattern}")
    return found


def search_text(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    """Return the first match of a pattern in a text. Raises ValueError if there is none."""
    found = pattern.search(text)
    if not found:
        raise ValueError(f"nothing in {text!r} is of the form {pattern.pattern}")
    return found
