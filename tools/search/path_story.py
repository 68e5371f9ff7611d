"""Tells the steps that lead to a violation, from the lines that a replay prints."""

from collections.abc import Iterable, Iterator


def tell(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a story: each step, what happened in it, and the buffers if they changed.

    The last line says what is wrong.
    """
    before: dict[str, str] = {}
    for line in lines:
        what, _, text = line.partition(" ")
        if what == "step":
            number, _, does = text.partition(" ")
            yield f"{number:>3}. {does}"
        elif what == "note":
            yield f"       {text}"
        elif what == "violation":
            yield f"wrong: {text}"
        elif what == "result":
            yield text
        elif what == "state":
            yield from changed_lines(text, before)


def changed_lines(text: str, before: dict[str, str]) -> Iterator[str]:
    """Yield a line of the state if it is about buffers and another one than before."""
    kind, _, rest = text.partition(" ")
    buffers = rest.partition(";")[0]
    if kind == "buffers" and before.get(kind, "") != buffers:
        yield f"       now: {buffers or 'no buffer has a block'}"
        before[kind] = buffers
