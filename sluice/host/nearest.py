"""Suggests names in place of a name that does not exist: the most similar one, or a list."""

import difflib
from collections.abc import Iterable

ALIKE = 0.5  # least similarity of two names (difflib's ratio) for a suggestion
MOST_LISTED = 30


def suggest(name: str, names: Iterable[str]) -> str:
    """Return `did you mean "x"?` with the most similar name, or a list of the names if none is
    similar: of more than MOST_LISTED the first ones, and the number of the others."""
    near = difflib.get_close_matches(name, names := list(names), 1, ALIKE)
    if near:
        return f'did you mean "{near[0]}"?'
    listed, others = names[:MOST_LISTED], len(names) - MOST_LISTED
    return f"there are {', '.join(listed)}" + (f", and {others} others" if others > 0 else "")
