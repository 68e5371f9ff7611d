"""Debugging with gdb: a breakpoint before paging is on, and the commands of tools/gdb/sluice.py.

The fixture `socket` is the path of the socket by which QEMU and gdb talk.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import MakeImage

from sluice.host.limits import HANG_S
from sluice.host.paths import KERNEL, ROOT
from sluice.system.qemu import Config, Disk, Machine


def gdb(socket: Path, *commands: str) -> str:
    """Return what gdb prints for these commands, attached as `make gdb` attaches."""
    attach = (ROOT / "tools/gdb/attach.gdb").read_text().replace("build/gdb.sock", str(socket))
    script = socket.with_suffix(".gdb")
    script.write_text("\n".join([attach, *commands, "detach", "quit", ""]))
    done = subprocess.run(
        [os.environ.get("GDB", "gdb-multiarch"), "-q", "-batch", "-nx", "-x", script, KERNEL],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    return done.stdout


@pytest.fixture
def socket(tmp_path: Path) -> Path:
    """Return the path of the socket for gdb, which QEMU makes."""
    return tmp_path / "gdb.sock"


def options(socket: Path, *more: str) -> tuple[str, ...]:
    """Return QEMU's options that let gdb attach at the socket, and further ones."""
    chardev = f"socket,id=gdb,path={socket},server=on,wait=off"
    return ("-chardev", chardev, "-gdb", "chardev:gdb", *more)


def test_breakpoints_work_before_paging_is_on(make_image: MakeImage, socket: Path) -> None:
    """QEMU waits for gdb before the first instruction (-S). The kernel's first instruction, _start,
    has the address 0x80000000, and bio_init runs when paging is on."""
    config = Config((Disk(make_image()),), options=options(socket, "-S"))
    with Machine(config) as machine:
        said = gdb(socket, "break *_start", "break bio_init", "continue", "continue", "backtrace")
        assert "Breakpoint 1, 0x0000000080000000" in said or "Breakpoint 1, _start" in said, said
        assert "Breakpoint 2, bio_init" in said, said
        assert "#1" in said.split("Breakpoint 2")[-1], said
        machine.wait_prompt()
        machine.power_off()


def test_the_commands_show_the_kernels_state(make_image: MakeImage, socket: Path) -> None:
    """The commands of tools/gdb are given to a machine that has dirty blocks; it goes on
    afterwards."""
    config = Config(
        (Disk(make_image()),), args="update=none write=delayed", options=options(socket)
    )
    with Machine(config) as machine:
        machine.wait_prompt()
        machine.check("echo text > /a-file")
        said = gdb(socket, "cache", "dirty", "queue", "procs", "kstack 1", "kstack 4000")
        assert "buffers of 4096 bytes" in said, said
        assert "delayed: " in said and "disk0 block " in said, said
        assert "disk0: sched clook" in said, said
        assert " init " in said and " sh " in said and "SLEEPING" in said, said
        assert "proc_wait" in said and "syscall" in said, said
        assert "of a process that procs lists" in said, said
        machine.check("echo goes on")
        machine.power_off()


def test_no_machine_timer_interrupt_is_pending_in_a_live_machine(
    make_image: MakeImage, socket: Path
) -> None:
    """While one is pending, QEMU checks for it at each step of its loop, which costs a null system
    call a third of its speed. Bit 7 of the register mip says whether one is pending."""
    config = Config((Disk(make_image()),), harts=2, options=options(socket))
    with Machine(config) as machine:
        machine.wait_prompt()
        said = gdb(socket, 'thread apply all printf "pending %d\\n", ($mip >> 7) & 1')
        assert re.findall(r"^pending (\d)", said, re.M) == ["0", "0"], said
        machine.power_off()


def test_a_panic_says_what_and_where_and_ends_the_machine(
    make_image: MakeImage, socket: Path
) -> None:
    """gdb stops in a system call, and has the kernel go on in the function panic, whose message is
    the description of a policy that the kernel has in memory."""
    path = make_image(damaged=True)  # nothing is written back in a panic
    config = Config((Disk(path),), harts=2, options=options(socket))
    with Machine(config) as machine:
        machine.wait_prompt()
        machine.send("seq 1 100000000 > /dev/null\n")
        astray = ["set $a0 = (unsigned long)policy_in_use[2]->about", "set $pc = &panic"]
        gdb(socket, "hbreak *sys_write", "continue", *astray)
        result = machine.wait()
    assert result.status == 101
    assert "panic: circular elevator" in result.console
    trace = result.console.split("panic: circular elevator")[1]
    assert "hart" in trace
    assert "user_trap+0x" in trace
