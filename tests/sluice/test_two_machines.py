"""Experiments with a client and a server in one virtual time.

The runs are of Mogul's experiment 4.2 and of others with NFS: the client's programs read and write
the server's disk over a link. The twin makes such a run by two processes, QEMU by two machines.
NVRAM is memory of the server that keeps writes over a power cut.
"""

import re
import shutil
import tomllib
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from both import expect_alike
from whole import WHOLE

from sluice.experiment import load, metrics, run, two_machines
from sluice.experiment.catalogue import NETWORK_COUNTERS
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import MACHINE_ENGINE, TWIN, BadExperiment, Run
from sluice.experiment.selection import experiment_file
from sluice.host.paths import ROOT
from sluice.network.virtual import Link
from sluice.system import image, trace
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine
from sluice.twin import engine

# Mogul's experiment 4.2 with random reads
RANDOM = ROOT / "experiments" / "mogul" / "mogul-4.2-random.toml"
READS = 1000 if WHOLE else 300  # of the run that is repeated
MEBI = 1 << 20


def short_run(arm: str) -> Run:
    """Return the first run of an arm, with fewer reads."""
    found = next(one for one in load.load(RANDOM).runs if one.arm == arm)
    commands = found.config["commands"].replace("nr=10000", f"nr={READS}")
    assert commands != found.config["commands"]
    return replace(found, config={**found.config, "commands": commands})


def test_a_run_is_equal_to_the_byte_when_repeated(tmp_path: Path) -> None:
    """Result and consoles of two runs. The server's disk and NVRAM have work to do, which
    asynchronous writes give them from the beginning."""
    one = short_run("async+PU NVRAM")
    made = [run.make_run(one, tmp_path / name)[0] for name in "ab"]
    assert made[0] == made[1]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert metrics.evaluate(made[0], "job.read.reads") == READS
    # Most reads reach the server's disk, so its cache is not large enough for all blocks.
    assert metrics.evaluate(made[0], "stat.server.disk.reads") > 0.7 * READS
    assert int(made[0]["counters"]["server.nvram.writes"][0]) > 0


def read_events(console: str, memory: Path) -> tuple[int, list[trace.Event]]:
    """Return how many events a machine has lost, and the others."""
    phys = int(re.findall(r"^trace.phys (\d+)", console, re.M)[-1])
    lost, events = trace.read_trace(memory, phys)
    return lost, list(events)


def run_by(name: str, arm: str, faults: dict[str, int], maker: str, folder: Path, **chosen: str):
    """Make a quick run of an arm with 300 reads, by an engine. Return its result, and what
    read_events() gives for the client and for the server."""
    folder.mkdir()
    runs = load.load(experiment_file(name), "quick").runs
    found = next(one for one in runs if one.arm == arm and chosen.items() <= one.variables.items())
    config = dict(found.config, commands=re.sub(r"nr=\d+", "nr=300", found.config["commands"]))
    config |= {"faults": faults} if faults else {}
    config |= {"engine": maker} if maker == TWIN else {}
    made = run.make_run(replace(found, config=config), folder / "console", folder / "memory")[0]
    del made["key"]  # the hash of the kernel, or of the twin, is in it
    texts = (folder / "console").read_text().split(two_machines.SERVER_MARK)
    memories = (folder / "memory", folder / f"memory{two_machines.SERVER_MEMORY}")
    return made, [read_events(*each) for each in zip(texts, memories, strict=True)]


LOSSES = {"loss_percent": 3, "late_percent": 5, "seed": 7}


@pytest.mark.skipif(bool(engine.host_refusal_reason()), reason="there is no twin here")
@pytest.mark.parametrize(
    ("name", "arm", "faults", "chosen"),
    [
        ("nfs-consistency", "NFS", {}, {"load": "keep"}),
        ("nfs-consistency", "NFS", LOSSES, {"load": "keep"}),
        ("nfs-consistency", "Spritely NFS", LOSSES, {"load": "keep"}),
        ("mogul-4.2-random", "delayed+PU", {}, {}),
        ("mogul-4.2-random", "delayed+AIPU NVRAM", {}, {}),
        ("mogul-4.2-sequential", "AIPU NVRAM", LOSSES, {}),
    ],
)
def test_the_twin_decides_as_the_machine_does_one_by_one(
    name: str, arm: str, faults: dict[str, int], chosen: dict, tmp_path: Path
) -> None:
    """The results are equal, and so is each event of both machines, with its time in ns. faults:
    frames that are lost or late."""
    machine, twin = (
        run_by(name, arm, faults, maker, tmp_path / maker, **chosen)
        for maker in (MACHINE_ENGINE, TWIN)
    )
    for (lost, events), (lost_by_twin, by_twin) in zip(machine[1], twin[1], strict=True):
        assert not lost and not lost_by_twin
        expect_alike(events, by_twin, least=2000)
    assert twin[0] == machine[0]
    if faults:
        assert int(machine[0]["counters"]["link.lost"][0]) > 0


@pytest.mark.skipif(bool(engine.host_refusal_reason()), reason="there is no twin here")
def test_a_twin_that_is_a_server_and_does_not_boot_is_named(tmp_path: Path) -> None:
    """The server's arguments name a disk that is not there."""
    one = short_run("delayed+PU")
    server = one.config["server"].copy()
    server["args"] += " nvram_of=disk9"
    config = {**one.config, "server": server, "engine": TWIN}
    with pytest.raises(RunFailed, match=r"the server: [^|]*\|[^|]*there is no such disk"):
        run.make_run(replace(one, config=config), tmp_path / "console")


def test_the_twin_refuses_a_server_whose_disks_are_too_large(tmp_path: Path) -> None:
    """An NVRAM of 7 GB."""
    one = short_run("delayed+PU")
    server = {**one.config["server"], "nvram": "7G"}
    config = {**one.config, "server": server, "engine": TWIN}
    with pytest.raises(RunFailed, match="the twin cannot make this run"):
        run.make_run(replace(one, config=config), tmp_path / "console")


def test_a_server_that_does_not_boot_is_named(tmp_path: Path) -> None:
    """The same wrong argument, in QEMU's machine."""
    one = short_run("delayed+PU")
    server = one.config["server"].copy()
    server["args"] += " nvram_of=disk9"
    with pytest.raises(RunFailed, match=r"the server: [^|]*\|[^|]*there is no such disk"):
        run.make_run(replace(one, config={**one.config, "server": server}), tmp_path / "console")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('[network.server.data]\ndrive = "rz58"', '[network.server.data]\ndrive = "rz59"', "drive"),
        ('nvram = "{nvram}"', 'nvram = "much"', "must be a size"),
        ('link = "ethernet10"', "", '"link" is missing'),
        ("[network.server.data]", "[machine.data]", "the client has no data disk"),
    ],
)
def test_a_wrong_network_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = RANDOM.read_text()
    assert old in text
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(old, new))
    tomllib.loads(path.read_text())
    with pytest.raises(BadExperiment, match=said):
        load.load(path, "quick")


def lab_machine(disks: tuple[Path, ...], args: str) -> Config:
    """Return a machine of virtual time with these disks."""
    made: tuple[Any, ...] = tuple(Disk(path) for path in disks)
    return Config(made, memory="64M", args=args, lab=True, charged=True)


def test_the_servers_nvram_keeps_over_a_power_cut_what_was_answered(tmp_path: Path) -> None:
    """A file is written and closed over NFS, then the server loses power. Without its NVRAM the
    disk lacks the file; with it, the file is whole."""
    data, nvram = tmp_path / "data.img", tmp_path / "nvram.img"
    image.make_image(data, Content(programs=False, size="32M"))
    with nvram.open("wb") as file:
        file.truncate(MEBI)
    serve = "mkdir /data; mount disk1 /data; nfsd /data & udpecho -l -c 1; poweroff -n 7"
    use = (
        "mkdir /data; mount -t nfs 10.0.0.1:/data /data; cp /bin/sh /data/f && echo closed\n"
        "udpecho 10.0.0.1 cut"
    )
    check = "mkdir /data; mount disk1 /data; cmp /bin/sh /data/f && echo kept"
    roots = [
        image.make_image(tmp_path / f"{n}.img", Content(rc=f"{rc}\n", size="16M"))
        for n, rc in enumerate((serve, use, check))
    ]
    args = "disk1.drive=rz58 nvram_of=disk1 nvram_in=disk2"
    configs = [
        lab_machine((roots[0], data, nvram), args),
        lab_machine((roots[1],), "remote_stable=2"),
    ]
    with configs[0].guest() as server, configs[1].guest() as client:
        consoles = [tmp_path / "server", tmp_path / "client"]
        with ExitStack() as opened:
            machines = two_machines.start_machines(
                Link(), configs, [server, client], consoles, opened
            )
            assert [machine.wait(60) for machine in machines] == [7, 0]
        server.save()
    assert "closed" in consoles[1].read_text()
    alone = tmp_path / "alone.img"
    shutil.copyfile(data, alone)
    with Machine(lab_machine((roots[2], alone), "disk1.drive=rz58")) as machine:
        assert "kept" not in machine.wait().console
    with Machine(lab_machine((roots[2], data, nvram), args)) as machine:
        assert "kept" in machine.wait().console


def test_counters_that_only_a_network_shows_have_names_in_experiments() -> None:
    """The kernel's counters of these rooms are those that experiments know."""
    rooms = ("leases", "net", "nfs", "nvram", "remote", "spritely")
    text = "".join(f.read_text() for room in rooms for f in (ROOT / "kernel" / room).glob("*.c"))
    rows = re.findall(r'COUNTER_WITH\(\s*\w+,\s*"([\w.]+)",\s*"(\w+)"', text)
    assert dict(rows) == NETWORK_COUNTERS
