"""Check what a kernel reads of a log at its start, and where it then finds the blocks."""

from collections.abc import Iterator
from itertools import takewhile

from grade.engine import log_disk
from grade.engine.assertions import Wrong, expect
from grade.engine.log_disk import SECTORS, Command
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench
from sluice.system.virtual_log import DamagedLogError, Log

from .choices import follow_commands
from .disks import DRIVE, READ, Grown, files, machine, nslots

BLOCKS = (480, 540)  # all files have from 480 to 539 blocks


def reader(bench: Workbench, name: str, tail: bool = True, drive: str = DRIVE) -> Scenario:
    """Return a machine that reads the files of a disk that was written for some time."""
    rng = bench.random(name)
    lay = Grown(drive, rng.random(), tail)
    return machine(name, drive, lay, READ, **files(rng, rng.randrange(*BLOCKS)))


def start(run: Run) -> Iterator[Command]:
    """Iterate over the reads with which the kernel opens a log, until its tail is clear."""
    commands = run.commands
    return takewhile(lambda c: c.kind is log_disk.Kind.RAW and not c.write, commands)


def read_log(run: Run, disk: str = "data.img") -> Log:
    """Return the log on the disk with which a run starts.

    Raises Wrong if an earlier run has broken it.
    """
    try:
        return Log.read_log((run.folder / disk).read_bytes())
    except DamagedLogError as error:
        raise Wrong("a log that can be found after a power cut", str(error)) from None


def expect_walk(run: Run) -> None:
    """Raise Wrong unless the last reads of the start are the map's sectors that count."""
    image = (run.folder / "data.img").read_bytes()
    count = {slot * SECTORS: piece for piece, (_, slot) in read_log(run).at.items()}
    scanned = not any(image[512:1024])
    first = 2 + (nslots(run.scenario.setting.drives[run.data_disk]) - 1 if scanned else 0)
    seen = set()
    for command in list(start(run))[first:]:
        event = run.events[command.number]
        run.expect(
            command.sector in count,
            "only sectors of the map that count to be read",
            f"sector {command.sector} is none of them",
            event,
        )
        run.expect(
            command.sector not in seen,
            "each sector of the map to be read once",
            f"that of piece {count[command.sector]}, sector {command.sector}, was read again",
            event,
        )
        seen.add(command.sector)
    left = sorted(piece for sector, piece in count.items() if sector not in seen)
    came = f"those of pieces {', '.join(map(str, left))} were not"
    expect(not left, f"all {len(count)} sectors of the map that count to be read", came)


def expect_places(run: Run) -> None:
    """Raise Wrong unless each block is read from where it is."""
    log, read = read_log(run), set()
    for c in follow_commands(log, run.commands):
        if c.write or c.kind not in (log_disk.Kind.DATA, log_disk.Kind.NOTHING):
            continue
        at = log.map.get(c.block)
        read.add(c.block)
        slot, taken_for_unwritten = c.sector // SECTORS, c.kind is log_disk.Kind.NOTHING
        came = f"it was read from slot {slot}"
        if taken_for_unwritten:
            came = "it was taken for a block that was never written"
        if at:
            right, wanted = slot == at, f"block {c.block} to be read from slot {at}"
        else:
            right, wanted = taken_for_unwritten, f"no read for block {c.block}"
        run.expect(right, wanted, came, run.events[c.number])
    run.beacon(2)
    expect(len(read) >= BLOCKS[0], f"at least {BLOCKS[0]} blocks to be read", f"{len(read)}")


def expect_kept(run: Run) -> None:
    """Raise Wrong unless the disk has every write that was done before the power cut."""
    log, there = read_log(run), read_log(run, "data.after.img").map
    commands = run.commands
    cut = [c for c in commands if c.write and not c.done_ns]  # the cut came before its end
    # To follow the commands brings `log` to the state that it must have after the cut.
    for _ in follow_commands(log, [c for c in commands if c not in cut]):
        pass
    writes = [c for c in commands if c.write and c.kind is log_disk.Kind.DATA]
    last = {c.block: c for c in writes}
    for block, slot in log.map.items():
        if there.get(block) == slot or (cut and block == writes[-1].block):
            continue
        at = f"slot {there[block]}" if block in there else "no slot"
        run.expect(
            False,
            f"the disk to tell after the power cut that block {block} is in place {slot}",
            f"it tells of {at}",
            run.events[last[block].number] if block in last else None,
        )
