"""Hundreds of swaps of policies under load lose nothing, whatever comes after whatever."""

import os
import random
import re

import pytest
from conftest import MakeImage

from sluice.host.paths import DEBUG_KERNEL
from sluice.system import devtext, image
from sluice.system.qemu import Config, Disk, run_rc

SEEDS = range(1, 1 + int(os.environ.get("SLUICE_SEEDS", "1")))
SWAPS = 250  # on each of two machines
LOADS = 3
DATA = {f"/f{i}": bytes([i]) * (i * 5000 + 1) for i in range(12)}
ROUND = """set -e
cp -r /data /copy{n}
cmp /data/f{n} /copy{n}/f{n}
cmp /data/f11 /copy{n}/f11
iogen rw=randrw filename=/copy{n}/f7 bs=3000 size=30000 nr=40 fsync=8 > /dev/null
rm -r /copy{n}
"""
ROUNDS = 200  # at most; a load ends when the swaps have
TUNABLE = re.compile(r"^(\w+\.\w+) = \d+ (.+) \((\d+) to (\d+)\):", re.M)
# In these units, what makes a policy act often within the run.
SOON = {"ms": 50, "s": 2, "blocks": 50, "requests": 20}


def load(n: int) -> str:
    rounds = f"test -e /stop || sh /round{n} || echo failed\n" * ROUNDS
    return f"{rounds}test -e /stop || echo too short\ncp -r /data /kept{n}\n"


def settings(listing: str, dice: random.Random) -> list[str]:
    """Return a control line for each tunable, with a value of its range."""
    lines = []
    for name, unit, low, high in TUNABLE.findall(listing):
        most = min(int(high), max(int(low), SOON.get(unit, int(high))))
        lines.append(f"policy set {name} {dice.randint(int(low), most)}\n")
    return lines


def swaps(listing: str, seed: int) -> str:
    """Return a script of swaps and, between them, of other tunables."""
    dice = random.Random(seed)
    kinds = re.findall(r"^(\w+): (.*)", listing, re.M)[:7]
    policies = [(kind, name) for kind, names in kinds for name in re.findall(r"\w+", names)]
    script = "".join(settings(listing, dice))
    for turn in range(SWAPS):
        kind, name = dice.choice(policies)
        if turn % 10 == 0:
            script += dice.choice(settings(listing, dice))
        script += f"policy use {kind} {name}\nsleep 0.02\n"
    return script


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("listing") / "image.img"
    image.make_image(path, image.Content(rc="cat /dev/policy"))
    return run_rc(Config((Disk(path),), lab=True)).console


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("buffers", "drive"), [(48, "fixed"), (200, "rz58")])
def test_swaps_under_load_lose_nothing(
    make_image: MakeImage, listing: str, buffers: int, drive: str, seed: int
) -> None:
    files = {f"/data{name}": contents for name, contents in DATA.items()}
    files["/swap"] = swaps(listing, seed).encode()
    for n in range(LOADS):
        files |= {f"/round{n}": ROUND.format(n=n).encode(), f"/load{n}": load(n).encode()}
    rc = "".join(f"sh /load{n} &\n" for n in range(LOADS))
    rc += "sh /swap\ntouch /stop\nwait\ncat /dev/stat\n"
    path = make_image(rc=rc, files=files, size="64M")
    args = f"drive={drive} nbuf={buffers} check=1"
    result = run_rc(Config((Disk(path),), kernel=DEBUG_KERNEL, args=args, lab=True))
    assert result.status == 0, result.console
    assert "failed" not in result.console and "too short" not in result.console
    said = re.findall(r"^policy: .*\n", result.console, re.M)
    assert all(" would be " in line for line in said), said  # refused: they do not go together
    stat = devtext.parse_stat(re.sub(r"^policy: .*\n", "", result.console, flags=re.M))
    assert stat["policy.swaps"][0] > SWAPS / 2 and stat["updated.written"][0] > SWAPS
    for name, contents in DATA.items():
        for n in range(LOADS):
            assert image.read_file(path, f"/kept{n}{name}") == contents, f"/kept{n}{name}"
