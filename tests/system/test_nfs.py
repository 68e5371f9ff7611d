"""A machine serves its files by NFS to clients on the host, through QEMU's user networking.

`boot_server` yields the machine and a Client (rpc_client.py), whose methods are calls of NFS. A
handle is what the server calls a file: `mount` and `lookup` return handles. Status 70 says that a
handle is stale, and status 2 that there is no such file.
"""

import os
import random
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from rpc_bridge import open_bridge
from rpc_client import NFS, PORTMAP, UNSTABLE, Client, Failed, build_call, made_args, pack_words

from sluice.host.limits import HANG_S
from sluice.system import image
from sluice.system.qemu import Config, Disk, Machine

GATEWAY = "net=10.0.0.0/24,host=10.0.0.254,dns=10.0.0.253"


def free_ports(*wanted: int) -> dict[int, int]:
    """Return ports of the host that are free, for each of these of the machine."""
    ports = {}
    for port in wanted:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.bind(("127.0.0.1", 0))
            ports[port] = one.getsockname()[1]
    return ports


@contextmanager
def boot_server(
    disk: Path, command: str = "nfsd /", host: str = "127.0.0.1", same_ports: bool = False
) -> Iterator[tuple[Machine, Client]]:
    """Boot a server. Yields its machine, and a client to which it has replied once."""
    ports = {111: 111, 2049: 2049} if same_ports else free_ports(111, 2049)
    forward = ",".join(f"hostfwd=udp:{host}:{ports[p]}-10.0.0.1:{p}" for p in ports)
    options = (
        *("-netdev", f"user,id=n,{GATEWAY},{forward}"),
        *("-device", "virtio-net-device,netdev=n,mac=52:54:00:00:00:01,bus=virtio-mmio-bus.7"),
    )
    with (
        Machine(Config((Disk(disk),), harts=2, options=options)) as machine,
        closing(Client(host, ports)) as client,
    ):
        machine.wait_prompt()
        machine.send(f"{command} &\n")
        machine.wait_prompt()
        client.call(NFS, 0)
        yield machine, client


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Return the image of the server's disk."""
    return image.make_image(tmp_path / "disk.img", image.Content())


def test_files_are_read_and_written_over_the_network(disk: Path) -> None:
    """The machine and a client see each other's files, renames and removals, and the disk is good
    afterwards."""
    data = random.Random(49).randbytes(30_000)
    with boot_server(disk) as (machine, client):
        # Procedure 3 of the port mapper: the port of NFS version 3 over UDP (17).
        assert client.call(PORTMAP, 3, pack_words(NFS, 3, 17, 0)).word() == 2049
        machine.check("echo from the machine > /hello")
        root = client.mount("/")
        assert client.read_all(client.lookup(root, "hello")) == b"from the machine\n"
        folder = client.mkdir(root, "folder")
        big = client.create(folder, "big")
        for at in range(0, len(data), 8192):
            client.write(big, at, data[at : at + 8192], UNSTABLE)
        client.commit(big)
        machine.check("cp /folder/big /copy")
        assert client.read_all(client.lookup(root, "copy")) == data
        assert client.read_all(big, 777) == data
        client.rename(folder, "big", root, "moved")
        assert sorted(client.names(folder)) == [".", ".."]
        assert {"hello", "folder", "copy", "moved", "bin"} <= set(client.names(root, 400))
        assert machine.check("ls /folder") == ""
        client.remove(root, "moved")
        with pytest.raises(Failed, match="status 70"):
            client.getattr(big)
        machine.power_off()
    image.check_image(disk)


def test_a_lost_answer_makes_nothing_twice(disk: Path) -> None:
    """A client whose answer is lost sends the same message again. The server then removes nothing a
    second time: it repeats its answer. To another client the same message is a new call."""
    with boot_server(disk) as (_machine, client):
        root = client.mount("/")
        for name in ("a", "b", "c"):
            client.create(root, name)
        args = b"".join(made_args(root, "a"))
        message = build_call(NFS, 12, args)  # REMOVE
        replies = {client.exchange(message) for _ in range(5)}
        assert len(replies) == 1
        with closing(Client(client.host, client.ports)) as other:
            assert other.exchange(message) not in replies


def test_committed_bytes_and_handles_outlive_a_crash_and_the_verifier_does_not(disk: Path) -> None:
    """A WRITE and a COMMIT return a verifier. If it differs later, the server has started again and
    may have lost writes that were not committed. The handle of a removed file stays stale."""
    with boot_server(disk) as (machine, client):
        root = client.mount("/")
        kept, gone = client.create(root, "kept"), client.create(root, "gone")
        before = client.write(kept, 0, b"committed", UNSTABLE)
        assert client.commit(kept) == before
        client.remove(root, "gone")
        machine.kill()
    with boot_server(disk) as (machine, client):
        assert client.lookup(root, "kept") == kept
        assert client.read_all(kept) == b"committed"
        assert client.commit(kept) != before
        with pytest.raises(Failed, match="status 70"):
            client.getattr(gone)


def test_datagrams_of_any_bytes_are_counted_and_the_server_goes_on(disk: Path) -> None:
    """Half of 300 datagrams are a CREATE call that is cut and changed at random, the others are
    random bytes. At least half of all must be counted as damaged."""
    draw = random.Random(7)
    with boot_server(disk, "nfsd -n 1 /") as (machine, client):
        root = client.mount("/")
        call = build_call(NFS, 8, b"".join((*made_args(root, "f"), bytes(28))))  # CREATE
        for number in range(300):
            data = bytearray(call if draw.random() < 0.5 else draw.randbytes(9000))
            data = data[: draw.randrange(len(data) + 1)]
            for _ in range(draw.randrange(4) if len(data) > 4 else 0):
                # The xid is not changed, because it could become the xid of a later call.
                data[draw.randrange(4, len(data))] = draw.randrange(256)
            client.link.sendto(data, (client.host, client.ports[2049]))
            if number % 8 == 0:
                client.call(NFS, 0)  # its answer means that no socket's queue is full
        assert client.getattr(root).kind == 2
        counts = dict(re.findall(r"^(nfs\.\w+) (\d+)", machine.check("cat /dev/stat"), re.M))
        assert int(counts["nfs.calls"]) >= 300
        assert int(counts["nfs.damaged"]) >= 150
        machine.power_off()
    image.check_image(disk)


def test_one_directory_is_served_until_its_processes_are_killed(tmp_path: Path) -> None:
    """What is outside the directory is not reached; a second server is refused; after a kill nobody
    answers, and another directory can be served."""
    files = {"/served/inside": b"yes", "/outside": b"no"}
    disk = image.make_image(tmp_path / "disk.img", image.Content(files=files))
    with boot_server(disk, "nfsd -n 2 /served") as (machine, client):
        assert sorted(client.names(client.mount("/served"))) == [".", "..", "inside"]
        with pytest.raises(Failed, match=r"status 2$"):
            client.mount("/")
        again = machine.run("nfsd /")
        assert again.status != 0 and "nfsd: port 111: address already in use" in again.text
        group = machine.check("ps | grep nfsd | head -n 1").split()[2]
        machine.check(f"kill -{group}")
        machine.check("wait")
        with pytest.raises(TimeoutError):
            client.exchange(build_call(NFS, 0), limit_s=1)
        for command, message in (
            ("nfsd /outside", "nfsd: /outside: not a directory"),
            ("nfsd /none", "nfsd: /none: no such file or directory"),
            ("nfsd -n 0 /", "nfsd: COUNT is from 1 to 64"),
        ):
            done = machine.run(command)
            assert done.status != 0 and message in done.text
        machine.send("nfsd /bin &\n")
        assert "nfsd" in client.names(client.mount("/bin"))


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("showmount", "-e"), "^/ \\(everyone\\)"),
        (("rpcinfo", "-u"), "^program 100003 version 3 ready and waiting"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_the_hosts_own_clients_are_answered(
    disk: Path, command: tuple[str, str], says: str
) -> None:
    """command: showmount or rpcinfo, with its options; says: a pattern of a line that it prints."""
    program = shutil.which(command[0])
    if not program or os.geteuid():
        pytest.skip("needs showmount and rpcinfo, and root for the ports 111 and 2049")
    # An address of this computer that no other process of the tests uses.
    host = f"127.{os.getpid() % 250 + 1}.{os.getpid() // 250 % 250}.{len(command[0])}"
    with boot_server(disk, host=host, same_ports=True):
        words = [program, *command[1:], host] + (["nfs"] if command[0] == "rpcinfo" else [])
        done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(says, done.stdout, re.M), done.stdout


@pytest.mark.skipif(not shutil.which("nfs-cp"), reason="needs libnfs-utils")
def test_libnfs_lists_reads_and_writes(tmp_path: Path) -> None:
    """The programs of libnfs, which others wrote, work with the server through a bridge."""
    files = {"/export/b": b"bytes of b\n"}
    disk = image.make_image(tmp_path / "disk.img", image.Content(files=files))
    sent = random.Random(4).randbytes(30_000)
    (tmp_path / "sent").write_bytes(sent)
    with (
        boot_server(disk) as (_machine, client),
        open_bridge((client.host, client.ports[2049])) as port,
    ):

        def url(name: str) -> str:
            """Return the URL of a file in the export."""
            return f"nfs://127.0.0.1/export/{name}?nfsport={port}&mountport={port}"

        def run(*words: str | Path) -> str:
            """Run a program of libnfs. Returns its output."""
            done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S, check=True)
            return done.stdout

        assert run("nfs-cat", url("b")) == "bytes of b\n"
        run("nfs-cp", tmp_path / "sent", url("new"))
        run("nfs-cp", url("new"), tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == sent
        listed = re.findall(r"(\d+) (\w+)$", run("nfs-ls", url("")), re.M)
        assert sorted(listed) == [("11", "b"), ("30000", "new")]
