"""Becomes the machine of a run that is made again. gdb starts it, also to go back.

    python -m sluice.debug.launch FOLDER SOCKET_FD

FOLDER/machine.json says which machine (stop.py). It waits before its first instruction for the gdb
that connects to the socket, which is bound already. Its memory is FOLDER/memory, its console goes
to FOLDER/console. It ends with the process that started it.
"""

import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

from sluice.system import processors
from sluice.system.qemu import Config, Disk, die_with_parent

MACHINE = "machine.json"
MEMORY = "memory"
CONSOLE = "console"


def write(config: Config, folder: Path, log: int = 0) -> None:
    """Write the file that describes a machine whose disks are plain images. log: how many moves of
    its disks the machine keeps."""
    words = asdict(config) | {"disks": [disk.image for disk in config.disks], "log": log}
    (folder / MACHINE).write_text(json.dumps(words, default=str), encoding="utf-8")


def read(folder: Path) -> tuple[Config, int]:
    """Return the machine that was written, and how many moves of its disks it keeps."""
    words = json.loads((folder / MACHINE).read_text(encoding="utf-8"))
    disks = tuple(Disk(Path(path)) for path in words.pop("disks"))
    rr, log = words.pop("rr"), words.pop("log")
    kernel, options = Path(words.pop("kernel")), tuple(words.pop("options"))
    recorded = (rr[0], Path(rr[1])) if rr else None
    return Config(disks, kernel=kernel, options=options, rr=recorded, **words), log


def main(folder: Path, socket_fd: int) -> None:
    """Replace this process by QEMU with the machine of the folder."""
    die_with_parent()
    chardev = f"socket,id=gdb,fd={socket_fd},server=on,wait=off"
    options = ("-S", "-chardev", chardev, "-gdb", "chardev:gdb")
    config, log = read(folder)
    config = replace(config, options=(*config.options, *options))
    guest = config.guest(log, folder / MEMORY)
    own, lock = processors.claim_processor()
    if lock:
        os.set_inheritable(lock.fileno(), True)
    processors.bind_to_processors(own)
    os.set_inheritable(socket_fd, True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    console = os.open(folder / CONSOLE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for target, source in enumerate((nothing, console, console)):
        os.dup2(source, target)
    line = config.command(guest)
    os.execvp(line[0], line)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
