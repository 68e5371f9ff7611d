"""A format whose options are known: it has what a module of formats/ has."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Protocol

import numpy as np

from sluice.trace.stream import LeftOut
from sluice.trace.table_roles import Roles, Unit

Read = Callable[[Path, BinaryIO, LeftOut], Iterator[np.ndarray]]


class Format(Protocol):
    """A format of traces: a module of formats/, or one with options."""

    __name__: str
    ABOUT: str
    read: Read


@dataclass
class Bound:
    """A format with its options. module: the name of its module; said: what was guessed, for
    people."""

    module: str
    ABOUT: str
    SOURCE: str
    read: Read
    SEVERAL: bool = False
    TIMELESS: bool = False
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.__name__ = self.module  # as a module has it

    @classmethod
    def bind_table(
        cls, name: str, about: str, source: str, roles: Roles, unit: Unit, read: Read
    ) -> "Bound":
        """Return the format of a table with these columns."""
        said = [f"columns: {roles.describe()}"]
        timeless = "time" not in roles.places
        said.append("no times" if timeless else f"times in {unit.name} ({unit.why})")
        several = "disk" in roles.places and "file" not in roles.places
        return cls(name, about, source, read, several, timeless, said)

    def allowing(self, share: float) -> "Bound":
        """Return the format with this share of lines that may be bad."""
        inner = self.read

        def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
            """Read the trace with the share of lines that may be bad."""
            left.bad.share = share
            yield from inner(path, stream, left)

        return Bound(
            self.module, self.ABOUT, self.SOURCE, read, self.SEVERAL, self.TIMELESS, self.said
        )


def bind_module(module: ModuleType) -> Bound:
    """Return a module of formats/ as a format that can take options."""
    return Bound(
        module.__name__,
        module.ABOUT,
        module.SOURCE,
        module.read,
        getattr(module, "SEVERAL", False),
        getattr(module, "TIMELESS", False),
    )
