"""A program makes 20 blocks dirty at one moment, under LDCL with an age of 10 s, a threshold of 4
blocks and a range of 6 s. After 13 s there is a sync."""

from collections import Counter

from grade.engine.example import format_columns
from grade.engine.scenario import Run, Scenario

from .writes import dirtyings

SCENARIO = Scenario(
    name="example",
    script="""
iogen rw=write filename=/data/f bs=4k number_ios=20 > /dev/null
beacon 1
sleep 13
beacon 2
sync
beacon 3
""",
    args="write=delayed update=ldcl nbuf=1000 ldcl.age_s=10 ldcl.threshold=4 ldcl.range_s=6",
    data=(("/f", "80K"),),
    varied=False,
)


def describe_run(run: Run) -> str:
    """Return how many blocks were written in each second after they had become dirty."""
    found = dirtyings(run, "/f", run.beacon(1), run.beacon(3))
    by_sync = [one.write.request.queued_ns >= run.beacon(2) for one in found]
    ages = Counter(int(one.age_s) for one, late in zip(found, by_sync, strict=True) if not late)
    left = sum(by_sync)
    rows = [[f"{age} s", ages[age], "#" * ages[age]] for age in range(11)]
    return format_columns(["age", "blocks written", ""], [*rows, ["sync", left, "#" * left]])
