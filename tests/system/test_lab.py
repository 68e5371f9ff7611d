"""Lab mode: with drive models and counted instructions a run is the same to the last bit."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, run_rc

SCRIPT = """
set -e
bench random /data 400
bench write /new 1m
bench create 10
cp /bin/sh /copy
sync
uptime
cat /dev/stat
"""
DATA = ("--file", "/data=8M")
LAB_ARGS = "drive=rz58 check=1"


def lab_run(path: Path, args: str) -> tuple[str, str]:
    """Boot the image in lab mode. Returns its console, and the hash of the disk afterwards."""
    result = run_rc(Config((Disk(path),), args=args, lab=True))
    assert result.status == 0, result.console
    return result.console, sha256(path.read_bytes()).hexdigest()


def busy_loop() -> subprocess.Popen[bytes]:
    """Start a process that keeps a host's processor busy."""
    return subprocess.Popen([sys.executable, "-c", "while True: pass"])


def test_runs_are_identical_to_the_last_bit_even_beside_busy_loops(tmp_path):
    """Four machines run at once while two loops keep the host's processors busy."""
    content = Content(rc=SCRIPT, options=DATA)
    paths = [image.make_image(tmp_path / f"{i}.img", content) for i in range(4)]
    loops = [busy_loop(), busy_loop()]
    try:
        with ThreadPoolExecutor() as pool:
            runs = set(pool.map(lambda path: lab_run(path, LAB_ARGS), paths))
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert len(runs) == 1, "the consoles or disks differ"
    image.check_image(paths[0])


def random_read_ms(console: str) -> float:
    """Return the mean of `bench random`, in virtual milliseconds."""
    line = next(line for line in console.splitlines() if line.startswith("random "))
    _, count, _, ns, _ = line.split()
    return int(ns) / int(count) / 1e6


@pytest.mark.parametrize(
    ("drive", "low_ms", "high_ms"),
    [("fixed", 10.0, 10.5), ("rz58", 8.0, 18.4), ("rz57", 10.0, 23.4)],
)
def test_the_drive_model_sets_the_pace(tmp_path, drive, low_ms, high_ms):
    """A random read takes 10 ms on the drive `fixed`, and on the others a time that depends on
    seeks and rotation. It is virtual time, so no host can leave these limits."""
    content = Content(rc="bench random /data 400\n", options=DATA)
    path = image.make_image(tmp_path / "disk.img", content)
    console, _ = lab_run(path, f"drive={drive} check=1")
    assert low_ms <= random_read_ms(console) <= high_ms
