"""The binary files of blktrace, read by the program blkparse; blkparse.py has what becomes of them.

blktrace writes a file for each CPU, NAME.blktrace.0 and so on. If one of them is given, its
neighbours are read too. A file of another name is read alone, also if it is packed.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from sluice.trace.errors import BadTraceFile
from sluice.trace.formats import blkparse
from sluice.trace.stream import LeftOut, compression

ABOUT = "blktrace, binary, by the program blkparse"
SOURCE = "blktrace(8), blkparse(1); Linux, include/uapi/linux/blktrace_api.h"
SEVERAL = True
MAGIC = 0x65617400  # and the version in the lowest byte
VERSION = 7
OF_CPU = re.compile(r"(?P<base>.+)\.blktrace\.\d+")


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return head[:4] in ((MAGIC | VERSION).to_bytes(4, order) for order in ("little", "big"))


def parse_command(path: Path) -> list[str]:
    """Return the command line that prints the events of a file. If the file has the events of one
    CPU, as its name says, those of all CPUs' files are printed. Raises BadTraceFile if blkparse is
    not there."""
    program = shutil.which("blkparse", path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin")
    if not program:
        why = "blkparse, which reads it, is not installed; on Debian: apt-get install blktrace"
        raise BadTraceFile(f"{path}: cannot be read: {why}")
    of_cpu = OF_CPU.fullmatch(path.name)
    if of_cpu and not compression(path):
        return [program, "-D", str(path.parent), "-i", of_cpu["base"]]
    return [program, "-i", "-"]


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    command = parse_command(path)
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as whole:
        if command[-1] == "-":
            shutil.copyfileobj(stream, whole)
            whole.seek(0)
        with subprocess.Popen(command, stdin=whole, stdout=subprocess.PIPE, stderr=said) as program:
            assert program.stdout
            try:
                yield from blkparse.read(path, cast(BinaryIO, program.stdout), left)
            finally:
                program.stdout.close()
                program.terminate()
        said.seek(0)
        words = said.read().decode(errors="replace").strip()
    if program.returncode > 0:
        raise BadTraceFile(f"{path}: blkparse: {words.splitlines()[-1] if words else 'failed'}")
