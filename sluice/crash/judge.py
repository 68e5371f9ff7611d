"""Judges of an image: e2fsck, our own mount, and what can be read afterwards.

Two ways lead from a cut to a disk in use, and both are tried on copies:

- e2fsck comes first: it replays the journal, if there is one, and repairs without a question
  (`-p`, status 0 or 1); then `e2fsck -fn` has nothing to say. Then we mount and unmount.
- We mount first, fill the disk with a file, remove that, and unmount: so what is in use and called
  free is overwritten. Then `e2fsck -p` asks nothing, and `e2fsck -fn` has nothing to say.

Neither of e2fsck's two modes judges alone (shared facts about e2fsck 1.47): `-p` believes a disk
that is marked clean, and `-fn` looks at the state before recovery.
"""

import os
import shutil
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from sluice.crash.cuts import Image
from sluice.crash.ext2 import Damaged, read_tree
from sluice.crash.machine import CrashMachine, apply_writes, difference
from sluice.crash.operations import Operation, parse_operations
from sluice.crash.oracle import FoundTree
from sluice.host.fault import HostFault

MOUNT = parse_operations("mount /; umount /")
USE = parse_operations(
    "mount /; creat /judge; append /judge 250000 25; append /judge 250000 25;"
    "unlink /judge; umount /"
)
ENOSPC = 28  # what the second write of USE may end with
EXPECTED = "was not unmounted cleanly"  # what a mount says of each cut
HAS_JOURNAL = 4  # of the compatible features
ASKS = 4  # e2fsck's status when it would have to ask
E2FSCK = shutil.which("e2fsck", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") or "e2fsck"


@dataclass
class Verdict:
    """What came of an image: the tree after a mount, and after e2fsck and a mount; what was wrong,
    each with the judge's name. asks: e2fsck -p alone would have to ask."""

    mounted: FoundTree | None = None
    repaired: FoundTree | None = None
    wrong: list[str] = field(default_factory=list)
    asks: str = ""


class Judge:
    """Judges images with a machine and a file in memory. Equal images are judged once."""

    def __init__(self, machine: CrashMachine) -> None:
        self.machine = machine
        self.path = machine.folder / "judged"
        self.said = machine.folder / "said"
        self.verdicts: dict[int, Verdict] = {}
        self.checked: dict[int, list[str]] = {}

    def verdict(self, image: Image) -> Verdict:
        """Return what came of an image."""
        found = self.verdicts.get(image.hash)
        if found is None:
            found = self.verdicts[image.hash] = self.judge(image.bytes())
        return found

    def judge(self, disk: bytes) -> Verdict:
        """Judge a disk."""
        verdict = Verdict()
        mounted = self._mount(disk, "mount", verdict, USE)
        if mounted is not None:
            verdict.mounted = self._read(mounted, "mount", verdict, husks=False)
            self._check(mounted, "mount, then e2fsck", verdict)
        trouble = Verdict()
        repaired = self._repair(disk, trouble)
        if repaired is None:
            verdict.asks = "; ".join(trouble.wrong)
            return verdict
        verdict.wrong += trouble.wrong
        mounted = self._mount(repaired, "e2fsck, then mount", verdict)
        if mounted is not None:
            verdict.repaired = self._read(mounted, "e2fsck, then mount", verdict)
        return verdict

    # ---- the judges ----

    def _mount(
        self, disk: bytes, who: str, verdict: Verdict, operations: Sequence[Operation] = MOUNT
    ) -> bytes | None:
        """Mount a disk, perhaps use it, and unmount it. Returns the disk then, or None."""
        done = self.machine.run_operations(operations, difference(self.machine.start_disk(), disk))
        failed = [event for event in done.events if event.error not in (0, ENOSPC)]
        lines = done.console.splitlines()
        said = [line for line in lines if line[:1] not in ("@", "=") and EXPECTED not in line]
        if done.status or failed or said:
            errors = ", ".join(f"error {event.error}" for event in failed)
            said = [f"status {done.status}"] * bool(done.status) + said + [errors] * bool(failed)
            verdict.wrong.append(f"{who}: {'; '.join(said)}")
        if done.status or failed:
            return None
        return apply_writes(disk, done.events)

    def _read(
        self, disk: bytes, who: str, verdict: Verdict, husks: bool = True
    ) -> FoundTree | None:
        """Return the tree on a disk, or None."""
        try:
            return read_tree(disk, husks)
        except Damaged as error:
            verdict.wrong.append(f"{who}: {error}")
            return None

    def _repair(self, disk: bytes, verdict: Verdict) -> bytes | None:
        """Repair a copy of a disk. Returns it, or None."""
        self.path.write_bytes(disk)
        if not self._preen(disk, "e2fsck", verdict):
            return None
        if status := self._e2fsck("-fn"):
            verdict.wrong.append(
                f"e2fsck -p, then e2fsck -fn: status {status}: {self._read_message()}"
            )
        return self.path.read_bytes()

    def _check(self, disk: bytes, who: str, verdict: Verdict) -> None:
        """Expect e2fsck to repair a disk without a question, and then to find nothing."""
        key = hash(disk)
        if key not in self.checked:
            checked = Verdict()
            self._check_new(disk, who, checked)
            self.checked[key] = checked.wrong
        verdict.wrong += self.checked[key]

    def _check_new(self, disk: bytes, who: str, verdict: Verdict) -> None:
        """Expect the same of a disk that is checked for the first time."""
        self.path.write_bytes(disk)
        if self._preen(disk, who, verdict) and (status := self._e2fsck("-fn")):
            verdict.wrong.append(f"{who} -fn: status {status}: {self._read_message()}")

    def _preen(self, disk: bytes, who: str, verdict: Verdict) -> bool:
        """Return whether e2fsck -p asks nothing about the file."""
        has_journal = struct.unpack_from("<I", disk, 1024 + 92)[0] & HAS_JOURNAL
        if has_journal and (status := self._e2fsck("-E", "journal_only", "-p")):
            verdict.wrong.append(f"{who}: the journal: status {status}: {self._read_message()}")
            return False
        if (status := self._e2fsck("-p")) > 1:
            verdict.wrong.append(f"{who} -p: status {status}: {self._read_message()}")
            return False
        return True

    def _e2fsck(self, *options: str) -> int:
        """Run e2fsck on the file. Returns its status."""
        out = (os.POSIX_SPAWN_OPEN, 1, str(self.said), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        actions = [out, (os.POSIX_SPAWN_DUP2, 1, 2)]
        words = [E2FSCK, *options, str(self.path)]
        pid = os.posix_spawn(E2FSCK, words, {"PATH": os.defpath}, file_actions=actions)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status < 0:
            raise HostFault(f"signal {-status} ended e2fsck")
        return status

    def _read_message(self) -> str:
        """Return what e2fsck said, on one line."""
        said = self.said.read_text(encoding="utf-8", errors="replace")
        said = said.replace(str(self.path), "the disk")
        lines = (" ".join(line.split()) for line in said.splitlines())
        return "; ".join(line for line in lines if line)[:400]
