"""After a power cut e2fsck repairs the disk by itself, and what was fsynced is there.

In the first tests the machine is killed. In the test of mail, QEMU logs the writes and flushes of a
disk in their order (the format of "dm-log-writes" in the documentation of Linux: a superblock, then
entries, each a sector and its data). From the log the test makes the disk as a power cut at any
moment could leave it. The last tests hold the book's figures to what its own commands show.
"""

import random
import re
import shlex
import struct
from itertools import pairwise
from pathlib import Path

import pytest
from compiled import NUMBER, made_by_that_of_texts
from conftest import MakeImage

from sluice.host.paths import ROOT
from sluice.system import image
from sluice.system import one_boot as run
from sluice.system.qemu import Config, Disk, Machine, run_rc

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
    """Return commands that write files one by one with fsync and print each, while other files are
    made, moved and removed."""
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
    """The machine is killed after the line about the file number `last`. All files up to this one
    are whole, after e2fsck -p has repaired the disk without a question (status 0 or 1)."""
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
    repaired = image.run_command("e2fsck", "-fp", path, check=False)
    assert repaired.returncode in (0, 1), repaired.stdout.decode()
    image.check_image(path)
    for i in range(last + 1):
        assert image.read_file(path, f"/kept/{i}") == data, f"file {i} of {last}"


def updates(machine: Machine) -> int:
    """Return how many times the periodic update has written everything."""
    return int(machine.check("grep '^pu.updates' /dev/stat").split()[1])


def test_what_is_older_than_two_updates_survives_a_power_cut(make_image: MakeImage) -> None:
    """Each periodic update writes all that is dirty at its beginning. The first of the two may have
    begun before the copy was made."""
    path = make_image(damaged=True)
    args = "pu.interval_ms=100 write=delayed"
    with Machine(Config((Disk(path),), args=args)) as machine:
        machine.wait_prompt()
        machine.check("mkdir /d && cp /bin/sh /d/copy")
        written = updates(machine) + 2
        while updates(machine) < written:
            pass
        machine.kill()
    repaired = image.run_command("e2fsck", "-fp", path, check=False)
    assert repaired.returncode in (0, 1), repaired.stdout.decode()
    assert image.read_file(path, "/d/copy") == image.read_file(path, "/bin/sh")


SECTOR = 512
ENTRY = struct.Struct("<QQQQ")  # sector, sectors, flags, bytes of data
FLUSH = 1  # of the flags
MESSAGES = 12
MESSAGE = bytes(i % 249 for i in range(6000))
CUTS = 150
# so long that entries of a directory lie across two sectors
LONG = "a-name-of-which-few-are-in-a-sector-" * 3


def mail() -> str:
    """Return commands by which messages arrive, as in a mail directory: each is written, fsynced
    and renamed from tmp to new. From the sixth on, an old one is removed each time."""
    lines = ["mkdir /mail", "mkdir /mail/tmp", "mkdir /mail/new"]
    for i in range(MESSAGES):
        lines.append(f"dd if=/msg of=/mail/tmp/{LONG}{i} bs=16k conv=fsync 2> /dev/null")
        lines.append(f"mv /mail/tmp/{LONG}{i} /mail/new/{LONG}{i}")
        if i >= MESSAGES // 2:
            lines.append(f"rm /mail/new/{LONG}{i - MESSAGES // 2}")
    return "\n".join([*lines, "echo finished .", "poweroff"])


def entries(log: Path) -> list[tuple[int, bytes] | None]:
    """Return the writes in a log, each its place in bytes and its data; None is a flush."""
    data, at, found = log.read_bytes(), SECTOR, []
    while at + ENTRY.size <= len(data):
        sector, sectors, flags, _ = ENTRY.unpack_from(data, at)
        at += SECTOR
        if sectors:
            found.append((sector * SECTOR, data[at : at + sectors * SECTOR]))
            at += sectors * SECTOR
        if flags & FLUSH:
            found.append(None)
    return found


def cut(before: bytes, log: list[tuple[int, bytes] | None], n: int, rng: random.Random) -> bytes:
    """Return the disk after a power cut that came after n entries of the log. An entry is a write,
    (place in bytes, data), or None for a flush. All writes before the last flush are on the disk.
    Of those since, each may be there, whole or in part; rng draws which."""
    flushed = max((i for i in range(n) if log[i] is None), default=0)
    disk = bytearray(before)
    for i, write in enumerate(log[:n]):
        if write:
            start, data = write
            count = len(data) // SECTOR
            for sector in range(count) if i < flushed else list_written(count, rng):
                at = sector * SECTOR
                disk[start + at : start + at + SECTOR] = data[at : at + SECTOR]
    return bytes(disk)


def list_written(count: int, rng: random.Random) -> list[int]:
    """Return the sectors of a write that are on the platters: none, all, the first ones, as a drive
    writes in ascending order, or any, as a drive may begin anywhere on a track."""
    choices = [[], range(count), range(rng.randrange(count + 1))]
    choices.append([sector for sector in range(count) if rng.random() < 0.5])
    return list(rng.choice(choices))


def names(path: Path, folder: str) -> set[int]:
    """Return the messages in a folder of the disk."""
    lines = image.debugfs(path, f"ls -p {folder}").splitlines()
    rows = [line.split("/") for line in lines if line.count("/") > 5]
    found = [row[5].removeprefix(LONG) for row in rows if row[1] != "0"]
    return {int(name) for name in found if name.isdigit()}


def test_mail_survives_a_power_cut_of_a_drive_with_a_volatile_cache(
    make_image: MakeImage, tmp_path: Path
) -> None:
    """Messages arrive one after the other. So if a message is there after a cut, all before it had
    been fsynced and renamed: each is whole in new, unless it is one of the old ones, which may have
    been removed."""
    path = make_image(damaged=True, files={"/msg": MESSAGE}, rc=mail(), size="4M")
    before, log = path.read_bytes(), tmp_path / "log"
    log.write_bytes(b"")
    files = f"file.driver=file,file.filename={path},log.driver=file,log.filename={log}"
    disk = Disk(drive=f"driver=blklogwrites,{files}", cache="writeback")
    args = "drive=cheetah4lp drive_volatile=1 write=delayed"
    with Machine(Config((disk,), args=args, lab=True)) as machine:
        machine.expect(r"^finished \.")
    done, rng = entries(log), random.Random(1)
    assert sum(entry is None for entry in done) > 5 * MESSAGES  # flushes
    arrived = 0  # messages, over all cuts: the cuts must not all be early ones
    for n in rng.sample(range(len(done)), CUTS):
        path.write_bytes(cut(before, done, n, rng))
        repaired = image.run_command("e2fsck", "-fp", path, check=False)
        assert repaired.returncode in (0, 1), f"cut {n}: {repaired.stdout.decode()}"
        new = names(path, "/mail/new")
        last = max(new | names(path, "/mail/tmp") | {0})
        for i in range(last):
            if i in new:
                assert image.read_file(path, f"/mail/new/{LONG}{i}") == MESSAGE, f"cut {n}: {i}"
            else:
                assert i <= last - MESSAGES // 2, f"cut {n}: {i} of {last}"
        arrived += last
    assert arrived > CUTS


# ---- what flushes and careful renames cost ----

PAGE = ROOT / "book/pages/inside/ext2.md"
MAILED = 60  # messages, by the page's command
SIZES = (1500, 6000, 12000)  # of a message, in bytes


PADS = ("", "dd if=/bin/sh of=/pad bs=4k count=3; ")  # commands that the book's page does before


def page_command(part: str) -> dict[str, str]:
    """Return ARGS and DO: the boot arguments and commands of the page's `sluice run` with this
    part."""
    lines = PAGE.read_text().splitlines()
    line = next(line for line in lines if line.startswith("sluice run ") and part in line)
    _, _, commands, _, args = shlex.split(line)
    return {"ARGS": args, "DO": commands}


def uptimes(args: str, commands: str, folder: Path) -> list[float]:
    """Return what `uptime` printed, in seconds."""
    console = run_rc(run.config(args, commands, 64, "128M", folder)).console
    return [float(s) for s in re.findall(r"up 00:00:(\d+\.\d+)", console)]


def ms_for_each(volatile: int, size: int, pad: str, folder: Path) -> float:
    """Return the ms of virtual time that the page's command takes for a message of this size.
    volatile: whether the drive's cache loses its contents without power, so flushes are needed."""
    given = page_command("drive_volatile=1")
    args = given["ARGS"].replace("drive_volatile=1", f"drive_volatile={volatile}")
    assert PADS[1].strip() in PAGE.read_text()
    commands = pad + given["DO"].replace("head -c 6000", f"head -c {size}")
    folder.mkdir()
    began, ended = uptimes(args, commands, folder)
    return (ended - began) / MAILED * 1000


def expect_in(text: str, sentence: str) -> None:
    """Expect a sentence in the text. If the programs were made by another compiler than the text's
    were, they lie elsewhere on the disk. Then each figure may differ by a tenth."""
    if sentence in text:
        return
    assert not made_by_that_of_texts(), sentence
    words = re.escape(sentence).replace(r"\.", ".")
    said = re.search(NUMBER.sub(lambda _: f"({NUMBER.pattern})", words), text)
    assert said, sentence
    found = [float(n) for n in NUMBER.findall(sentence)]
    assert found == pytest.approx([float(n) for n in said.groups()], rel=0.1), sentence


def test_the_documents_say_what_flushes_cost(tmp_path: Path) -> None:
    """For each size of messages, the page's command is timed with and without flushes. The page and
    the decision must have the least and the greatest time, and by how many percent they differ."""
    text, shares = PAGE.read_text(), []
    for pad in PADS:
        without, with_ = (
            [ms_for_each(volatile, n, pad, tmp_path / f"{len(pad)}-{volatile}-{n}") for n in SIZES]
            for volatile in (0, 1)
        )
        more = [100 * (b / a - 1) for a, b in zip(without, with_, strict=True)]
        ends = sorted({f"{min(more):.0f}", f"{max(more):.0f}"})
        shares.append(" to ".join(ends) + " %")
        if not pad:
            range_ = f"{min(without):.1f} to {max(without):.1f} ms"
            expect_in(text, f"takes {range_} of virtual time")
            expect_in(text, f"it takes {min(with_):.1f} to {max(with_):.1f} ms, {shares[0]} more")
    decision = (ROOT / "book/pages/decisions/ext2.md").read_text()
    expect_in(" ".join(decision.split()), f"takes {shares[0]} longer")
    expect_in(text, f"the three sizes take {shares[1]} more")


def test_the_page_says_what_a_rename_costs_whose_names_lie_in_two_sectors(tmp_path: Path) -> None:
    given = page_command("mv $n$i")
    at = uptimes(given["ARGS"], given["DO"], tmp_path)
    near, far = ((b - a) * 1000 / 10 for a, b in pairwise(at))  # ten of each
    says = f"takes {near:.1f} ms of virtual time, and {far:.1f} ms if it lies in another one"
    expect_in(PAGE.read_text(), says)
