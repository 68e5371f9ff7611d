"""The class Machine, by which tests run QEMU: its failures say what came, and it leaves nothing
behind."""

import os
import select
import signal
import subprocess
import sys

import pytest
from conftest import Boot, MakeImage

from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.system.qemu import Config, ConsoleError, Disk, Machine


def test_a_failed_wait_shows_the_console_and_the_machine(boot: Boot) -> None:
    machine = boot()
    machine.check("echo what came instead")
    with pytest.raises(ConsoleError) as error:
        machine.expect("what was expected", limit_s=0.1)
    text = str(error.value)
    assert "expected: 'what was expected' within 0.1 s" in text
    assert "what came instead" in text
    assert "qemu-system-riscv64" in text


def test_a_wait_fails_at_once_when_the_machine_has_ended(boot: Boot) -> None:
    machine = boot()
    machine.send("poweroff\n")
    with pytest.raises(ConsoleError, match="ended with status 0"):
        machine.expect("never printed")


def test_status_and_output_are_those_of_the_command(boot: Boot) -> None:
    machine = boot()
    output = machine.run("echo -n unfinished line; exit_status=3; sh -c 'exit 3'")
    assert (output.status, output.text) == (3, "unfinished line")


def test_a_machine_that_does_not_start_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable QEMU names a program that is not there."""
    monkeypatch.setenv("QEMU", "/nowhere/qemu")
    machine = Machine(Config((), lab=True))
    with pytest.raises(FileNotFoundError, match="/nowhere/qemu"):
        machine.__enter__()
    assert machine.errors.closed
    assert machine.guest is not None and machine.guest.file < 0


@pytest.mark.native
def test_a_letter_whose_bytes_come_in_two_reads_is_one_letter() -> None:
    """ "ä" has two bytes in UTF-8. A process in the place of QEMU writes them one by one."""
    machine = Machine(Config(()))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["cat"], **pipes) as machine.process:
        os.set_blocking(machine.process.stdout.fileno(), False)
        for byte in "ä".encode():
            machine.process.stdin.write(bytes([byte]))
            machine.process.stdin.flush()
            assert machine._read_console(HANG_S)
    assert machine.console == "ä"


# A program that starts a machine, prints its process's number, and waits.
STARTER = """
import sys
from pathlib import Path
from sluice.system.qemu import Config, Disk, Machine
with Machine(Config((Disk(Path(sys.argv[1])),))) as machine:
    machine.wait_prompt()
    print(machine.process.pid, flush=True)
    sys.stdin.read()
"""


def test_a_machine_dies_with_the_process_that_started_it(make_image: MakeImage) -> None:
    """Another process starts a machine, prints its number (pid), and is killed."""
    path = make_image(damaged=True)
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert starter.stdout is not None
    machine = os.pidfd_open(int(starter.stdout.readline()))
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    assert select.select([machine], [], [], 30)[0], "QEMU outlived the process that started it"


def test_disks_are_named_by_their_slot(make_image: MakeImage) -> None:
    """disk0 is the first disk of the configuration, disk1 the second, and so on."""
    names = {f"disk{i}": Disk(make_image(files={"/name": b"disk%d" % i})) for i in range(4)}
    with Machine(Config(tuple(names.values()))) as machine:
        machine.wait_prompt()
        for name in list(names)[1:]:
            machine.check(f"mkdir /{name} && mount {name} /{name}")
            assert machine.check(f"cat /{name}/name") == name
        machine.power_off()
