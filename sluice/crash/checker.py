"""e2fsck on a file in memory: repair without a question, and check.

Neither of its two modes judges alone (shared facts about e2fsck 1.47): `-p` believes a disk that is
marked clean, and `-fn` looks at the state before the journal's replay.
"""

import os
import shutil
import struct
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from sluice.host.closing import Closing
from sluice.host.fault import HostFault
from sluice.host.paths import BUILT

NOW = "2000000000"  # e2fsck's clock, in seconds: equal disks so stay equal when it repairs them
HAS_JOURNAL = 4  # of the compatible features
E2FSCK = shutil.which("e2fsck", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") or "e2fsck"
ENVIRONMENT = {"PATH": os.defpath, "E2FSCK_TIME": NOW}
SERVED = BUILT / "twin" / "served.so"
STATUS_BYTES = 4


def exit_status(waited: int) -> int:
    """Return e2fsck's exit status, from what wait(2) said of it."""
    status = os.waitstatus_to_exitcode(waited)
    if status < 0:
        raise HostFault(f"signal {-status} ended e2fsck")
    return status


class Checker:
    """e2fsck, and the file on which it works: `path`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "judged"
        self.said = folder / "said"

    def preen(self, disk: bytes, who: str) -> str:
        """Put a disk into the file and have it repaired without a question. Returns what e2fsck
        said if it would have to ask, or ""."""
        return self.replay(disk, who) or self.repair(who)

    def replay(self, disk: bytes, who: str) -> str:
        """Put a disk into the file and have its journal replayed, if it has one. Returns what
        e2fsck said if it could not, or ""."""
        self.write(disk)
        has_journal = struct.unpack_from("<I", disk, 1024 + 92)[0] & HAS_JOURNAL
        if has_journal and (status := self.run("-E", "journal_only", "-p")):
            return f"{who}: the journal: status {status}: {self.message()}"
        return ""

    def write(self, disk: bytes) -> None:
        """Put a disk into the file. The file keeps its memory, which costs more than the copy."""
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.truncate(file, len(disk))
            os.pwrite(file, disk, 0)
        finally:
            os.close(file)

    def repair(self, who: str) -> str:
        """Have the disk in the file repaired without a question. Returns as `preen`."""
        if (status := self.run("-p")) > 1:
            return f"{who} -p: status {status}: {self.message()}"
        return ""

    def run(self, *options: str) -> int:
        """Run e2fsck on the file. Returns its status."""
        out = (os.POSIX_SPAWN_OPEN, 1, str(self.said), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        actions = [out, (os.POSIX_SPAWN_DUP2, 1, 2)]
        words = [E2FSCK, *options, str(self.path)]
        pid = os.posix_spawn(E2FSCK, words, ENVIRONMENT, file_actions=actions)
        return exit_status(os.waitpid(pid, 0)[1])

    def message(self) -> str:
        """Return what e2fsck said, on one line."""
        said = self.said.read_text(encoding="utf-8", errors="replace")
        said = said.replace(str(self.path), "the disk")
        lines = (" ".join(line.split()) for line in said.splitlines())
        return "; ".join(line for line in lines if line)[:400]


class ServedCommand(Closing):
    """e2fsck with these options on a file, started once for many runs (served.c). What it prints
    goes to the file `said`. A context manager."""

    def __init__(self, options: tuple[str, ...], path: Path, said: Path) -> None:
        self.options, self.path, self.said = options, path, said

    def __enter__(self) -> "ServedCommand":
        """Start e2fsck with the library served.c, which stops it before it reads the disk. The
        library takes requests from its standard input, and answers through another pipe."""
        take_requests, self.requests = os.pipe()
        self.answers, give_answers = os.pipe()
        self.out = os.open(self.said, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        actions: list[Any] = [
            (os.POSIX_SPAWN_DUP2, give_answers, give_answers),  # it is kept open
            (os.POSIX_SPAWN_DUP2, take_requests, 0),
            (os.POSIX_SPAWN_DUP2, self.out, 1),
            (os.POSIX_SPAWN_DUP2, self.out, 2),
        ]
        more = {"LD_PRELOAD": str(SERVED), "SERVED": str(self.path)}
        more |= {"ANSWERS": str(give_answers), "LD_BIND_NOW": "1"}
        words = [E2FSCK, *self.options, str(self.path)]
        # In a group of its own, so ^C does not reach it.
        self.pid = os.posix_spawn(
            E2FSCK, words, ENVIRONMENT | more, file_actions=actions, setpgroup=0
        )
        os.close(take_requests)
        os.close(give_answers)
        if len(os.read(self.answers, 1)) != 1:
            self.close()
            raise HostFault(f"{E2FSCK} {' '.join(self.options)} ended where it should have waited")
        self.head = os.fstat(self.out).st_size  # what it prints before it opens the disk
        return self

    def close(self) -> None:
        """End the command."""
        for descriptor in (self.requests, self.answers, self.out):
            os.close(descriptor)
        os.waitpid(self.pid, 0)

    def run(self) -> int:
        """Run it once more. Returns what wait(2) says of it."""
        os.ftruncate(self.out, self.head)
        with suppress(BrokenPipeError):  # it has ended, so there is no answer
            os.write(self.requests, b" ")
        answer = os.read(self.answers, STATUS_BYTES)
        if len(answer) != STATUS_BYTES:
            raise HostFault(f"{E2FSCK} {' '.join(self.options)} has ended between two runs")
        return int.from_bytes(answer, "little", signed=True)


class ServedChecker(Checker):
    """A checker that starts e2fsck once for each kind of run. `stack` ends the processes that were
    started."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        super().__init__(folder)
        self.stack = stack
        self.commands: dict[tuple[str, ...], ServedCommand] = {}

    def run(self, *options: str) -> int:
        """Run e2fsck on the file. Returns its status."""
        command = self.commands.get(options)
        if not command:
            said = self.path.with_name(f"said{len(self.commands)}")
            command = ServedCommand(options, self.path, said)
            self.commands[options] = self.stack.enter_context(command)
        self.said = command.said
        return exit_status(command.run())
