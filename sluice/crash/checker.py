"""e2fsck on a file in memory: repair without a question, and check.

Neither of its two modes judges alone (shared facts about e2fsck 1.47): `-p` believes a disk that is
marked clean, and `-fn` looks at the state before the journal's replay.
"""

import os
import shutil
import struct
from pathlib import Path

from sluice.host.fault import HostFault

NOW = "2000000000"  # e2fsck's clock, in seconds: equal disks so stay equal when it repairs them
HAS_JOURNAL = 4  # of the compatible features
E2FSCK = shutil.which("e2fsck", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") or "e2fsck"
ENVIRONMENT = {"PATH": os.defpath, "E2FSCK_TIME": NOW}


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
        self.path.write_bytes(disk)
        has_journal = struct.unpack_from("<I", disk, 1024 + 92)[0] & HAS_JOURNAL
        if has_journal and (status := self.run("-E", "journal_only", "-p")):
            return f"{who}: the journal: status {status}: {self.message()}"
        return ""

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
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status < 0:
            raise HostFault(f"signal {-status} ended e2fsck")
        return status

    def message(self) -> str:
        """Return what e2fsck said, on one line."""
        said = self.said.read_text(encoding="utf-8", errors="replace")
        said = said.replace(str(self.path), "the disk")
        lines = (" ".join(line.split()) for line in said.splitlines())
        return "; ".join(line for line in lines if line)[:400]
