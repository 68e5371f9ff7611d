"""Hundreds of swaps of policies under load lose nothing, in whatever order they come.

Three loads, shell scripts, copy, compare and remove files in rounds, while another script swaps
policies and sets tunables, all drawn by a seed. Afterwards the host reads the last copies.
"""

import os
import random
import re

import pytest
from conftest import MakeImage

from sluice.host.paths import DEBUG_KERNEL, ROOT
from sluice.system import devtext, image
from sluice.system.qemu import Config, Disk, Result, run_rc

SEEDS = range(1, 1 + int(os.environ.get("SLUICE_SEEDS", "1")))
SWAPS = 250  # each of two machines makes so many
LOADS = 3
ORDERS = sorted(path.stem for path in (ROOT / "policies/order").glob("*.c"))
DATA = {f"/f{i}": bytes([i]) * (i * 5000 + 1) for i in range(12)}
ROUND = """set -e
cp -r /data {at}/copy{n}
cmp /data/f{n} {at}/copy{n}/f{n}
cmp /data/f11 {at}/copy{n}/f11
iogen rw=randrw filename={at}/copy{n}/f7 bs=3000 size=30000 nr=40 fsync=8 > /dev/null
rm -r {at}/copy{n}
"""
ROUNDS = 200  # at most; a load ends when the swaps have
TUNABLE = re.compile(r"^(\w+\.\w+) = \d+ (.+) \((\d+) to (\d+)\):", re.M)
# The highest value that is drawn for a tunable in each unit: with these, a policy acts often
# within a run.
SOON = {"ms": 50, "s": 2, "blocks": 50, "requests": 20}


def load(n: int, at: str) -> str:
    """Return the script of load n, in this folder: rounds until the file /stop is there."""
    rounds = f"test -e /stop || sh /round{n} || echo failed\n" * ROUNDS
    return f"{rounds}test -e /stop || echo too short\ncp -r /data {at}/kept{n}\n"


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


def order_swaps(seed: int) -> str:
    """Return a script of swaps of the order policy, with commits after 10 ms to 0.3 s."""
    dice = random.Random(seed)
    script = ""
    for _ in range(SWAPS):
        script += f"policy use order {dice.choice(ORDERS)}\n"
        if dice.random() < 0.1:
            script += f"policy set journal.commit_ms {dice.randint(10, 300)}\n"
        script += f"sleep {dice.choice((0, 0, 0.01, 0.05))}\n"
    return script


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return /dev/policy, which lists all policies and tunables."""
    path = tmp_path_factory.mktemp("listing") / "image.img"
    image.make_image(path, image.Content(rc="cat /dev/policy"))
    return run_rc(Config((Disk(path),), lab=True)).console


def run_swaps(make_image: MakeImage, swaps: str, args: str, two: bool = False) -> Result:
    """Run the loads while the script of swaps runs, one of them on a second disk if there are two.
    Checks that they lost nothing."""
    at = ["", "/mnt" if two else "", ""]
    files = {f"/data{name}": contents for name, contents in DATA.items()}
    files |= {"/swap": swaps.encode(), "/mnt/x": b""}
    for n in range(LOADS):
        files[f"/round{n}"] = ROUND.format(n=n, at=at[n]).encode()
        files[f"/load{n}"] = load(n, at[n]).encode()
    rc = "mount disk1 /mnt || exit 1\n" if two else ""
    rc += "".join(f"sh /load{n} &\n" for n in range(LOADS))
    rc += "sh /swap\ntouch /stop\nwait\ncat /dev/stat\n"
    options = ("--journal", "4M")
    path = make_image(rc=rc, files=files, size="64M", options=options)
    paths = [path, *([make_image(programs=False, size="64M", options=options)] if two else [])]
    disks = tuple(Disk(path) for path in paths)
    result = run_rc(Config(disks, kernel=DEBUG_KERNEL, args=f"{args} check=1", lab=True))
    assert result.status == 0, result.console
    assert "failed" not in result.console and "too short" not in result.console
    for name, contents in DATA.items():
        for n in range(LOADS):
            kept = image.read_file(paths[bool(at[n])], f"/kept{n}{name}")
            assert kept == contents, f"/kept{n}{name}"
    return result


@pytest.mark.drawn(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("buffers", "drive"), [(48, "fixed"), (200, "rz58")])
def test_swaps_under_load_lose_nothing(
    make_image: MakeImage, listing: str, buffers: int, drive: str, seed: int
) -> None:
    """Some swaps are refused with a message: tunables contradict each other, or there are fewer
    than 64 buffers for order=journal. No other message may come."""
    args = f"drive={drive} nbuf={buffers}"
    result = run_swaps(make_image, swaps(listing, seed), args)
    said = re.findall(r"^policy: .*\n", result.console, re.M)
    refused = r": .* would be |: order/journal: it needs 64 buffers"
    assert all(re.search(refused, line) for line in said), said
    assert any("order/journal" in line for line in said) == (buffers < 64), said
    stat = devtext.parse_stat(re.sub(r"^policy: .*\n", "", result.console, flags=re.M))
    # A draw of the policy that is in use already is no swap.
    assert stat["policy.swaps"][0] > SWAPS / 2 and stat["updated.written"][0] > SWAPS


@pytest.mark.drawn(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("buffers", "drive", "two"), [(64, "fixed", True), (200, "cheetah4lp", False)]
)
def test_swaps_of_order_policies_under_load_lose_nothing(
    make_image: MakeImage, buffers: int, drive: str, two: bool, seed: int
) -> None:
    """two: whether one of the loads is on a second disk; seed: draws the swaps."""
    result = run_swaps(make_image, order_swaps(seed), f"drive={drive} nbuf={buffers}", two)
    stat = devtext.parse_stat(result.console)
    assert stat["policy.swaps"][0] > SWAPS / 2 and stat["journal.commits"][0] > 20
