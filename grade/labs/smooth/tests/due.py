"""A block is written when it has been dirty for the age that was asked for: no sooner, and under
AIPU within one scan after it."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import BLOCK_BYTES, Run, Scenario
from grade.scoring.workbench import Workbench

BLOCKS = 12
SLACK_MS = 50

SMOOTHSYNC = Scenario(
    name="due-smoothsync",
    script="""
dd if=/input of=/data/old bs=4k conv=notrunc 2> /dev/null
sleep 6
dd if=/input of=/data/young bs=4k conv=notrunc 2> /dev/null
beacon 1
update 5
beacon 2
sleep 3
beacon 3
""",
    args="write=delayed update=none nbuf=1000",
    files=(("/input", bytes(10 * BLOCK_BYTES)),),
    data=(("/old", "40K"), ("/young", "40K")),
)


def _settings(bench: Workbench) -> tuple[int, int]:
    """Age and time between scans, in ms."""
    rng = bench.random("settings")
    return rng.randrange(3000, 6000), rng.randrange(300, 700)


def _run(bench: Workbench) -> Run:
    """Blocks become dirty one by one, with a beacon before each and after the last."""
    age_ms, scan_ms = _settings(bench)
    rng = bench.random("pauses")
    lines = []
    for block in range(BLOCKS):
        lines.append(f"beacon {block + 1}")
        lines.append(f"dd if=/input of=/data/f bs=4k count=1 seek={block} conv=notrunc 2>/dev/null")
        lines.append(f"sleep 0.{rng.randrange(1, 10)}")
    lines += [f"beacon {BLOCKS + 1}", f"sleep {(age_ms + scan_ms) // 1000 + 2}", "beacon 100"]
    return bench.run(
        Scenario(
            name="due-aipu",
            script="\n".join(lines),
            args=f"write=delayed update=aipu nbuf=1000 aipu.age_ms={age_ms} aipu.scan_ms={scan_ms}",
            files=(("/input", bytes(BLOCK_BYTES)),),
            data=(("/f", "1M"),),
        )
    )


def _written_ms(run: Run) -> dict[int, float]:
    """The time at which each block's first write was queued."""
    writes = run.writes_of("/f", end_ns=run.beacon(100))
    return {w.block: w.request.queued_ns / 1e6 for w in reversed(writes)}


def no_block_goes_before_its_age(bench: Workbench) -> None:
    """Under AIPU each of 12 blocks is at least age_ms old when its write is queued."""
    run, (age_ms, scan_ms) = _run(bench), _settings(bench)
    written_ms = _written_ms(run)
    expect(bool(written_ms), "the blocks to be written", "none was written")
    for block, when_ms in written_ms.items():
        dirtied_ms = run.beacon(block + 1) / 1e6
        expect(
            when_ms >= dirtied_ms + age_ms,
            f"block {block}, dirtied after {dirtied_ms:.0f} ms, to stay until "
            f"{dirtied_ms + age_ms:.0f} ms (aipu.age_ms={age_ms} aipu.scan_ms={scan_ms})",
            f"its write was queued at {when_ms:.0f} ms",
        )


def each_block_goes_within_one_scan_of_its_age(bench: Workbench) -> None:
    """Under AIPU each of 12 blocks is queued by the next scan after it is age_ms old."""
    run, (age_ms, scan_ms) = _run(bench), _settings(bench)
    written_ms = _written_ms(run)
    for block in range(BLOCKS):
        last_ms = run.beacon(block + 2) / 1e6 + age_ms + scan_ms + SLACK_MS
        expect(
            written_ms.get(block, last_ms + 1) <= last_ms,
            f"the write of block {block} to be queued by {last_ms:.0f} ms "
            f"(aipu.age_ms={age_ms} aipu.scan_ms={scan_ms})",
            f"{written_ms[block]:.0f} ms" if block in written_ms else "it was never queued",
        )


def smoothsync_writes_the_old_and_leaves_the_young(bench: Workbench) -> None:
    """smoothsync with an age of 5 s; one file has been dirty for 6 s, another just became dirty."""
    run = bench.run(SMOOTHSYNC)
    old = run.writes_of("/old", run.beacon(1), run.beacon(2))
    expect(
        len(old) == 10, "the 10 blocks that are 6 s old to be queued", f"{len(old)} of them were"
    )
    young = run.writes_of("/young", end_ns=run.beacon(3))
    expect(not young, "the younger blocks not to be queued", f"{len(young)} of them were")
