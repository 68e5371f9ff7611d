"""The machine comes up: harts, memory, boot arguments, power-off."""

import resource

import pytest
from conftest import Boot, MakeImage, Run

from sluice.host.paths import DEBUG_KERNEL, KERNEL
from sluice.system.qemu import Config, Disk, run_rc


@pytest.mark.parametrize("harts", [1, 2, 4, 8])
def test_a_shell_comes_up_on_any_number_of_harts(boot: Boot, harts: int) -> None:
    machine = boot(harts=harts)
    assert machine.check("echo hello") == "hello\n"
    assert machine.power_off().status == 0


@pytest.mark.parametrize("memory", ["32M", "128M", "8G"])
def test_a_shell_comes_up_in_any_memory(boot: Boot, memory: str) -> None:
    assert boot(memory=memory).check("echo hello") == "hello\n"


def test_in_less_memory_than_it_needs_the_kernel_says_so_and_stops(run_script: Run) -> None:
    result = run_script("echo must not run\n", memory="31M")
    assert result.status == 100
    assert result.console == "boot: the machine has 31 MiB of memory: Sluice needs 32 (-m)\n"


def test_of_more_memory_than_it_can_map_the_kernel_uses_a_part_and_says_so(boot: Boot) -> None:
    """The kernel maps at most 8 GiB, which are 2^21 pages of 4096 bytes."""
    machine = boot(memory="12G")
    assert f"mem.total {(8 << 30) // 4096} " in machine.check("cat /dev/stat")
    said = "boot: the machine has 12288 MiB of memory: Sluice uses 8192\n"
    assert machine.console.startswith(said)


@pytest.mark.parametrize("harts", [9, 33])
def test_of_more_harts_than_it_has_room_for_the_kernel_uses_8_and_says_so(
    boot: Boot, harts: int
) -> None:
    """harts: processors of the machine."""
    machine = boot(harts=harts)
    assert machine.check("echo hello") == "hello\n"
    assert machine.power_off().status == 0
    assert machine.console.startswith(f"boot: the machine has {harts} harts: Sluice uses 8\n")


def boot_cpu_s(run_script: Run, memory: str) -> float:
    """Return the processor time of QEMU for a boot and a power-off, the least of ten."""
    times = []
    for _ in range(10):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run_script("exit 0\n", memory=memory).status == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime)
    return min(times)


def test_boot_time_does_not_depend_on_memory(run_script: Run) -> None:
    small = boot_cpu_s(run_script, "64M")
    large = boot_cpu_s(run_script, "8G")
    # To touch 8 GiB once would take four times as long as the boot.
    assert large < 2 * small, f"{small} s with 64 MiB, {large} s with 8 GiB"


@pytest.mark.parametrize("status", [0, 1, 7, 255])
def test_the_status_of_rc_is_the_machines(run_script: Run, status: int) -> None:
    """A machine that has an /rc runs it and powers off with its exit status."""
    assert run_script(f"echo from rc\nexit {status}\n").status == status


@pytest.mark.parametrize(
    ("args", "complaint"),  # complaint: a part of the message
    [
        ("nosuch=1", "nosuch"),
        ("nbuf=15", "nbuf=15"),
        ("nbuf=many", "nbuf=many"),
        ("nbuf", "nbuf"),
        ("nbuf=100 nbuf=100", "nbuf"),
        ("nbuf=99999999", "nbuf"),
        ("sched=nosuch", "nosuch"),
        ("update=lru", "lru"),
        ("pu.interval_ms=0", "pu.interval_ms"),
        ("pu.nosuch=1", "pu.nosuch"),
        ("drive=nosuch", "nosuch"),
        ("root=disk7", "disk7"),
    ],
)
def test_a_bad_boot_argument_stops_the_boot_and_is_named(
    run_script: Run, args: str, complaint: str
) -> None:
    result = run_script("echo must not run\n", args=args)
    assert result.status not in (0, None)
    assert "must not run" not in result.console
    complaints = [line for line in result.console.splitlines() if "boot: " in line]
    assert complaints, result.console
    assert complaint in complaints[-1]


def test_a_root_disk_without_a_file_system_stops_the_boot(make_image: MakeImage) -> None:
    """The disk has a mebibyte of zeros."""
    path = make_image(damaged=True)
    path.write_bytes(b"\0" * (1 << 20))
    result = run_rc(Config((Disk(path),)))
    assert result.status != 0
    assert "disk0" in result.console


def test_a_machine_without_a_disk_says_so() -> None:
    result = run_rc(Config(()))
    assert result.status != 0
    assert "disk0" in result.console


def test_the_debug_kernel_is_another_kernel(boot: Boot) -> None:
    assert DEBUG_KERNEL.stat().st_size != KERNEL.stat().st_size
    assert boot(kernel=DEBUG_KERNEL, harts=2).check("echo hello") == "hello\n"


@pytest.mark.parametrize("block", ["1K", "2K", "4K", "8K"])
def test_any_block_size_boots_and_is_left_clean(
    make_image: MakeImage, boot: Boot, block: str
) -> None:
    machine = boot(disks=(Disk(make_image(block=block)),))
    machine.check("mkdir /d && echo some text > /d/f && sync")
    assert machine.check("cat /d/f") == "some text\n"
    assert machine.power_off().status == 0
