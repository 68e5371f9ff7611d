"""Suggests names in place of a name that does not exist: the most similar one, or all of them."""

import difflib
from collections.abc import Iterable

ALIKE = 0.5  # least similarity of two names (difflib's ratio) for a suggestion


def suggest(name: str, names: Iterable[str]) -> str:
    """Return `did you mean "x"?` with the most similar name, or a list of all names if none is
    similar."""
    near = difflib.get_close_matches(name, names := list(names), 1, ALIKE)
    return f'did you mean "{near[0]}"?' if near else f"there are {', '.join(names)}"
