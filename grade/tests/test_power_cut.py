"""After a power cut e2fsck repairs the disk by itself, and what was fsynced is there."""

import pytest
from conftest import MakeImage

from grade.machine import image
from grade.machine.qemu import Config, Disk, Machine

CHURN = """
mkdir /churn
cp -r /bin /churn/a
mv /churn/a /churn/b
rm -r /churn
sh /churner
"""
FILES = 40
SIZE = 50_000  # bytes


def script() -> str:
    """Writes files one by one with fsync, beside a churn of others; says each."""
    lines = ["sh /churner &", "mkdir /kept"]
    for i in range(FILES):
        lines.append(f"dd if=/data of=/kept/{i} bs=16k conv=fsync 2> /dev/null")
        lines.append(f"echo fsynced {i} .")
    return "\n".join(lines)


@pytest.mark.parametrize("write", ["async", "delayed"])
@pytest.mark.parametrize("last", [0, 3, 11, 27])
def test_what_was_fsynced_survives_a_power_cut(
    make_image: MakeImage, last: int, write: str
) -> None:
    data = bytes(i % 251 for i in range(SIZE))
    path = make_image(
        damaged=True,
        files={"/data": data, "/churner": CHURN.encode()},
        rc=script(),
        size="64M",
    )
    args = f"nbuf=300 pu.interval_ms=50 write={write}"
    with Machine(Config((Disk(path),), harts=2, args=args)) as machine:
        machine.expect(rf"^fsynced {last} \.")
        machine.kill()
    repaired = image.command("e2fsck", "-fp", path, check=False)
    assert repaired.returncode in (0, 1), repaired.stdout.decode()
    image.check(path)
    for i in range(last + 1):
        assert image.read(path, f"/kept/{i}") == data, f"file {i} of {last}"


def updates(machine: Machine) -> int:
    """How many times the periodic update has written everything."""
    return int(machine.check("grep '^pu.updates' /dev/stat").split()[1])


def test_what_is_older_than_two_updates_survives_a_power_cut(make_image: MakeImage) -> None:
    path = make_image(damaged=True)
    args = "pu.interval_ms=100 write=delayed"
    with Machine(Config((Disk(path),), args=args)) as machine:
        machine.wait_prompt()
        machine.check("mkdir /d && cp /bin/sh /d/copy")
        written = updates(machine) + 2
        while updates(machine) < written:
            pass
        machine.kill()
    repaired = image.command("e2fsck", "-fp", path, check=False)
    assert repaired.returncode in (0, 1), repaired.stdout.decode()
    assert image.read(path, "/d/copy") == image.read(path, "/bin/sh")
