"""Order policies in the running kernel, and a disk of ext3 whose journal has to be replayed."""

import re
import shutil
from pathlib import Path

import pytest

from sluice.crash.logwriter import Image, Transaction
from sluice.host.paths import MKFS
from sluice.system import image
from sluice.system.qemu import Disk

NAMES = """set -e
mkdir /d
mkdir /d/a
mv /d/a /d/b
for i in $(seq 100); do echo $i > /d/f$i; done
mv /d/f7 /d/f8
rm /d/f9
"""


def passed(console: str) -> float:
    """The seconds between the two times that a script prints with uptime."""
    begin, end = (float(s) for s in re.findall(r"up 00:00:(\d+\.\d+)", console))
    return end - begin


def test_names_cost_no_waiting_where_metadata_is_delayed(run_script) -> None:
    """And after the shutdown the disk is whole under either policy."""
    seconds = {}
    for order in ("sync", "none"):
        script = f"uptime\n{NAMES}uptime\n"
        result = run_script(script, lab=True, args=f"drive=cheetah4lp order={order}")
        assert result.status == 0, result.console
        seconds[order] = passed(result.console)
    assert seconds["none"] < seconds["sync"] / 2


def test_swaps_of_order_policies_among_changes_of_names_lose_nothing(run_script) -> None:
    swaps = "for i in $(seq 12); do policy use order none; sleep 0.05; "
    swaps += "policy use order sync; sleep 0.05; done &\n"
    script = f"{swaps}{NAMES}wait\nls /d | grep -c f\npolicy | grep order\n"
    result = run_script(script, lab=True, args="drive=cheetah4lp check=1")
    assert result.status == 0, result.console
    assert re.search(r"^98$", result.console, re.M), result.console
    assert re.search(r"order +none \[sync\]", result.console)


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """A disk whose file is in its journal only."""
    before, after = tmp_path / "before", tmp_path / "after"
    folder = tmp_path / "folder"
    folder.mkdir()
    options = ("-b", "4K", "-s", "32M", "-J", "4M", "-d", folder)
    image.run_command(MKFS, *options, before)
    shutil.copy(before, after)
    (tmp_path / "text").write_bytes(b"from the log" * 3000)
    image.debugfs(after, f"write {tmp_path / 'text'} text", write=True)
    old, new = Image(before), Image(after)
    numbers = range(len(old.data) // 4096)
    changed = {n: new.block(n) for n in numbers if old.block(n) != new.block(n)}
    old.write_log([Transaction(changed)])
    return old.save()


def test_the_kernel_mounts_a_disk_whose_journal_has_to_be_replayed(
    run_script, logged: Path
) -> None:
    script = "mkdir /mnt\nmount disk1 /mnt\ncp /mnt/text /mnt/copy\ncmp /mnt/text /mnt/copy\n"
    script += "wc -c /mnt/copy\numount /mnt\n"
    result = run_script(script, disks=[Disk(logged)])
    assert result.status == 0, result.console
    assert "disk1: journal replayed: 1 transactions" in result.console
    assert "36000" in result.console
    image.check_image(logged)
    assert image.read_file(logged, "/text") == b"from the log" * 3000
