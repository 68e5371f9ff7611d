"""Lab mode: with drive models and counted instructions a run is the same to the last bit."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from kernel_with import kernel_with

from grade.host.paths import KERNEL, ROOT
from grade.machine import image
from grade.machine.image import Content
from grade.machine.qemu import Config, Disk, run_rc

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
    """Boots the image in lab mode; its console, and the hash of what it left on the disk."""
    result = run_rc(Config((Disk(path),), args=args, lab=True))
    assert result.status == 0, result.console
    return result.console, sha256(path.read_bytes()).hexdigest()


def busy_loop() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "while True: pass"])


def test_runs_are_identical_to_the_last_bit_even_beside_busy_loops(tmp_path):
    content = Content(rc=SCRIPT, options=DATA)
    paths = [image.make(tmp_path / f"{i}.img", content) for i in range(4)]
    loops = [busy_loop(), busy_loop()]
    try:
        with ThreadPoolExecutor() as pool:
            runs = set(pool.map(lambda path: lab_run(path, LAB_ARGS), paths))
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert len(runs) == 1, "the consoles or disks differ"
    image.check(paths[0])


def random_read_ms(console: str) -> float:
    """The mean of `bench random`, in virtual milliseconds."""
    line = next(line for line in console.splitlines() if line.startswith("random "))
    _, count, _, ns, _ = line.split()
    return int(ns) / int(count) / 1e6


@pytest.mark.parametrize(
    ("drive", "low_ms", "high_ms"),
    [("fixed", 10.0, 10.5), ("rz58", 8.0, 18.4), ("rz57", 10.0, 23.4)],
)
def test_the_drive_model_sets_the_pace(tmp_path, drive, low_ms, high_ms):
    content = Content(rc="bench random /data 400\n", options=DATA)
    path = image.make(tmp_path / "disk.img", content)
    console, _ = lab_run(path, f"drive={drive} check=1")
    assert low_ms <= random_read_ms(console) <= high_ms


BURSTS = "check=1 write=delayed update=pu pu.interval_ms=1234"
EVEN = """
policy | grep -c more
cat /dev/stat > /dev/null
sleep -e 1
iogen bs=4k seed=1 name=read rw=randread filename=/data nr=400 \\
 -- name=write rw=randwrite filename=/new rate_iops=40 until=read
"""


MORE = """static __attribute__((used)) u64 more_data[9999] = {1}, more_zeros[9999];
POLICY(more)"""


@pytest.mark.parametrize("drive", ["fixed", "rz58"])
def test_a_run_does_not_depend_on_policies_and_drives_that_it_does_not_use(tmp_path, drive):
    """To the last bit, from where it sleeps until a whole second. A boot takes longer with more
    policies and drives, all that lies behind theirs in memory moves, and /dev/stat is longer. One
    drive has no platter, which would even it out; with the other a write may just miss a turn. The
    new rows come first, so that each look-up by name passes them."""
    source = (ROOT / "policies/update/pu.c").read_text()
    more = source.replace("static const struct policy pu =", "static const struct policy more =")
    more = more.replace('"pu"', '"more"').replace("POLICY(pu)", MORE)
    first = (ROOT / "drives/fixed.c").read_text().replace('"fixed"', '"aaa"')
    added = {"policies/update/aaa.c": more, "drives/aaa.c": first}
    other = kernel_with(tmp_path / "tree", added)
    content = Content(rc=EVEN, options=(*DATA, "--file", "/new=4M"))
    paths = [image.make(tmp_path / f"{i}.img", content) for i in range(2)]
    args = f"{BURSTS} drive={drive}"
    consoles = [
        run_rc(Config((Disk(path),), args=args, lab=True, kernel=kernel)).console
        for path, kernel in zip(paths, (KERNEL, other), strict=True)
    ]
    said = [console.split("{", 1) for console in consoles]
    assert said[0][0] != said[1][0], "the policy is not there"
    assert said[0][1] == said[1][1]
    assert paths[0].read_bytes() == paths[1].read_bytes()
