"""How long e2fsck would take on a drive: what it reads and writes, replayed on the drive's model.

strace lists what e2fsck asks of the disk's file. The model of a drive serves these requests one
after another, so the time is that of the drive alone: e2fsck's computing takes none, and no cache
of an operating system reads ahead for it or merges what it writes.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sluice.crash.checker import E2FSCK, ENVIRONMENT
from sluice.crash.disk_events import SECTOR
from sluice.host.paths import BUILD

TOOL = BUILD / "native" / "drive_replay_tool"
CALL = re.compile(r"^p(read|write)64\((\d+)<([^>]*)>.*, (\d+), (\d+)\) += (\d+)$")
NS_PER_MS = 10**6

Request = tuple[str, int, int]  # R or W, the first sector, and how many


def has_strace() -> bool:
    """Return whether e2fsck's requests can be listed on this host."""
    return shutil.which("strace") is not None


def parse_calls(text: str, path: Path) -> Iterator[Request]:
    """Yield the requests to a file, from strace's lines."""
    for line in text.splitlines():
        call = CALL.match(line)
        if call and call[3] == str(path):
            first, done = int(call[5]), int(call[6])
            if done:
                last = (first + done - 1) // SECTOR
                yield call[1][0].upper(), first // SECTOR, last - first // SECTOR + 1


def list_requests(path: Path, *options: str) -> list[Request]:
    """Run e2fsck on a file. Returns its requests."""
    calls = path.with_name("calls")
    words = ["strace", "-y", "-e", "trace=pread64,pwrite64", "-e", "signal=none", "-o", str(calls)]
    subprocess.run(
        [*words, E2FSCK, *options, str(path)],
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return list(parse_calls(calls.read_text(encoding="utf-8"), path.resolve()))


def time_requests(requests: list[Request], drive: str, folder: Path) -> float:
    """Return how long a drive takes for requests, one after another, in ms."""
    trace = folder / "requests"
    lines = (f"{kind} e2fsck {first} {count} 1 0\n" for kind, first, count in requests)
    trace.write_text("".join(lines), encoding="utf-8")
    done = subprocess.run(
        [str(TOOL), "-d", drive, "-v", str(trace)],
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
    )
    return int(done.stdout.split("\nrequests")[0].split()[-1]) / NS_PER_MS


def time_replay(disk: bytes, drive: str, folder: Path) -> float:
    """Return how long e2fsck takes on a drive to replay a disk's log, in ms."""
    path = folder / "replayed"
    path.write_bytes(disk)
    return time_requests(list_requests(path, "-E", "journal_only", "-p"), drive, folder)
