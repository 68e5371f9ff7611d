"""Output never ends a command: neither a narrow character set does, nor a reader that has gone.

- A character that the terminal's character set lacks is printed as one that looks like it.
- If the reader of a pipe has gone (`| head`), the rest of the output is lost in silence, and the
  command goes on to write its files. Its exit status says how its work went.
- If the output is a file on a full disk, the rest of the output is lost, too. The command
  finishes its work and ends with status 1.
- Programs that a command starts print English in UTF-8, so the command can read them in every
  locale.

Files are UTF-8 always: each call that moves text says so (tests/tools/test_encodings.py), and the
Makefile switches on Python's UTF-8 mode. So a locale says nothing but what the terminal shows.
"""

import codecs
import io
import locale
import os
import sys
import textwrap
import unicodedata
from typing import TextIO

ALIKE = "sluice.alike"  # the name of the error handler below
UTF8 = "C.UTF-8"  # a locale that every system has
PLAIN_WIDTH = 80  # of output that is no terminal
NARROWEST = 20  # a terminal may say that it is 0 wide
LIKENESSES = {  # an ASCII character, and those that it stands for
    **{"_": "▁", ".": "▂•·…", ":": "▃", "-": "▄─━\u2010\u2013\u2014\u2212", "=": "▅"},
    **{"+": "▆┌┐└┘├┤┬┴┼", "*": "▇", "#": "█", "|": "▏▎▍▌▋▊▉│┃", "'": "\u2018\u2019"},
    **{'"': "\u201c\u201d\u201e", "x": "\u00d7", "u": "µ", "~": "≈"},
    **{"<": "←≤", ">": "→≥", "^": "↑", "v": "↓"},
}
PLAIN = str.maketrans({one: plain for plain, many in LIKENESSES.items() for one in many})


def looking_alike(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that cannot be encoded by ASCII that looks like them, or `?`. The width of
    text stays the same, so tables stay straight."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    plain = (unicodedata.normalize("NFKD", one.translate(PLAIN))[:1] for one in lost)
    return "".join(one if one.isascii() else "?" for one in plain), error.end


class Lasting(io.FileIO):
    """A file that drops everything after the first write that fails. trouble: why that write
    failed; empty if the reader of a pipe has gone."""

    trouble = ""

    def write(self, data: object) -> int | None:
        """Write as io.FileIO does. After an error, everything counts as written."""
        try:
            return super().write(data)
        except OSError as error:
            self.trouble = "" if isinstance(error, BrokenPipeError) else error.strerror
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())  # for programs that we start, too
            os.close(nowhere)
            return memoryview(data).nbytes


def encoding() -> str:
    """The character set of the terminal: by PYTHONIOENCODING, or else by the locale. The locale C
    says nothing of the terminal, and Python takes it for UTF-8."""
    asked = os.environ.get("PYTHONIOENCODING", "").partition(":")[0]
    name = codecs.lookup(asked or locale.getencoding()).name
    return "utf-8" if name == "ascii" and not asked else name


def lasting(stream: TextIO) -> TextIO:
    """Return a stream to the same file in which no write fails, whatever is printed."""
    stream.flush()
    raw = Lasting(stream.fileno(), "w", closefd=False)
    wide = encoding()
    return io.TextIOWrapper(
        io.BufferedWriter(raw), wide, ALIKE, line_buffering=stream.line_buffering
    )


def prepare() -> None:
    """Replace standard output and standard error by streams in which no write fails. Streams that
    are not this process's own (in a test) stay as they are."""
    if sys.stdout is not sys.__stdout__ or sys.stdout is None or sys.stdout.errors == ALIKE:
        return
    codecs.register_error(ALIKE, looking_alike)
    sys.stdout = sys.__stdout__ = lasting(sys.stdout)
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:
        sys.stderr = sys.__stderr__ = lasting(sys.stderr)
    os.environ.pop("PYTHONIOENCODING", None)
    os.environ["LC_ALL"] = UTF8


def width() -> int:
    """How many characters fit into a line of the terminal; PLAIN_WIDTH if it is none."""
    try:
        return max(os.get_terminal_size(sys.stdout.fileno()).columns, NARROWEST)
    except (OSError, ValueError, AttributeError):
        return PLAIN_WIDTH


def terminal_width() -> int | None:
    """The width of the terminal, or None if the output is a file or a pipe. There a sentence stays
    one line, so that it can be searched for."""
    return width() if sys.stdout.isatty() else None


def filled(text: str, hang: int) -> list[str]:
    """The lines of a sentence: on a terminal they fit, and all but the first begin with `hang`
    blanks. In a file or a pipe it stays one line."""
    room = terminal_width()
    if not room:
        return [text]
    return textwrap.wrap(
        text, room, subsequent_indent=" " * hang, break_on_hyphens=False, drop_whitespace=True
    )


def trouble() -> str:
    """Return why some of the output is lost, or "". A reader that has gone is no trouble."""
    if sys.stdout is None or sys.stdout.errors != ALIKE:
        return ""
    sys.stdout.flush()
    return sys.stdout.buffer.raw.trouble
