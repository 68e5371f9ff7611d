"""A program writes 8 KB into a file of two blocks, 1 KB at a time. Then there is a sync."""

from grade.engine.example import format_columns
from grade.engine.scenario import BLOCK_SECTORS, Run, Scenario

SCENARIO = Scenario(
    name="example",
    script="""
beacon 1
dd if=/input of=/data/f bs=1k count=8 conv=notrunc 2> /dev/null
beacon 2
sync
beacon 3
""",
    args="write=delayed update=none nbuf=1000",
    files=(("/input", bytes(8192)),),
    data=(("/f", "8K"),),
    varied=False,
)
MOMENTS = {1: "the program begins", 2: "the program has ended; sync begins", 3: "sync has returned"}
WORDS = {
    ("dirtied", False): "becomes dirty",
    ("absorbed", False): "is changed again: absorbed",
    ("queued", True): "its write is queued",
    ("completed", True): "the disk has it",
}


def describe_run(run: Run) -> str:
    """Return what happens to the two blocks, in order."""
    number = run.sectors("/f")
    rows = []
    moments = {ns: MOMENTS[beacon] for beacon, ns in run.beacons.items() if beacon in MOMENTS}
    for event in run.events:
        if event.time_ns in moments:
            rows.append(["", moments.pop(event.time_ns)])
        in_sectors = event.name in ("queued", "completed")
        block = number.get(event.block if in_sectors else event.block * BLOCK_SECTORS)
        words = WORDS.get((event.name, event.write))
        if words and block is not None and event.disk == run.data_disk:
            rows.append([f"block {block}", words])
    return format_columns(["", "what happens"], rows)
