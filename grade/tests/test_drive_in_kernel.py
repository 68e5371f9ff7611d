"""The drive models inside the kernel: what they refuse, and commands that the drive queues."""

import re

from conftest import Run

from grade.machine.qemu import Disk


def test_a_disk_larger_than_its_drive_is_refused(run_script: Run) -> None:
    disk = Disk(drive="driver=null-co,size=1G")
    result = run_script("echo must not run", disks=(disk,), args="disk1.drive=lps540s")
    assert result.status != 0
    assert "must not run" not in result.console
    assert "lps540s: holds 1056640 sectors, disk1 has 2097152" in result.console


def test_a_drive_that_queues_commands_itself_answers_sooner(run_script: Run) -> None:
    """Six readers of six files, in order of arrival but for what the drive does."""
    readers = "".join(f"dd if=/f{i} of=/dev/null &\n" for i in range(5))
    script = f"{readers}dd if=/f5 of=/dev/null\nwait\ncat /dev/hist\n"
    files = {f"f{i}": bytes(200_000) for i in range(6)}
    read_ns = {}
    for depth in (1, 8):
        args = f"drive=cheetah4lp sched=fcfs drive_depth={depth}"
        result = run_script(script, files=files, args=args, lab=True)
        assert result.status == 0, result.console
        line = re.search(r"^hist disk0.read_response ns \d+ (\d+)$", result.console, re.M)
        read_ns[depth] = int(line[1])
    assert read_ns[8] < 0.9 * read_ns[1]
