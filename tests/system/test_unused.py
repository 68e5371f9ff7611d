"""Additions that a run does not use do not change it. The tree gets one more policy, drive, counter
and tunable. An experiment's run still has the same trace and output and leaves the same disks, to
the byte.

The boot takes longer with more rows, look-ups by name pass them, /dev/stat and /dev/policy are
longer, and all that lies behind them in memory or on the root disk would move.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from both import phys_of
from kernel_with import kernel_with

from sluice.experiment import files, jobs
from sluice.experiment import run as runs
from sluice.experiment.load import load
from sluice.experiment.programs import BASE
from sluice.experiment.schema import Run
from sluice.host.paths import KERNEL, ROOT, ROOT_FOLDER
from sluice.system import image, trace
from sluice.system.qemu import Disk, Machine

NS_PER_S = 10**9
LEAST = 1000  # a workload has more events than this
SHIFTS = (0, 3, 5, 8)  # 2^shift ns an instruction
DRIVES = (
    "fixed",
    "rz58",
    "flash",
)  # equal times; platters, whose rotation hides small delays; chips

SMALL = f"""\
claim = "what is not used does not matter"
source = "this test"

[machine]
nbuf = 300
cpu_shift = "{{shift}}"

[machine.data]
drive = "{{drive}}"
size = "16M"
files = {{"/read" = "4M", "/write" = "2M"}}

[policies]
sched = "fcfs"
write = "delayed"
update = "pu"

[tunables]
"pu.interval_ms" = "5 s"

[[arms]]
name = "only"

[workload]
commands = \"\"\"
iogen bs=4k seed=1 name=read rw=randread filename=/data/read nr=300 -- \\
    name=write rw=randwrite filename=/data/write rate_iops=40 until=read
\"\"\"

[sweep]
shift = {list(SHIFTS)}
drive = {json.dumps(DRIVES)}
"""

MORE = """static __attribute__((used)) u64 more_data[9999] = {1}, more_zeros[9999];
POLICY(more)"""
COUNTER = """\
#include "kernel/base/stat.h"

COUNTER(more, "aaa.more", "times", "nothing is counted");
"""
TUNABLES = "static struct tunable tunables[] = {\n"


def one_more_of_each() -> dict[str, str]:
    """Return the sources of a kernel with a policy, a drive, a counter and a tunable more. Each is
    the first of its kind, so that each look-up by name passes it."""
    pu = (ROOT / "policies/update/pu.c").read_text()
    policy = pu.replace("static const struct policy pu =", "static const struct policy more =")
    acp = (ROOT / "policies/update/acp.c").read_text()
    row = '    {"aaa_ms", "ms", 1, 0, 2, "nothing"},\n'
    return {
        "policies/update/aaa.c": policy.replace('"pu"', '"more"').replace("POLICY(pu)", MORE),
        "policies/update/acp.c": acp.replace(TUNABLES, TUNABLES + row).replace(
            "enum { WAKE_UP_MS", "enum { AAA_MS, WAKE_UP_MS"
        ),
        "drives/aaa.c": (ROOT / "drives/fixed.c").read_text().replace('"fixed"', '"aaa"'),
        "kernel/measure/aaa.c": COUNTER,
    }


@pytest.fixture(scope="module")
def other_kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the kernel with one more of each."""
    return kernel_with(tmp_path_factory.mktemp("more") / "tree", one_more_of_each())


@dataclass(frozen=True)
class Left:
    """The output of a run: all that its console showed before the workload, what the workload said,
    the events of that time, and the disks."""

    before: str
    said: str
    events: list[trace.Event]
    disks: list[bytes]


def make_run(run: Run, folder: Path, kernel: Path = KERNEL) -> Left:
    """Make the run in the folder. Its workload begins at a whole second."""
    folder.mkdir()
    config = runs.build_machine(run, folder)
    own = [Disk(folder / f"{i}.img") for i in range(len(config.disks))]
    for disk, cached in zip(own, config.disks, strict=True):
        image.copy_image(cached.image, disk.image)
    with Machine(replace(config, disks=tuple(own), kernel=kernel)) as machine:
        assert machine.wait().status == 0, machine.console
        lost, events = trace.read_trace(machine.guest.path, phys_of(machine.console))
    assert not lost
    said = runs.split_readings(machine.console)["said"]
    shown = jobs.parse_job_lines(said)
    start_ns = min(job["start_ns"] for job in shown) // NS_PER_S * NS_PER_S
    end_ns = max(job["start_ns"] + job["elapsed_ns"] for job in shown)
    return Left(
        machine.console.partition("@workload")[0],
        said,
        [event for event in events if start_ns <= event.time_ns < end_ns],
        [disk.image.read_bytes() for disk in own],
    )


def small_run(folder: Path, shift: int = 5, drive: str = "rz58") -> Run:
    """Return the run of SMALL with these variables."""
    path = folder / "small.toml"
    path.write_text(SMALL)
    variables = {"shift": shift, "drive": drive}
    return next(run for run in load(path).runs if run.variables == variables)


def expect_equal(one: Left, other: Left) -> None:
    """Fail with the first event that differs, or if anything else but `before` does."""
    for i, (event, now) in enumerate(zip(one.events, other.events, strict=False)):
        assert event == now, f"event {i} of {len(one.events)}"
    assert len(one.events) == len(other.events) > LEAST
    assert one.said == other.said
    assert one.disks == other.disks


@pytest.mark.drawn(3)
@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("shift", SHIFTS)
def test_a_run_does_not_depend_on_policies_drives_and_counters_that_it_does_not_use(
    tmp_path: Path, other_kernel: Path, shift: int, drive: str
) -> None:
    """This holds at any speed of the processor (shift), and so wherever in a tick the workload
    would begin."""
    run = small_run(tmp_path, shift, drive)
    one, other = make_run(run, tmp_path / "one"), make_run(run, tmp_path / "other", other_kernel)
    assert "aaa.more 0 times" in other.before
    expect_equal(one, other)


@pytest.fixture
def forget() -> Iterator[None]:
    """Forget the hashes of programs after the test, which changes the programs."""
    yield
    files.clear_hashes()


def root_disk(run: Run, folder: Path) -> Path:
    """Make the image of the run's root disk, with its scripts."""
    return runs.build_machine(run, folder).disks[0].image


def test_a_run_does_not_depend_on_programs_and_experiments_that_it_does_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget: None
) -> None:
    """The run's root disk has no programs but those of BASE and those that its scripts name. The
    new one is the first of all in /bin."""
    assert set(files.program_hashes()) >= BASE, (
        "a program of BASE is gone: take it out of BASE, and make all results anew"
    )
    run = small_run(tmp_path)
    key, disk = runs.result_key(run), root_disk(run, tmp_path).read_bytes()
    folder = tmp_path / "root"
    shutil.copytree(ROOT_FOLDER, folder)
    shutil.copy2(folder / "bin/iogen", folder / "bin/aaa")
    for module in (image, files):
        monkeypatch.setattr(module, "ROOT_FOLDER", folder)
    files.clear_hashes()
    (tmp_path / "aaa.toml").write_text(SMALL.replace("nr=300", "nr=200"))
    now = small_run(tmp_path)
    assert "aaa" in files.program_hashes()
    assert runs.result_key(now) == key
    assert root_disk(now, tmp_path).read_bytes() == disk
    user = replace(now, config=now.config | {"commands": "aaa nr=1\n"})
    assert "aaa" in image.debugfs(root_disk(user, tmp_path), "ls /bin")
