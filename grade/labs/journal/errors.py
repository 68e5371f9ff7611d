"""Disks that fail: a read, a write or a flush ends with an error.

A commit that meets an error confirms nothing: the fsync fails. The script says which fsyncs have
not failed, by beacons, so nothing that a kernel prints counts. Then the power goes, and what was
fsynced is there, and no operation is there in part. A mount that meets an error leaves the log.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from grade.engine.assertions import Wrong, expect
from grade.engine.scenario import Run
from grade.engine.workbench import Workbench
from sluice.crash.ext2 import Reader
from sluice.crash.logwriter import Image
from sluice.crash.machine import memory_folder
from sluice.crash.oracle import History

from .judging import COMMIT, DESCRIPTOR, JOURNALLED, Judge, find_type
from .operations import (
    ON_DEMAND,
    Recording,
    iterate_names,
    parse,
    record,
    rename_operations,
    scenario,
)
from .replays import LIKE, UNMOUNT, Logged
from .workloads import fill_log

Transfer = tuple[str, int, int]  # its kind, its block, and how many flushes come before
FAILS = 2  # the transaction that meets an error
CONFIRMED = 100  # the beacon of the first fsync that has not failed
REFUSED = 1  # the status with which a machine ends that cannot mount its data disk
EARLY = 40  # an inode of the first directories that fill a log


@dataclass(frozen=True)
class Failing:
    """The transfers that fail, whatever the disk holds."""

    transfers: tuple[Transfer, ...]

    def __call__(self, _: bytes) -> Sequence[Transfer]:
        return self.transfers


def find_transfers(recording: Recording, block_bytes: int) -> dict[str, Transfer]:
    """Return transfers of the transaction FAILS by their names.

    These are the first copy's write, the last flush before the commit block's write, that write,
    and the first flush behind it. A recording lacks what the submission does not do.
    """
    found: dict[str, Transfer] = {}
    flushes = transactions = 0
    committed = False
    for event in recording.events:
        flushes += event.kind == "flush"
        kind = find_type(event) if event.kind == "write" else None
        transactions += kind == DESCRIPTOR
        if transactions != FAILS or kind == DESCRIPTOR:
            continue
        place = ("write", event.at // block_bytes, 0)
        if event.kind == "flush" and committed:
            found.setdefault("the second flush", ("flush", 0, flushes - 1))
        elif event.kind == "flush":
            found["the first flush"] = ("flush", 0, flushes - 1)
        elif kind == COMMIT:
            committed = True
            found["the commit block's write"] = place
        elif event.kind == "write" and not committed:
            found.setdefault("a copy's write", place)
    return found


def fail_commits(bench: Workbench) -> None:
    """Have the submission fsync three times on a disk that fails a transfer of the second commit.

    It does so once for each transfer that find_transfers finds in it. A submission may flush more
    often than the reference, so its own transfers are failed. Raises Wrong if more than the first
    fsync is confirmed, or the disk does not show one moment, from that fsync on.
    """
    a, b, c, d = islice(iterate_names(bench, "error names"), 4)
    operations = parse(
        f"creat /{a}; fsync /{a}; mkdir /{b}; creat /{b}/{d}; fsync /{a}; mkdir /{c}; fsync /{a}"
    )
    made = scenario("errors", operations, ON_DEMAND, like="errors")
    seen = record(bench, made, operations)
    fsyncs = [i for i, op in enumerate(operations) if op.name == "fsync"]
    rest = tuple(op for i, op in enumerate(seen.operations) if i not in fsyncs[1:])
    found = find_transfers(seen, Image(seen.run.data_image).block_bytes)
    expect("the commit block's write" in found, "a commit block in the second commit", "none")
    for name, transfer in found.items():
        machine = replace(
            made,
            name=f"error-{'-'.join(map(str, transfer))}",
            script=confirming(made.script, f"sync /data/{a}"),
            logged=False,
            flushes=False,
            cut=True,
            failing=Failing((transfer,)),
        )
        run = bench.run(machine)
        confirmed = sum(CONFIRMED + i in run.beacons for i in range(len(fsyncs)))
        said = f"{name} in the second commit fails"
        expect(confirmed == 1, f"only the first fsync to be confirmed: {said}", f"{confirmed} are")
        expect_moment(run, History(rest), len(rest), said)


def confirming(script: str, fsync: str) -> str:
    """Return a script in which each fsync that does not fail is followed by a beacon."""
    first, *parts = script.split(f"\n{fsync}\n")
    for i, part in enumerate(parts):
        first += f"\nif {fsync}\nthen\nbeacon {CONFIRMED + i}\nfi\n{part}"
    return first


def expect_moment(run: Run, history: History, returned: int, said: str) -> None:
    """Raise Wrong unless e2fsck and a replay bring a machine's disk to one moment of a history."""
    with memory_folder() as folder:
        verdict = Judge(Path(folder)).judge(run.data_image.read_bytes())
    wrong = verdict.wrong
    if verdict.tree is not None:
        wrong, _ = history.check(verdict.tree, returned, False, JOURNALLED)
    expect(not wrong, f"all that was fsynced, and each operation whole or not at all: {said}",
           "; ".join(wrong)[:600])  # fmt: skip


# ---- mounts and unmounts ----


def mount_refused(
    bench: Workbench, name: str, disk: bytes, why: str, failing: Sequence[Transfer] = ()
) -> Run:
    """Have the submission mount a disk, which must fail. Raises Wrong if it does not."""
    machine = replace(scenario(name, (), ON_DEMAND, image=disk, like=LIKE), ends=REFUSED)
    if failing:
        machine = replace(machine, logged=False, flushes=False, failing=Failing(tuple(failing)))
    try:
        run = bench.run(machine)
    except Wrong as wrong:
        raise Wrong(f"the mount to fail, because {why}", wrong.came) from None
    start, kept = (Image(path).get("start") for path in (run.folder / "data.img", run.data_image))
    expect(kept == start, f"the log to be left, because {why}", f"it begins at {kept}")
    return run


def mount_without(
    bench: Workbench, name: str, made: Logged, disk: bytes, why: str, transfer: Transfer
) -> None:
    """Have the submission mount a disk whose log has to be replayed, and which fails a transfer.

    The mount must fail, and leave a log that can be replayed elsewhere. Raises Wrong.
    """
    run = mount_refused(bench, name, disk, why, [transfer])
    expect_moment(run, History(UNMOUNT, History(made.operations)), 1, why)


# ---- checkpoints ----


@dataclass(frozen=True)
class UnwritableInodes:
    """A block of inodes cannot be written: it has the inodes of some of the first directories."""

    def __call__(self, image: bytes) -> Sequence[Transfer]:
        reader = Reader(image)
        return (("write", reader.inode_place(EARLY) // reader.block_bytes, 0),)


def fail_checkpoint(bench: Workbench) -> None:
    """Have the submission fill a short log, on a disk where a block of inodes cannot be written.

    Raises Wrong unless what was fsynced is there when the power goes.
    """
    made, operations = fill_log(bench)
    machine = replace(
        made,
        name="checkpoint-home",
        script=confirming(made.script, f"sync /data{operations[-1].words[0]}"),
        logged=False,
        flushes=False,
        cut=True,
        failing=UnwritableInodes(),
    )
    run = bench.run(machine)
    fsyncs = [i for i, op in enumerate(operations) if op.name == "fsync"]
    lost = {i for k, i in enumerate(fsyncs) if CONFIRMED + k not in run.beacons}
    rest = [op for i, op in enumerate(rename_operations(run, operations)) if i not in lost]
    why = "a block cannot be written home"
    expect(len(lost) < len(fsyncs), f"an fsync to be confirmed although {why}", "none is")
    expect_moment(run, History(rest), len(rest), why)
