"""The power of an NFS server is cut while a client writes: the client waits, and what its closes
promised is on the server's disk. A close or an fsync that returns without an error promises that
the file's data are there.
"""

import random
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from test_nfs import GATEWAY, free_ports

from sluice.experiment.two_machines import start_machines
from sluice.host.limits import HANG_S
from sluice.network.virtual import Link
from sluice.system import image
from sluice.system.qemu import Config, Disk, Machine

FILES = 9


@contextmanager
def boot(disk: Path, forward: str = "") -> Iterator[Machine]:
    """Boot a machine on QEMU's user network, and wait for its prompt."""
    options = (
        *("-netdev", f"user,id=n,{GATEWAY}{forward}"),
        *("-device", "virtio-net-device,netdev=n,mac=52:54:00:00:00:01,bus=virtio-mmio-bus.7"),
    )
    with Machine(Config((Disk(disk),), harts=2, options=options)) as machine:
        machine.wait_prompt()
        yield machine


@contextmanager
def boot_server(disk: Path, port: int) -> Iterator[Machine]:
    """Boot a server whose files a client finds at this port of the host."""
    with boot(disk, f",hostfwd=udp:127.0.0.1:{port}-10.0.0.1:2049") as server:
        server.send("nfsd / &\n")
        server.wait_prompt()
        yield server


@pytest.mark.parametrize("seed", [1, 2])
def test_a_cut_of_the_server_loses_nothing_that_a_close_promised(tmp_path: Path, seed: int) -> None:
    """The server is killed after a random one of nine copies and boots again. The client goes on by
    itself. At the end the server's disk has all nine files."""
    draw = random.Random(seed)
    disks = [image.make_image(tmp_path / f"{n}.img", image.Content()) for n in range(2)]
    port = free_ports(2049)[2049]
    numbers = " ".join(str(number) for number in range(FILES))
    with boot(disks[1]) as client:
        with boot_server(disks[0], port) as server:
            client.check(f"mkdir /mnt; mount -t nfs 10.0.0.254:{port}:/ /mnt")
            loop = f"for i in {numbers}; do cp /bin/sh /mnt/f$i && echo closed $i; done"
            client.send(f"{loop}; echo all is written\n")
            client.expect(f"\nclosed {draw.randrange(FILES - 1)}\n")
            server.kill()
        with boot_server(disks[0], port) as server:
            client.expect("\nall is written\n")
            client.wait_prompt()
            assert all(f"\nclosed {number}\n" in client.console for number in range(FILES))
            server.kill()
        client.kill()
    image.run_command("e2fsck", "-p", disks[0], check=False)
    image.check_image(disks[0])
    with boot(disks[0]) as server:
        for number in range(FILES):
            server.check(f"cmp /bin/sh /f{number}")
        server.power_off()
    image.check_image(disks[0])


@pytest.mark.parametrize("consistency", ["spritely", "leases"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cut_in_virtual_time_loses_nothing_that_an_fsync_promised(
    tmp_path: Path, consistency: str, seed: int
) -> None:
    """The server switches itself off at a random time (status 7). The server's disk then has each
    file for which the client's fsync had returned. Both consistencies call clients back, so both
    machines need a link in virtual time, and on a link a server cannot boot again."""
    draw = random.Random(seed)
    cut_s = 3 + draw.random() * 4
    files = " ".join(str(number) for number in range(60))
    scripts = (
        f"mkdir /x; (sleep {cut_s:.3f}; poweroff -n 7) & nfsd /x",
        f"""(sleep 60; poweroff -n) & mkdir /mnt; sleep 1
mount -t nfs -o consistency={consistency} 10.0.0.1:/x /mnt
for i in {files}; do dd if=/bin/sh of=/mnt/f$i bs=8k conv=fsync && echo fsync $i; done""",
    )
    link = Link(loss_percent=2, late_percent=5, seed=seed)
    disks = [
        image.make_image(tmp_path / f"{n}.img", image.Content(rc=f"{rc}\n", size="32M"))
        for n, rc in enumerate(scripts)
    ]
    configs = [
        Config((Disk(disk),), memory="64M", args="update=none", lab=True, charged=True)
        for disk in disks
    ]
    consoles = [tmp_path / "server", tmp_path / "client"]
    with configs[0].guest() as server, configs[1].guest() as client, ExitStack() as opened:
        machines = start_machines(link, configs, [server, client], consoles, opened)
        assert [machine.wait(HANG_S) for machine in machines] == [7, 0]
        server.save()
    promised = re.findall(r"^fsync (\d+)$", consoles[1].read_text(), re.M)
    assert 0 < len(promised) < 60
    image.run_command("e2fsck", "-p", disks[0], check=False)
    image.check_image(disks[0])
    check = image.make_image(tmp_path / "check.img", image.Content())
    with Machine(Config((Disk(check), Disk(disks[0])))) as machine:
        machine.wait_prompt()
        machine.check("mkdir /cut; mount disk1 /cut")
        for number in promised:
            machine.check(f"cmp /bin/sh /cut/x/f{number}")
        machine.power_off()
