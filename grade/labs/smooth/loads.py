"""Make the loads of several groups, a machine each."""

from grade.engine.counters import store_counters
from grade.engine.scenario import BLOCK_BYTES, BLOCK_SECTORS, Run, Scenario, Write
from grade.engine.workbench import Workbench

# Of `ages`: each of BLOCKS blocks becomes dirty after the beacon of its number, the first after 1.
BLOCKS = 12
STEADY, ORDER, BURST, DONE = 40, 50, 60, 70  # beacons: each begins a load
ORDERED = 24
LATE_AGE_MS, LATE_SCAN_MS = 4000, 8000  # from ORDER on
SLACK_MS = 500  # a scan that starts many writes may take so long
QUEUED = 150  # blocks that are due at one time
# Of `smoothsync`: beacons around the calls, and the ends of the waits after them.
OLD, CALLED, WAITED, ALL, RETURNED, END = 1, 2, 3, 10, 11, 20
STARTED = "/started"  # what the last call returned


def settings(bench: Workbench) -> tuple[int, int]:
    """Return the age and the time between scans in `ages` until ORDER, in ms."""
    rng = bench.random("settings")
    return rng.randrange(3000, 6000), rng.randrange(300, 700)


def order(bench: Workbench) -> list[int]:
    """Return the order in which the blocks of /o become dirty."""
    return bench.random("order").sample(range(ORDERED), ORDERED)


def ages(bench: Workbench) -> Scenario:
    """Return the load for AIPU.

    Blocks become dirty one by one, then steadily, then in a random order and in a burst.
    """
    age_ms, scan_ms = settings(bench)
    rng = bench.random("pauses")
    block = "dd if=/input of=/data/{} bs=4k count=1 seek={} conv=notrunc 2> /dev/null"
    all_due_s = (age_ms + scan_ms) // 1000 + 2
    script = [store_counters(90)]
    for number in range(BLOCKS):
        script += [f"beacon {number + 1}", block.format("f", number)]
        script += [f"sleep 0.{rng.randrange(1, 10)}"]
    script += [
        f"beacon {BLOCKS + 1}",
        f"beacon {STEADY}",
        "iogen rw=write filename=/data/s bs=4k rate_iops=50 runtime_s=5 > /dev/null",
        f"sleep {all_due_s}",
        f"policy set aipu.age_ms {LATE_AGE_MS}",
        f"policy set aipu.scan_ms {LATE_SCAN_MS}",
        f"beacon {ORDER}",
        *(block.format("o", number) for number in order(bench)),
        "sleep 16",
        f"beacon {BURST}",
        f"iogen rw=write filename=/data/b bs=4k number_ios={QUEUED} > /dev/null",
        "sleep 20",
        f"beacon {DONE}",
        store_counters(92),
    ]
    return Scenario(
        name="ages",
        script="\n".join(script),
        args=f"write=delayed update=aipu nbuf=1000 aipu.age_ms={age_ms} aipu.scan_ms={scan_ms}",
        files=(("/input", bytes(BLOCK_BYTES)),),
        data=(("/f", "1M"), ("/s", "2M"), ("/o", "1M"), ("/b", "1M")),
    )


def expect_due(
    run: Run,
    path: str,
    writes: list[Write],
    age_ms: int = LATE_AGE_MS,
    scan_ms: int = LATE_SCAN_MS,
) -> None:
    """Raise Wrong unless these writes are of blocks as old as they must be, and not much older.

    They are writes of a file, in `ages` after ORDER. The group `due` checks which scan finds each
    block.
    """
    number, dirtied_ns = run.sectors(path), {}
    for event in run.events:
        block = number.get(event.block * BLOCK_SECTORS)
        if event.name == "dirtied" and event.disk == run.data_disk and block is not None:
            dirtied_ns[block] = event.time_ns  # each becomes dirty once
    for write in writes:
        came_ms = (write.request.queued_ns - dirtied_ns[write.block]) / 1e6
        run.expect(
            age_ms <= came_ms <= age_ms + 2 * scan_ms + SLACK_MS,
            f"block {write.block} of {path} to be queued by a scan that finds it {age_ms} ms old "
            f"(aipu.scan_ms={scan_ms})",
            f"it was queued when it was {came_ms:.0f} ms old",
            write,
        )


SMOOTHSYNC = Scenario(
    name="smoothsync",
    script=f"""
dd if=/input of=/data/old bs=4k conv=notrunc 2> /dev/null
update
sleep 3
dd if=/input of=/data/old bs=4k conv=notrunc 2> /dev/null
sleep 6
dd if=/input of=/data/young bs=4k conv=notrunc 2> /dev/null
beacon {OLD}
update 5
beacon {CALLED}
sleep 3
beacon {WAITED}
sync
{store_counters(5)}
iogen rw=write filename=/data/f bs=4k number_ios={QUEUED} > /dev/null
beacon {ALL}
started=$(smoothsync)
beacon {RETURNED}
sleep 8
{store_counters(END)}
echo $started > /data{STARTED}
""",
    args="write=delayed update=none nbuf=1000",
    programs=("smoothsync",),
    files=(("/input", bytes(10 * BLOCK_BYTES)),),
    data=(("/old", "40K"), ("/young", "40K"), ("/f", "1M")),
)

MARKS = Scenario(
    name="most",
    script="""
iogen rw=write filename=/data/f bs=4k rate_iops=60 runtime_s=8 > /dev/null
beacon 1
""",
    args="write=delayed update=linux nbuf=1000 linux.background_percent=12 linux.chunk=60"
    " linux.expire_ms=3600000",
    data=(("/f", "4M"),),
)
