"""A flush writes every block that it was asked for, once, and nothing else."""

from grade.engine.assertions import expect
from grade.engine.scenario import BLOCK_BYTES, Run, Scenario
from grade.engine.workbench import Workbench

from ..places import find_disk

BLOCKS = 40


def _content(bench: Workbench, name: str) -> bytes:
    """Blocks that nobody can guess."""
    rng = bench.random(name)
    return b"".join(
        f"{name} {i} {bench.nonce} ".encode().ljust(64, b".") + rng.randbytes(BLOCK_BYTES - 64)
        for i in range(BLOCKS)
    )


def _run(bench: Workbench) -> Run:
    """Two files become dirty; one is fsynced, then everything is synced."""
    return bench.run(
        Scenario(
            name="which",
            script="""
dd if=/a of=/data/a bs=4k conv=notrunc 2> /dev/null
dd if=/b of=/data/b bs=4k conv=notrunc 2> /dev/null
beacon 1
sync /data/b
beacon 2
sync
beacon 3
dd if=/a of=/other bs=4k 2> /dev/null
dd if=/b of=/data/b bs=4k conv=notrunc 2> /dev/null
beacon 4
umount /data
beacon 5
""",
            args="write=delayed update=none nbuf=1000",
            files=(("/a", _content(bench, "a")), ("/b", _content(bench, "b"))),
            data=(("/a", "160K"), ("/b", "160K")),
            disk=find_disk(bench, "which"),
        )
    )


def _expect_each_once(run: Run, path: str, first: int, last: int, what: str) -> None:
    """Expect that each block of a file is written exactly once between two beacons. what: the call
    that writes them, in words."""
    writes = run.writes_of(path, run.beacon(first), run.beacon(last))
    blocks = [write.block for write in writes]
    missing = sorted(set(range(BLOCKS)) - set(blocks))
    twice = sorted({block for block in blocks if blocks.count(block) > 1})
    expect(not missing, f"{what} to write all {BLOCKS} blocks of {path}", f"not {missing}")
    again = [write for write in writes if write.block in twice]
    came = f"it wrote blocks {twice} more than once"
    run.expect(not twice, f"{what} to write each block once", came, again[-1] if again else None)


def fsync_writes_the_files_blocks(bench: Workbench) -> None:
    """Two files have dirty blocks, and one of them is fsynced."""
    _expect_each_once(_run(bench), "/b", 1, 2, "fsync of /b")


def fsync_leaves_other_files_alone(bench: Workbench) -> None:
    """The other file's blocks stay dirty until sync."""
    run = _run(bench)
    others = run.writes_of("/a", end_ns=run.beacon(2))
    came = f"it wrote {len(others)} of them, the first block {others[0].block}" if others else ""
    first = others[0] if others else None
    run.expect(not others, "fsync of /b to write no block of /a", came, first)
    _expect_each_once(run, "/b", 1, 2, "fsync of /b")


def sync_writes_all_the_rest(bench: Workbench) -> None:
    """After the fsync, sync writes the other file's blocks."""
    _expect_each_once(_run(bench), "/a", 2, 3, "sync")


def the_disk_holds_what_was_written(bench: Workbench) -> None:
    """At the end both files have their contents, read from the image, and a flush wrote them."""
    run = _run(bench)
    for name in "ab":
        wanted, came = _content(bench, name), run.contents(f"/{name}")
        bad = [i for i in range(BLOCKS) if _block(wanted, i) != _block(came, i)]
        expect(not bad, f"/{name} to have what was written to it", f"blocks {bad} have not")
    _expect_each_once(run, "/a", 2, 3, "sync")


def _block(data: bytes, i: int) -> bytes:
    return data[i * BLOCK_BYTES : (i + 1) * BLOCK_BYTES]


def a_flush_of_one_disk_leaves_others_alone(bench: Workbench) -> None:
    """Blocks of two disks are dirty, and one of the disks is unmounted, which flushes it."""
    run = _run(bench)
    _expect_each_once(run, "/b", 4, 5, "umount")
    root = run.scenario.setting.root
    between = (run.beacon(4), run.beacon(5))
    writes = [r for r in run.requests if r.write and between[0] <= r.queued_ns < between[1]]
    others = [r for r in writes if r.disk == root]
    came, first = f"it wrote {len(others)}", others[0] if others else None
    run.expect(not others, "umount to write no block of the root disk", came, first)


def fsync_reports_its_writes(bench: Workbench) -> None:
    """The event `flush` of the fsync has as many blocks as it wrote."""
    run = _run(bench)
    start_ns, end_ns = run.beacon(1), run.beacon(2)
    writes = run.writes_of("/b", start_ns, end_ns)
    events = (e for e in run.events if e.name == "flush" and start_ns <= e.time_ns < end_ns)
    came = [e.argument for e in events]
    wanted = f"one report to bio_burst, of {len(writes)} writes"
    expect(came == [len(writes)], wanted, f"reports of {came}")
