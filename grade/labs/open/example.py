"""One reader, which reads a random block, computes for 30 ms, and so on, beside a program that
makes 300 blocks dirty at one moment. After 35 s there is a sync."""

from dataclasses import replace

from grade.engine.example import format_columns
from grade.engine.scenario import Run, Scenario

from .load import OURS, OWN

LIMITS_MS = (20, 50, 100, 500, 10**6)
BAR = 20  # reads for each mark
SCENARIO = Scenario(
    name="example",
    script="""
iogen bs=4k name=read rw=randread seed=1 filename=/data/r nr=900 thinktime_us=30000 -- \
name=burst rw=write filename=/data/w nr=300 > /dev/null &
sleep 35
beacon 1
sync
sleep 25
beacon 2
""",
    args=f"{OWN} nbuf=800",
    data=(("/r", "12M"), ("/w", "2M")),
    size="32M",
    varied=False,
)
SOLVED = replace(SCENARIO, args=f"{OURS} nbuf=800")


def describe_run(run: Run) -> str:
    """Return how many reads took how long."""
    number = run.sectors("/r")
    waits = [r.response_ms for r in run.data(write=False) if r.sector in number]
    rows, least = [], 0
    for most in LIMITS_MS:
        n = sum(least <= ms < most for ms in waits)
        words = f"{least} to {most} ms" if most < LIMITS_MS[-1] else f"{least} ms and more"
        rows.append([words, n, "#" * -(-n // BAR)])
        least = most
    writes = [w for w in run.writes_of("/w") if w.request.queued_ns > run.beacon(1)]
    return (
        format_columns(["a read took", "reads", ""], rows)
        + f"\nblocks left to the sync: {len(writes)}\n"
    )
