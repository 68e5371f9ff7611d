"""A program reads a file of six blocks from its beginning to its end. After each block it computes
for 20 ms."""

from grade.engine.example import format_columns
from grade.engine.scenario import BLOCK_SECTORS, Run, Scenario

SCENARIO = Scenario(
    name="example",
    script="""
beacon 1
iogen rw=read filename=/data/f bs=4k nr=6 thinktime_us=20000 > /dev/null
beacon 2
""",
    args="update=none prefetch=oneblock nbuf=1000",
    data=(("/f", "24K"),),
    varied=False,
)
WORDS = {
    "miss": "the program wants it, and must wait",
    "hit": "the program wants it, and it is there",
    "ahead": "the policy asks for it",
    "completed": "the disk has read it",
}


def describe_run(run: Run) -> str:
    """Return what happens to each block, in order, with the time since the program began."""
    number = run.sectors("/f")
    rows = []
    for event in run.events:
        block = number.get(
            event.block if event.name == "completed" else event.block * BLOCK_SECTORS
        )
        here = event.disk == run.data_disk and run.beacon(1) < event.time_ns < run.beacon(2)
        if here and block is not None and event.name in WORDS:
            rows.append([f"block {block}", WORDS[event.name]])
    return format_columns(["", "what happens"], rows)
