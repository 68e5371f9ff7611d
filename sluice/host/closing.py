"""Close an object at the end of a `with` statement.

A class whose objects hold processes, files or memory has a method `close` that releases them. As a
subclass of Closing it is a context manager as soon as it has `__enter__`, too.
"""

from types import TracebackType


class Closing:
    """The base class of context managers that call `close` at the end."""

    def close(self) -> None:
        """Release what the object holds. Each subclass has its own."""
        raise NotImplementedError

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the object, whether or not there was an error, which goes on."""
        self.close()
