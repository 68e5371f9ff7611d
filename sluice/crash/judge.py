"""Judges of an image: e2fsck, our own mount, and what can be read afterwards.

Two ways lead from a cut to a disk in use, and both are tried on copies:

- e2fsck comes first: it replays the journal, if there is one, and repairs without a question
  (`-p`, status 0 or 1); then `e2fsck -fn` has nothing to say. Then we mount and unmount.
- We mount first, fill the disk with a file, remove the file, and unmount. If a block in use is
  marked as free, the file overwrites it. Then `e2fsck -p` asks nothing, and `e2fsck -fn` has
  nothing to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sluice.crash.checker import ServedChecker
from sluice.crash.cuts import Image
from sluice.crash.empty_log import EmptyLog
from sluice.crash.ext2 import Damaged, read_tree
from sluice.crash.machine import CrashMachine
from sluice.crash.operations import Operation, parse_operations
from sluice.crash.oracle import FoundTree

MOUNT = parse_operations("mount /; umount /")
USE = parse_operations(
    "mount /; creat /judge; append /judge 250000 25; append /judge 250000 25;"
    "unlink /judge; umount /"
)
ENOSPC = 28  # what the second write of USE may end with
MARKS = ("began", "returned")
EXPECTED = ("was not unmounted cleanly", "journal replayed")  # what a mount says of a cut


@dataclass
class Verdict:
    """The judgement of an image."""

    mounted: FoundTree | None = None  # the tree after a mount
    repaired: FoundTree | None = None  # the tree after e2fsck and a mount
    wrong: list[str] = field(default_factory=list)  # what was wrong, each with the judge's name
    asks: str = ""  # what e2fsck -p alone would have to ask
    mount_ns: int = 0  # how long our own mount took, in virtual time; 0 if it did not end


def is_expected(line: str) -> bool:
    """Return whether a mount may say this line."""
    return any(text in line for text in EXPECTED)


class Judge:
    """Judges images with a machine and a file in memory. Equal images are judged once; and so are
    disks that e2fsck or a mount leaves, if they are equal but for what an empty log still holds."""

    def __init__(self, machine: CrashMachine) -> None:
        self.machine = machine
        self.checker = ServedChecker(machine.folder, machine.stack)
        self.mount_ns = 0  # of the last mount
        self.log = EmptyLog(machine.start_disk())
        self.verdicts: dict[int, Verdict] = {}
        # By the key of a disk whose journal e2fsck has replayed, that it has repaired, or that a
        # mount has left.
        self.replayed: dict[int, Verdict] = {}
        self.repaired: dict[int, Verdict] = {}
        self.left: dict[int, Verdict] = {}

    def verdict(self, image: Image) -> Verdict:
        """Return the verdict on an image. An equal image is not judged again."""
        found = self.verdicts.get(image.hash)
        if found is None:
            found = self.verdicts[image.hash] = self.judge(image.bytes())
        return found

    def judge(self, disk: bytes) -> Verdict:
        """Return the verdict of our mount on a disk, and of e2fsck with a mount after it."""
        verdict = Verdict()
        mounted = self._mount(disk, "mount", verdict, USE)
        if mounted is not None:
            verdict.mount_ns = self.mount_ns
            left = self._judge_left(mounted)
            verdict.wrong += left.wrong
            verdict.mounted = left.mounted
        if asked := self.checker.replay(disk, "e2fsck"):
            verdict.asks = asked
            return verdict
        replayed = self._judge_replayed(self.checker.path.read_bytes())
        verdict.wrong += replayed.wrong
        verdict.repaired, verdict.asks = replayed.repaired, replayed.asks
        return verdict

    # ---- the judges ----

    def _mount(
        self, disk: bytes, who: str, verdict: Verdict, operations: Sequence[Operation] = MOUNT
    ) -> bytes | None:
        """Mount a disk, perhaps use it, and unmount it. Returns the disk then, or None."""
        done, after = self.machine.change_disk(disk, operations)
        failed = [event for event in done.events if event.error not in (0, ENOSPC)]
        lines = done.console.splitlines()
        said = [line for line in lines if line[:1] not in ("@", "=") and not is_expected(line)]
        if done.status or failed or said:
            errors = ", ".join(f"error {event.error}" for event in failed)
            said = [f"status {done.status}"] * bool(done.status) + said + [errors] * bool(failed)
            verdict.wrong.append(f"{who}: {'; '.join(said)}")
        if done.status or failed:
            return None
        times_ns = [e.time_ns for e in done.events if e.kind in MARKS and not e.mark]
        self.mount_ns = times_ns[1] - times_ns[0]
        return after

    def _read(
        self, disk: bytes, who: str, verdict: Verdict, husks: bool = True
    ) -> FoundTree | None:
        """Return the tree on a disk, or None."""
        try:
            return read_tree(disk, husks)
        except Damaged as error:
            verdict.wrong.append(f"{who}: {error}")
            return None

    def _judge_left(self, disk: bytes) -> Verdict:
        """Judge a disk that our mount has left. Many cuts give the same disk: judge it once."""
        key = self.log.key(disk)
        if key not in self.left:
            verdict = self.left[key] = Verdict()
            verdict.mounted = self._read(disk, "mount", verdict, husks=False)
            self.check(disk, "mount, then e2fsck", verdict)
        return self.left[key]

    def _judge_replayed(self, disk: bytes) -> Verdict:
        """Judge the disk whose journal e2fsck has just replayed."""
        key = self.log.key(disk)
        if key not in self.replayed:
            asked = self.checker.repair("e2fsck")
            self.replayed[key] = (
                Verdict(asks=asked)
                if asked
                else self._judge_repaired(self.checker.path.read_bytes())
            )
        return self.replayed[key]

    def _judge_repaired(self, disk: bytes) -> Verdict:
        """Judge a disk that e2fsck has repaired. Many cuts give the same disk: judge it once."""
        key = self.log.key(disk)
        if key not in self.repaired:
            verdict = self.repaired[key] = Verdict()
            if status := self.checker.run("-fn"):
                said = self.checker.message()
                verdict.wrong.append(f"e2fsck -p, then e2fsck -fn: status {status}: {said}")
            mounted = self._mount(disk, "e2fsck, then mount", verdict)
            if mounted is not None:
                verdict.repaired = self._read(mounted, "e2fsck, then mount", verdict)
        return self.repaired[key]

    def check(self, disk: bytes, who: str, verdict: Verdict) -> None:
        """Expect e2fsck to repair a disk without a question, and then to find nothing."""
        if asked := self.checker.preen(disk, who):
            verdict.wrong.append(asked)
        elif status := self.checker.run("-fn"):
            verdict.wrong.append(f"{who} -fn: status {status}: {self.checker.message()}")
