"""Modelled drives in real time, on several harts: a process that waits for the device goes on when
the device is done."""

import pytest
from conftest import Boot, MakeImage

from sluice.system.qemu import Disk

SYNCS = 20


@pytest.mark.parametrize("harts", [1, 2])
def test_the_device_is_waited_for_whichever_hart_its_interrupt_goes_to(
    boot: Boot, make_image: MakeImage, harts: int
) -> None:
    """Each sync flushes the device. The hart that asked for the flush waits for the device."""
    path = make_image(files={"/syncs": ("date > /d\nsync\n" * SYNCS).encode()})
    machine = boot(disks=(Disk(path),), harts=harts, args="drive=fixed")
    machine.check("sh /syncs")
    assert f"disk.flushes {SYNCS} flushes" in machine.check("grep flushes /dev/stat")
