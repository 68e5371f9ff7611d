"""Print so that output never ends a command: neither a small character set nor a closed pipe does.

- A character that the terminal's character set lacks is printed as one that looks like it.
- If the reader of a pipe has gone (`| head`), the rest of the output is lost in silence, and the
  command goes on to write its files. Its exit status says how its work went.
- If the output is a file on a full disk, the rest of the output is lost, too. The command
  finishes its work and ends with status 1.
- Programs that a command starts print English in UTF-8, so the command can read them in every
  locale.

Files are always UTF-8: each call that reads or writes text says so (tests/tools/test_encodings.py),
and the Makefile switches on Python's UTF-8 mode. So the locale matters only for what the terminal
can show.
"""

import codecs
import io
import locale
import os
import sys
import textwrap
import unicodedata
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

ALIKE = "sluice.alike"  # the name of the error handler below
UTF8 = "C.UTF-8"  # a locale that every system has
PLAIN_WIDTH = 80  # of output that is no terminal
NARROWEST = 20  # least width, because a terminal may report a width of 0
LIKENESSES = {  # an ASCII character, and the characters that it replaces
    **{"_": "▁", ".": "▂•·…", ":": "▃", "-": "▄─━\u2010\u2013\u2014\u2212", "=": "▅"},
    **{"+": "▆┌┐└┘├┤┬┴┼", "*": "▇", "#": "█", "|": "▏▎▍▌▋▊▉│┃", "'": "\u2018\u2019"},
    **{'"': "\u201c\u201d\u201e", "x": "\u00d7", "u": "µ", "~": "≈"},
    **{"<": "←≤", ">": "→≥", "^": "↑", "v": "↓"},
}
PLAIN = str.maketrans({one: plain for plain, many in LIKENESSES.items() for one in many})


def replace_by_lookalike(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that cannot be encoded by similar ASCII characters, or `?`. Returns the
    replacement and the position at which encoding continues.

    Each stands for one character, so tables stay straight.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    plain = (unicodedata.normalize("NFKD", one.translate(PLAIN))[:1] for one in lost)
    return "".join(one if one.isascii() else "?" for one in plain), error.end


class Lasting(io.FileIO):
    """A file that drops all output after the first write that fails.

    trouble: why this write failed; "" if it has not, or if the reader of a pipe has gone.
    """

    trouble = ""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write as io.FileIO does. Returns the number of bytes. After an error, everything counts
        as written."""
        try:
            return super().write(data)
        except OSError as error:
            self.trouble = "" if isinstance(error, BrokenPipeError) else str(error.strerror)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())  # for programs that we start, too
            os.close(nowhere)
            return memoryview(data).nbytes


def terminal_encoding() -> str:
    """Return the character set of the terminal, from PYTHONIOENCODING or else from the locale.

    The locale C says nothing about the terminal; then UTF-8 is assumed, as Python does.
    """
    asked = os.environ.get("PYTHONIOENCODING", "").partition(":")[0]
    name = codecs.lookup(asked or locale.getencoding()).name
    return "utf-8" if name == "ascii" and not asked else name


def unfailing_stream(stream: TextIO) -> io.TextIOWrapper:
    """Return a stream to the same file in which no write fails, whatever is printed."""
    stream.flush()
    raw = Lasting(stream.fileno(), "w", closefd=False)
    wide = terminal_encoding()
    return io.TextIOWrapper(
        io.BufferedWriter(raw), wide, ALIKE, line_buffering=bool(stream.line_buffering)
    )


def protect_output() -> None:
    """Replace standard output and standard error by streams in which no write fails.

    Streams that are not this process's own (in a test) stay as they are.
    """
    if sys.stdout is not sys.__stdout__ or sys.stdout is None or sys.stdout.errors == ALIKE:
        return
    codecs.register_error(ALIKE, replace_by_lookalike)
    # The stubs call these two final. A program that prints at its end must find the new ones.
    sys.stdout = sys.__stdout__ = unfailing_stream(sys.stdout)  # type: ignore[misc]
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:
        sys.stderr = sys.__stderr__ = unfailing_stream(sys.stderr)  # type: ignore[misc]
    os.environ.pop("PYTHONIOENCODING", None)
    os.environ["LC_ALL"] = UTF8


def line_width() -> int:
    """Return how many characters fit into a line of the terminal; PLAIN_WIDTH if the output is no
    terminal."""
    try:
        return max(os.get_terminal_size(sys.stdout.fileno()).columns, NARROWEST)
    except (OSError, ValueError, AttributeError):
        return PLAIN_WIDTH


def terminal_width() -> int | None:
    """Return the width of the terminal, or None if the output is a file or a pipe. There a sentence
    stays one line, so that it can be searched for."""
    return line_width() if sys.stdout.isatty() else None


def fill_lines(text: str, hang: int) -> list[str]:
    """Return the lines of a sentence. On a terminal they fit, and all but the first begin with
    `hang` blanks. In a file or a pipe there is one line."""
    room = terminal_width()
    if not room:
        return [text]
    return textwrap.wrap(
        text, room, subsequent_indent=" " * hang, break_on_hyphens=False, drop_whitespace=True
    )


def print_filled(sentences: list[str]) -> None:
    """Print each sentence as fill_lines() has it."""
    for sentence in sentences:
        print("\n".join(fill_lines(sentence, 2)), flush=True)


def output_trouble() -> str:
    """Return why some of the output is lost, or "". A closed pipe is not an error."""
    if sys.stdout is None or sys.stdout.errors != ALIKE:
        return ""
    sys.stdout.flush()
    raw = getattr(sys.stdout.buffer, "raw", None)
    return raw.trouble if isinstance(raw, Lasting) else ""
