"""Eight blocks of a file become dirty, one each 0.6 s. AIPU looks each half second for what has
been dirty for 2 s. At the end there is a sync."""

from grade.engine.example import format_columns
from grade.engine.scenario import BLOCK_BYTES, BLOCK_SECTORS, Run, Scenario

BLOCKS = 8
DD = "dd if=/input of=/data/f bs=4k count=1 conv=notrunc 2> /dev/null"
SCENARIO = Scenario(
    name="example",
    script="\n".join(
        [
            *(f"{DD} seek={block}\nsleep 0.6" for block in range(BLOCKS)),
            "sleep 3",
            "beacon 1",
            "sync",
        ]
    ),
    args="write=delayed update=aipu aipu.age_ms=2000 aipu.scan_ms=500 nbuf=1000",
    files=(("/input", bytes(BLOCK_BYTES)),),
    data=(("/f", "64K"),),
    varied=False,
)


def describe_run(run: Run) -> str:
    """Return when each block became dirty, and when its write was queued."""
    number = run.sectors("/f")
    dirtied_ns = {
        number[event.block * BLOCK_SECTORS]: event.time_ns
        for event in run.events
        if event.name == "dirtied" and event.block * BLOCK_SECTORS in number
    }
    rows, began_ns = [], min(dirtied_ns.values())
    for write in run.writes_of("/f"):
        queued_ns, since_ns = write.request.queued_ns, dirtied_ns[write.block]
        by = "the sync" if queued_ns > run.beacon(1) else "AIPU"
        times = (since_ns - began_ns, queued_ns - began_ns, queued_ns - since_ns)
        rows.append([write.block, *(f"{ns / 1e9:.1f}" for ns in times), by])
    return format_columns(["block", "dirty at, s", "written at, s", "age then, s", "by"], rows)
