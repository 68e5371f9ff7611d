"""Where a machine's time goes, by the counters of /dev/stat: the processor is idle (cpu.idle), the
update daemon computes (updated.cpu), or a program does.

The fixture `console` is what one machine printed, which slept, computed, and then wrote dirty
blocks, with the counters printed after each part.
"""

import re

import pytest

from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, run_rc

SLEEP_S = 5
# Each part ends with a reading of the counters; parts begin with one of no name.
# Each program that computes has run before, so it is in the cache and is not read from the disk.
SCRIPT = f"""
set -e
time seq 1 > /dev/null
echo @; cat /dev/stat
sleep {SLEEP_S}
echo @asleep; cat /dev/stat
time seq 1 25000 > /dev/null
echo @computing; cat /dev/stat
policy set pu.interval_ms 1000
dd if=/dev/zero of=/file bs=4k count=200
sleep 2
echo @updating; cat /dev/stat
"""
COUNTER = re.compile(r"^(\S+) (\d+) +ns$", re.M)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the machine that runs SCRIPT printed."""
    root = image.make_image(tmp_path_factory.mktemp("cpu") / "root.img", Content(rc=SCRIPT))
    args = "drive=fixed check=1 write=delayed update=pu"
    result = run_rc(Config((Disk(root),), args=args, lab=True))
    assert result.status == 0, result.console
    return result.console


def grown_s(console: str, part: str) -> dict[str, float]:
    """Return by how much each counter of a time grew in a part."""
    readings = dict(re.findall(r"@(\w*)\n([^@]*)", console))
    names = list(readings)
    before, after = (
        {name: int(ns) for name, ns in COUNTER.findall(readings[at])}
        for at in (names[names.index(part) - 1], part)
    )
    return {name: (ns - before[name]) / 1e9 for name, ns in after.items()}


def test_a_machine_that_sleeps_is_idle(console: str):
    grown = grown_s(console, "asleep")
    assert grown["cpu.idle"] == pytest.approx(SLEEP_S, rel=0.02)
    assert grown["updated.cpu"] < 0.001


def test_a_machine_that_computes_is_not_idle(console: str):
    real_s = float(re.search(r"^real +([\d.]+) s$", console.split("@asleep")[1], re.M)[1])
    assert real_s > 0.5
    assert grown_s(console, "computing")["cpu.idle"] < 0.1 * real_s


def test_the_update_daemons_computing_is_counted(console: str):
    """The daemon writes 200 blocks, which takes it some milliseconds of computing."""
    grown = grown_s(console, "updating")
    assert 0.001 < grown["updated.cpu"] < 0.1
