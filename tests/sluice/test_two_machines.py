"""Experiments with a client and a server in one virtual time."""

import re
import shutil
import tomllib
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sluice.experiment import load, metrics, run, two_machines
from sluice.experiment.catalogue import NETWORK_COUNTERS
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import BadExperiment, Run
from sluice.host.paths import ROOT
from sluice.network.virtual import Link
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine

RANDOM = ROOT / "experiments" / "mogul" / "mogul-4.2-random.toml"
MEBI = 1 << 20


def short_run(arm: str) -> Run:
    """Return the first quick run of an arm, with fewer reads."""
    found = next(one for one in load.load(RANDOM, "quick").runs if one.arm == arm)
    commands = found.config["commands"].replace("nr=1500", "nr=1000")
    assert commands != found.config["commands"]
    return replace(found, config={**found.config, "commands": commands})


def test_a_run_is_equal_to_the_byte_when_repeated(tmp_path: Path) -> None:
    one = short_run("delayed+AIPU NVRAM")
    made = [run.make_run(one, tmp_path / name)[0] for name in "ab"]
    assert made[0] == made[1]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert metrics.evaluate(made[0], "job.read.reads") == 1000
    # Else the server's cache has the blocks, and its NVRAM nothing to do.
    assert metrics.evaluate(made[0], "stat.server.disk.reads") > 700
    assert int(made[0]["counters"]["server.nvram.writes"][0]) > 0


def test_the_twin_says_that_it_has_no_network(tmp_path: Path) -> None:
    one = short_run("delayed+PU")
    twin = replace(one, config={**one.config, "engine": "twin"})
    with pytest.raises(RunFailed, match="the twin has no network"):
        run.make_run(twin, tmp_path / "console")


def test_a_server_that_does_not_boot_is_named(tmp_path: Path) -> None:
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
    rooms = ("leases", "net", "nfs", "nvram", "remote", "spritely")
    text = "".join(f.read_text() for room in rooms for f in (ROOT / "kernel" / room).glob("*.c"))
    rows = re.findall(r'COUNTER_WITH\(\s*\w+,\s*"([\w.]+)",\s*"(\w+)"', text)
    assert dict(rows) == NETWORK_COUNTERS
