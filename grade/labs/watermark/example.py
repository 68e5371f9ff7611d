"""A program makes blocks dirty: 10 a second at first, then 20, then 40, then 20 again, each for
40 s. The marks adapt each 10 s. The cache has 400 buffers."""

from grade.engine.example import format_columns
from grade.engine.scenario import Run, Scenario

from .bursts import group_by_step

RATES = (10, 20, 40, 20)
STEP_S = 10
DRAWN = 2  # blocks for each mark
LAST = 1
SCENARIO = Scenario(
    name="example",
    script="\n".join(
        [
            *(
                f"iogen rw=write filename=/data/f bs=4k rate_iops={rate} runtime_s=40 > /dev/null"
                for rate in RATES
            ),
            f"beacon {LAST}",
        ]
    ),
    args=f"write=delayed update=awol nbuf=400 awol.step_ms={STEP_S * 1000}",
    data=(("/f", "8M"),),
    varied=False,
)


def describe_run(run: Run) -> str:
    """Return how many blocks were dirty when writing began, and when it ended, in each step."""
    rows = []
    for step, burst in group_by_step(run, STEP_S * 10**9, LAST).items():
        picture = "." * (burst.low // DRAWN) + "#" * ((burst.high - burst.low) // DRAWN)
        rows.append([f"{step * STEP_S} s", burst.high, burst.low, picture])
    return format_columns(
        ["from", "high mark", "low mark", ". up to the low, # up to the high"], rows
    )
