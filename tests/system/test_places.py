"""Place policies on each drive: a disk with a virtual log keeps its files, however many sectors and
places a track has.

On a disk with a virtual log, a place policy says where each block is written, and a map on the disk
says where it is. A place has the size of a block, 8 sectors (SLOT in C). To clean is to move blocks
so that whole tracks or segments are free.

- On the twin: each policy that places blocks on each row of drives/ that a virtual log can have.
- In the machine: on rows that are made to be awkward, on QEMU's virtio disks, whose driver takes
  few pieces in a command. RAM disks take more pieces than any command has.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import either
import pytest
from kernel_with import kernel_with
from whole import draw_for_each

from sluice.host.paths import ROOT
from sluice.system import image, virtual_log
from sluice.system.qemu import Config, Disk, Result, run_rc
from tools.exercise.drawn import count_places

POLICIES = ("eager", "range", "segments", "vld")  # each that has a place for a block
ROWS = sorted({path.stem for path in (ROOT / "drives").glob("*.c")} - {"none"})
FILES, PLACES, SUMMARIES = 60, 3000, 12  # summaries: of segments, which only one policy uses
IDLE_CLEANINGS = 10  # in a minute; a compactor that does not stop makes some 1,500

# A row of `sectors` a track and `heads`; both are prime, so that places straddle tracks everywhere.
AWKWARD = """#include "drives/row.h"

static const struct drive_model {name} = {{
    .name = "{name}",
    .about = "no drive that ever was",
    .modelled = true,
    .sectors = 200000,
    .rpm = 5413,
    .heads = {heads},
    .zones = (const struct zone[]){{{{0, 199999 / {heads} / {sectors}, {sectors}, 5, 11}}, {{}}}},
    .seek = {{NULL, 151, 1648000, 443700, 6104000, 7479}},
    .head_switch_ns = 700000,
    OVERHEADS(500000, 1000000),
    .bus_ns = 51200,
    .depth = 1,
    .segments = 1,
    .segment_sectors = 67,
    .read_ahead_sectors = 67,
}};
DRIVE({name});
"""
AWKWARD_ROWS = {  # sectors of a track, heads
    "prime": (67, 7),
    "tiny": (7, 3),  # a place is longer than a track
    "wide": (1511, 3),  # a track is longer than what is cleaned at a time
}


@dataclass(frozen=True)
class Wrong:
    """A policy that wants sectors cleaned that may not be, from `first` up to `end` (expressions in
    C), and the kernel's message about it."""

    name: str
    first: str
    end: str
    says: str = "clean named places with nothing to move"

    def text(self) -> str:
        """Return the policy's file."""
        return f"""#include "policies/lib/slots.h"
        static u64 place(const struct queue *q, const struct request *r, u64 now_ns)
        {{
            (void)now_ns;
            return q->logged ? slots_next(q) : r->sector;
        }}
        static void clean(const struct queue *q, u64 now_ns, bool idle, struct clean *what)
        {{
            (void)q, (void)now_ns, (void)idle;
            *what = (struct clean){{{self.first}, {self.end}, NEVER_NS}};
        }}
        static const struct policy {self.name} = {{
            .kind = POLICY_PLACE,
            .name = "{self.name}",
            .about = "has the wrong places cleaned",
            .place = {{.place = place, .clean = clean}},
        }};
        POLICY({self.name});
        """


UNALIGNED = "clean named sectors that are no whole places"
WRONG = (
    Wrong("odd_first", "4", "16", UNALIGNED),
    Wrong("odd_end", "8", "12", UNALIGNED),
    Wrong("backwards", "16", "8"),
    Wrong("off_disk", "q->nsectors", "q->nsectors + SLOT"),
    Wrong("far_off", "~7UL - 8", "~7UL"),
    Wrong("too_many", "8", "8 + CLEAN_SECTORS + SLOT"),
    Wrong("behind_the_log", f"{PLACES} * SLOT", f"({PLACES} + 1) * SLOT"),
)

# Copies are made and half of them removed, and the disk is idle until nothing is moved any more.
# Then each copy is compared.
SCRIPT = f"""
for i in $(seq 1 {FILES}); do cp /bin/sh /a$i; done; sync
for i in $(seq 2 3 {FILES}); do rm /a$i; done; sync
for i in $(seq 1 3 {FILES}); do cp /bin/ls /a$i; done; sync
sleep 60; grep disk. /dev/stat; echo later
sleep 60; grep disk. /dev/stat
for i in $(seq 1 3 {FILES}); do cmp /bin/ls /a$i || echo lost $i; done
for i in $(seq 3 3 {FILES}); do cmp /bin/sh /a$i || echo lost $i; done
echo compared
"""


def count_by_name(text: str) -> dict[str, int]:
    """Return the counters of disks by name."""
    return {name: int(n) for name, n in re.findall(r"^disk\.(\w+) (\d+) ", text, re.M)}


@dataclass(frozen=True)
class Logged:
    """A root disk on a virtual log, in a file."""

    path: Path

    @classmethod
    def make(cls, path: Path, script: str, beyond: int = 0) -> "Logged":
        """Make a disk whose machine runs the script. beyond: bytes of the disk behind the log."""
        content = image.Content(rc=script, size="10M", log_places=PLACES, log_summaries=SUMMARIES)
        image.make_image(path, content)
        with path.open("ab") as file:
            file.write(b"\xff" * beyond)
        return cls(path)

    def check(self) -> None:
        """Have e2fsck check the file system on it."""
        found = self.path.with_suffix(".found")
        disk = self.path.read_bytes()[: PLACES * virtual_log.PLACE]
        found.write_bytes(virtual_log.read_logical_disk(disk))
        image.check_image(found)


def args(drive: str, policy: str) -> str:
    """Return the boot arguments for a drive and a place policy."""
    return f"drive={drive} place={policy} drive_volatile=0 nbuf=64 check=1"


def judge(result: Result, disk: Logged, policy: str) -> dict[str, int]:
    """Check that no file has changed, that the file system is sound, and that cleaning has come to
    its end. Returns the counters of disks."""
    assert result.status == 0, result.console
    assert "compared" in result.console, result.console
    assert "lost" not in result.console and "wrong" not in result.console, result.console
    disk.check()
    first, then = (count_by_name(part) for part in result.console.split("later\n"))
    # A write while the disk is idle, such as that of an access time, has the policy `segments`
    # clean all segments again, so only vld is judged.
    if policy == "vld":
        assert then["cleanings"] - first["cleanings"] < IDLE_CLEANINGS, "it cleans for ever"
    assert then["moved"] + then["map_writes"] > then["cleanings"], "nothing was there to move"
    return then


@pytest.mark.native
@pytest.mark.parametrize("policy", draw_for_each(POLICIES, 5))
@pytest.mark.parametrize("drive", ROWS)
def test_no_file_changes_on_any_drive(drive: str, policy: str, tmp_path: Path) -> None:
    disk = Logged.make(tmp_path / "disk", SCRIPT)
    result = either.run_rc(Config((Disk(disk.path),), lab=True, args=args(drive, policy)))
    count = judge(result, disk, policy)
    row = (ROOT / "drives" / f"{drive}.c").read_text()
    has_tracks = ".zones =" in row and ".spares =" not in row  # tracks that are alike
    if policy == "segments" or (policy == "vld" and has_tracks):
        assert count["moved"] > 20


# How many places a log has for a file system of 8 MB and 2 % more.
NEARLY_FULL = count_places(8, 0.02, 0)
OVERWRITING = """
for i in $(seq 1 300); do
    dd if=/bin/sh of=/f bs=4k count=1 seek=$(( i * 7919 % 300 )) conv=notrunc,fsync
done
grep disk. /dev/stat
"""


@pytest.mark.native
def test_segments_of_a_log_that_is_nearly_full_are_not_cleaned_in_vain(tmp_path: Path) -> None:
    """A write takes two places, its own and the map's. For each, theory allows policy segments
    2 (1 - g) / g moves, where g is least_percent (policies/place/segments.c)."""
    content = image.Content(rc=OVERWRITING, size="8M", log_places=NEARLY_FULL, log_seed=5)
    disk = image.make_image(tmp_path / "disk", content)
    result = either.run_rc(Config((Disk(disk),), lab=True, args=args("hp97560", "segments")))
    assert result.status == 0, result.console
    count = count_by_name(result.console)
    assert 100 < count["moved"] < 2 * 2 * (1 - 0.05) / 0.05 * count["writes"]


def test_these_are_all_policies_that_place_blocks() -> None:
    texts = {path.stem: path.read_text() for path in (ROOT / "policies/place").glob("*.c")}
    assert sorted(name for name in texts if ".place = place" in texts[name]) == list(POLICIES)


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a kernel that has the awkward rows, and the policies that answer wrongly, too."""
    files = {f"policies/place/{w.name}.c": w.text() for w in WRONG} | {
        f"drives/{name}.c": AWKWARD.format(name=name, sectors=sectors, heads=heads)
        for name, (sectors, heads) in AWKWARD_ROWS.items()
    }
    return kernel_with(tmp_path_factory.mktemp("awkward"), files)


def virtio(path: Path, queue_size: int) -> Disk:
    """Return a virtio disk. A command has at most queue_size - 2 pieces, and 64 in this kernel."""
    return Disk(path, device=f"queue-size={queue_size},seg-max-adjust=on")


@pytest.mark.xdist_group("awkward")
@pytest.mark.drawn(3)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("drive", "queue_size"), [("prime", 256), ("tiny", 4), ("wide", 8)])
def test_no_file_changes_on_awkward_drives_and_virtio_disks(
    drive: str, queue_size: int, policy: str, awkward: Path, tmp_path: Path
) -> None:
    """awkward: a kernel that also has drives with odd numbers of sectors and heads. queue_size: how
    many pieces of commands the virtio disk takes at once."""
    disk = Logged.make(tmp_path / "disk", SCRIPT, beyond=1 << 20)
    machine = Config(
        (virtio(disk.path, queue_size),), lab=True, kernel=awkward, args=args(drive, policy)
    )
    count = judge(run_rc(machine), disk, policy)
    if policy == "segments" or (policy == "vld" and drive != "tiny"):
        assert count["moved"] > 20


@pytest.mark.xdist_group("awkward")
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_wrong_places_are_named_and_nothing_is_cleaned(
    wrong: Wrong, awkward: Path, tmp_path: Path
) -> None:
    disk = Logged.make(tmp_path / "disk", "cp /bin/sh /a && cmp /bin/sh /a && echo same", 1 << 20)
    arguments = args("prime", wrong.name).replace(" check=1", "")
    result = run_rc(Config((Disk(disk.path),), lab=True, kernel=awkward, args=arguments))
    assert "same" in result.console
    said = f"policy fault: place/{wrong.name}: {wrong.says}; going on with inplace"
    assert result.console.count(said) == 1, result.console
    disk.check()


# ---- other kinds ----

KINDS = ("sched", "update", "write", "replace", "prefetch", "place", "order")


def of_kind(kind: str) -> list[str]:
    """Return the names of a kind's policies."""
    return sorted(path.stem for path in (ROOT / "policies" / kind).glob("*.c"))


@pytest.mark.parametrize("queue_size", [4, 8, 256])
@pytest.mark.parametrize("kind", draw_for_each(KINDS, 3))
def test_no_policy_gives_a_virtio_disk_more_pieces_than_it_takes(
    kind: str, queue_size: int, tmp_path: Path
) -> None:
    """A piece is one buffer's memory in a virtio command. The driver panics if a command has more
    pieces than the device takes. The blocks are small and cluster_kb is large, so that commands
    are as long as they may be."""
    path = tmp_path / "disk"
    load = "cp /data /copy; sync; cmp /data /copy || echo lost; rm /copy"
    lines = [f"policy use {kind} {name} && {load} && echo {name} ended" for name in of_kind(kind)]
    data = bytes(range(256)) * 1024
    rc, options = "\n".join(lines), ("--journal", "1M")  # which order=journal needs
    content = image.Content(rc=rc, files={"/data": data}, size="8M", block="1K", options=options)
    arguments = "drive=rz58 nbuf=400 cluster_kb=1024 check=1"
    machine = Config(
        (virtio(image.make_image(path, content), queue_size),), lab=True, args=arguments
    )
    result = run_rc(machine)
    assert result.status == 0 and "lost" not in result.console, result.console
    assert re.findall(r"^(\w+) ended$", result.console, re.M) == of_kind(kind)
    image.check_image(path)
