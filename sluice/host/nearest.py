"""What to write of a name that does not exist: the one that was meant, or all that there are."""

import difflib
from collections.abc import Iterable

ALIKE = 0.5  # of two names' letters, for one to be taken for the other


def meant(name: str, names: Iterable[str]) -> str:
    """`did you mean "x"?` if a name is like this one, or else a list of all names."""
    near = difflib.get_close_matches(name, names := list(names), 1, ALIKE)
    return f'did you mean "{near[0]}"?' if near else f"there are {', '.join(names)}"
