"""Policies are listed, chosen, tuned and swapped under load through the text file /dev/policy.

A wrong answer of a policy would be a "policy fault". A tunable is a setting of a policy, such as
interval_ms of the policy pu.
"""

import re

import pytest
from conftest import Boot, MakeImage

from sluice.host.paths import DEBUG_KERNEL, KERNEL, ROOT
from sluice.system import image
from sluice.system.qemu import Disk, Machine

KINDS = sorted({path.parent.name for path in ROOT.glob("policies/*/*.c")} - {"lib"})
POLICIES = sorted(path for path in ROOT.glob("policies/*/*.c") if path.parent.name in KINDS)

JOURNAL = ("--journal", "4M")  # order=journal needs it


def of_kind(kind: str) -> list[str]:
    """Return the names of a kind's policies."""
    return [path.stem for path in POLICIES if path.parent.name == kind]


def policies_in_use(machine: Machine) -> dict[str, str]:
    """Return the policy in use of each kind, as /dev/policy has it in brackets."""
    text = machine.check("cat /dev/policy")
    return {kind: re.search(rf"^{kind}\b.*?\[(\w+)\]", text, re.M | re.S)[1] for kind in KINDS}


def test_every_file_under_policies_is_listed(boot: Boot) -> None:
    text = boot().check("cat /dev/policy")
    for path in POLICIES:
        assert re.search(rf"\b{path.stem}\b", text), f"no {path.stem} in\n{text}"


def test_every_policy_can_be_chosen_at_boot_and_while_running(
    make_image: MakeImage, boot: Boot
) -> None:
    """At boot the first policy of each kind is chosen, then every policy, one after the other."""
    first = {kind: of_kind(kind)[0] for kind in KINDS}
    words = ["drive=fixed", *(f"{kind}={name}" for kind, name in first.items())]
    machine = boot(disks=(Disk(make_image(options=JOURNAL)),), args=" ".join(words))
    assert policies_in_use(machine) == first
    for path in POLICIES:
        machine.check(f"policy use {path.parent.name} {path.stem}")
        assert policies_in_use(machine)[path.parent.name] == path.stem


@pytest.mark.parametrize(
    "line",
    [
        "use sched nosuch",
        "use nosuch clook",
        "use sched lru",
        "use sched",
        "use sched clook now",
        "set pu.interval_ms 0",
        "set pu.interval_ms 99999999999",
        "set pu.interval_ms 10x",
        "set pu.interval_ms -1",
        "set pu.nosuch 1",
        "set nosuch.interval_ms 1",
        "become better",
        "use sched freeblock",  # needs a drive model
        "use sched satf",
        "use order journal",  # needs a journal
    ],
)
def test_a_wrong_control_line_is_an_error_and_changes_nothing(boot: Boot, line: str) -> None:
    machine = boot()
    before = machine.check("policy")
    assert machine.run(f"policy {line}").status != 0
    assert machine.run(f"echo {line} > /dev/policy").status != 0
    assert machine.check("policy") == before


# Pairs of tunables that do not go together. Each row has a policy, one of its tunables, a value
# that is right, one that contradicts another tunable, and the message.
DISCORD = [
    ("update", "ahlw", "most_percent", 30, 9, "high_percent would be more than most_percent"),
    ("update", "awol", "high_percent", 40, 41, "high_percent would be more than most_percent"),
    ("update", "svr4", "autoup_s", 2, 1, "scans would be further apart than autoup_s"),
    ("sched", "wow", "low_blocks", 256, 257, "low_blocks would be more than high_blocks"),
    ("sched", "bfq", "min_sectors", 1024, 1025, "min_sectors would be more than max_sectors"),
    (
        "write",
        "balanced",
        "background_percent",
        20,
        21,
        "background_percent would be more than dirty_percent",
    ),
]


@pytest.mark.parametrize(("kind", "name", "tunable", "good", "bad", "why"), DISCORD)
def test_tunables_that_do_not_go_together_are_refused_with_words(
    boot: Boot, kind: str, name: str, tunable: str, good: int, bad: int, why: str
) -> None:
    """The wrong value is refused while the policy is in use. While it is not in use the value is
    taken, and then the policy is refused. In both cases nothing changes."""
    machine = boot(args="svr4.scan_ms=2000")
    machine.check(f"policy use {kind} {name}")
    machine.check(f"policy set {name}.{tunable} {good}")
    before = machine.check("policy")
    output = machine.run(f"policy set {name}.{tunable} {bad}")
    assert output.status != 0 and why in output.text
    assert machine.check("policy") == before
    other = next(other for other in of_kind(kind) if other != name)
    machine.check(f"policy use {kind} {other} && policy set {name}.{tunable} {bad}")
    output = machine.run(f"policy use {kind} {name}")
    assert output.status != 0 and f"{kind}/{name}: {why}" in output.text
    assert policies_in_use(machine)[kind] == other


def test_a_boot_with_tunables_that_do_not_go_together_stops_with_words(run_script) -> None:
    result = run_script("true", args="update=ahlw ahlw.most_percent=9")
    assert result.status != 0
    assert "update=ahlw: high_percent would be more than most_percent" in result.console


def test_tunables_are_set_at_boot_and_while_running(boot: Boot) -> None:
    machine = boot(args="pu.interval_ms=1234")
    assert "1234" in machine.check("grep interval_ms /dev/policy")
    machine.check("policy set pu.interval_ms 4321")
    assert "4321" in machine.check("grep interval_ms /dev/policy")


def test_counters_only_grow(boot: Boot) -> None:
    machine = boot()
    table = re.compile(r"^(\S+) (\d+) (\S+)$", re.M)
    counters = {"bio.hits", "bio.misses", "bio.dirtied", "disk.reads", "disk.writes"}
    before = {name: int(value) for name, value, _ in table.findall(machine.check("cat /dev/stat"))}
    machine.check("cp /bin/sh /copy && sync")
    after = {name: int(value) for name, value, _ in table.findall(machine.check("cat /dev/stat"))}
    assert counters <= before.keys()
    assert all(after[name] >= before[name] for name in counters)
    assert after["disk.writes"] > before["disk.writes"]


LOAD = """set -e
cp -r /data /copy{n}
rm -r /copy{n}
cp -r /data /kept{n}
"""


@pytest.mark.drawn(2)
@pytest.mark.parametrize("kernel", [KERNEL, DEBUG_KERNEL], ids=["plain", "debug"])
@pytest.mark.parametrize("buffers", [40, 2000])
def test_nothing_is_lost_when_policies_change_under_load(
    make_image: MakeImage, boot: Boot, kernel, buffers: int
) -> None:
    """Three loads copy and remove files while a script swaps the policies of all kinds 25 times.
    Afterwards the host reads each copy."""
    files = {f"/data/f{i}": bytes([i]) * (i * 9000 + 1) for i in range(20)}
    swaps = "".join(
        f"policy use {kind} {of_kind(kind)[turn % len(of_kind(kind))]}\n"
        for turn in range(25)
        for kind in KINDS
    )
    files |= {"/swap": swaps.encode()}
    files |= {f"/load{n}": LOAD.format(n=n).encode() for n in range(3)}
    path = make_image(files=files, size="64M", options=JOURNAL)
    machine = boot(
        disks=(Disk(path),),
        harts=2,
        kernel=kernel,
        args=f"nbuf={buffers} check=1 pu.interval_ms=20",
    )
    machine.check("sh /load0 & sh /load1 & sh /swap > /dev/null && sh /load2 && wait")
    assert "policy fault" not in machine.power_off().console
    for name, data in files.items():
        for n in range(3 if name.startswith("/data") else 0):
            assert image.read_file(path, name.replace("/data", f"/kept{n}")) == data, f"{name} {n}"


# ---- what a policy keeps of each disk ----

BUSY = "for i in 1 2 3 4 5 6 7 8; do dd if=/bin/sh of={folder}/f$i bs=512; done\n"
CHECKED = [
    path.stem for path in POLICIES if path.parent.name == "sched" and ".check" in path.read_text()
]


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", CHECKED)
def test_a_schedulers_check_looks_only_at_the_disk_it_was_asked_about(
    make_image: MakeImage, boot: Boot, name: str
) -> None:
    """A scheduler's hook `check` verifies its records of one disk's queue. Two disks are busy on
    four harts, so records of the other disk change meanwhile, under that disk's lock."""
    scripts = {f"/busy{n}": BUSY.format(folder="/mnt" * n).encode() for n in (0, 1)}
    root = make_image(files=scripts | {"/mnt/x": b""}, size="16M")
    other = make_image(programs=False, size="16M")
    words = f"check=1 nbuf=64 write=through sched={name}"
    machine = boot(disks=(Disk(root), Disk(other)), harts=4, args=words)
    machine.check("rm /mnt/x && mount disk1 /mnt")
    work = " & ".join(f"sh /busy{n}" for n in (0, 1, 0, 1))
    machine.check(f"({work} & wait) 2> /dev/null")


DOES = re.compile(r"^  (\w+) +(\S.*)$", re.M)


def test_policy_shows_all_kinds_or_one_or_one_policy(boot: Boot) -> None:
    """`policy` shows the policy of each kind in use, `policy KIND` all of a kind, `policy NAME` one
    with the meaning of its tunables; any other word is refused."""
    machine = boot()
    every, sched, aipu = (machine.check(f"policy {word}") for word in ["", "sched", "aipu"])
    kinds = [kind for kind in KINDS if re.search(rf"^{kind} ", every, re.M)]
    assert kinds == list(KINDS)
    assert "pu.interval_ms " in every
    assert "aipu.scan_ms" not in every
    assert max(map(len, every.splitlines())) < 80
    assert [line.split()[0] for line in sched.splitlines() if "[" in line] == ["sched"]
    owners = set(re.findall(r"^  (\w+)\.\w+ ", sched, re.M))
    assert owners == {"bfq", "deadline", "kyber", "opportunistic", "purp", "satf", "sluice", "wow"}
    does = {text: dict(DOES.findall(text)) for text in (every, sched, aipu)}
    assert sorted(does[every]) == sorted(policies_in_use(machine).values())
    assert list(does[sched]) == of_kind("sched")
    assert list(does[aipu]) == ["aipu"]
    assert does[sched]["fcfs"] == "first come, first served"
    row = r"^  aipu\.scan_ms = 1000 ms \(1 to 3600000\)\n      time between two scans$"
    assert re.search(row, aipu, re.M)
    assert set(re.findall(r"^  (\w+)\.\w+ ", aipu, re.M)) == {"aipu"}
    spare = r"^  wow\.spare = 1 \(0 or 1\)\n      1: groups modified again; 0: none$"
    assert re.search(spare, machine.check("policy wow"), re.M)
    assert "no tunables" in machine.check("policy lru")
    wrong = machine.run("policy nosuch")
    assert wrong.status == 1
    assert 'there is no kind and no policy "nosuch": `policy` lists them' in wrong.text
    assert machine.run("policy sched clook").status == 2
