"""Quote paths for tools for which some characters of a path have a special meaning.

A folder may have any name, because users choose TMPDIR, OUT, the tree's folder and their home. So
this file quotes each path that becomes part of a text which a tool parses.

    the shell       shlex.quote, shlex.join (in a Makefile word_of); quote_shell in what is
                    printed and written for people, where a path may have bytes that are not UTF-8
    QEMU            quote_qemu, for each value in an option with commas
    debugfs         quote_debugfs, for each path in a request, which is one line; so a place of
                    the host's, whose folder may have any name, is named from its folder
    e2fsprogs       folder_and_name: they take what follows a `?` in an image's path for
                    options, and there is no way to quote it
    QEMU's -D       descriptor_path: it takes a `%` for a template, and there is no way to quote it
    gdb             a path is the last word of its command, which gdb takes as it is

A path that is a whole argument of a program needs no quoting.
"""

import os
import shlex
import string
from pathlib import Path

from sluice.host.fault import HostFault


def quote_shell(path: Path | str) -> str:
    """Return the path as a word of the shell that can be written down and pasted."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        plain = set(string.ascii_letters + string.digits + "/._-")
        body = text.rstrip("\n")  # a shell removes newlines at the end of $(...)
        codes = (chr(b) if chr(b) in plain else f"\\{b:03o}" for b in os.fsencode(body))
        return f"\"$(printf '{''.join(codes)}'){text[len(body) :]}\""
    return shlex.quote(text)


def quote_qemu(path: Path | str) -> str:
    """Return the path as a value in an option with commas, as `file=...,format=raw`."""
    return str(path).replace(",", ",,")


def quote_debugfs(path: Path | str) -> str:
    """Return the path as one word of a debugfs request. Raises HostFault for a path that no request
    can contain."""
    text = str(path)
    if "\n" in text:
        raise HostFault(
            f"{text!r}: debugfs, which reads disks here, takes no path with a line break: rename it"
        )
    return '"' + text.replace('"', '""') + '"'


def folder_and_name(path: Path) -> tuple[Path, str]:
    """Return the folder in which to start a program, and the file's name from there, `./NAME`."""
    return path.parent, f"./{path.name}"


def descriptor_path(file: int) -> str:
    """Return a path of a file that this process has open, for its children."""
    return f"/proc/{os.getpid()}/fd/{file}"
