"""Loads in which a reader and a writer compete for the cache."""

from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

STEP_MS = 4000
FAST = ("rz58", "lps540s", "st31230n")  # drives that are fast enough for both
WARM, DONE = 1, 2  # beacons


def args(policy: str, more: str = "") -> str:
    """Boot arguments. The high mark begins at its most, so that only the ghosts lower it."""
    tunables = f"{policy}.step_ms={STEP_MS} {policy}.age_ms=60000 {policy}.high_percent=40"
    return f"write=delayed update={policy} nbuf=1000 {tunables} {more}"


def scenario(bench: Workbench, name: str, set_args: str, seconds: int = 32) -> Scenario:
    """A reader of nearly as many random blocks as fit into the cache, beside a steady writer."""
    seed = bench.random("readers").randrange(1, 10**9)
    return Scenario(
        name=name,
        script=f"""
iogen bs=4k rw=read filename=/data/r number_ios=900 > /dev/null
beacon {WARM}
iogen bs=4k seed={seed} name=r rw=randread filename=/data/r rate_iops=60 runtime_s={seconds} -- \
name=w rw=write filename=/data/w rate_iops=30 until=r > /dev/null
beacon {DONE}
""",
        args=set_args,
        data=(("/r", "3600K"), ("/w", "8M")),
        like="readers",
        drives=FAST,
    )


def late_writer(bench: Workbench, name: str, set_args: str) -> Scenario:
    """A reader of random blocks that are all cached; a writer starts later."""
    seed = bench.random("late").randrange(1, 10**9)
    read = f"bs=4k seed={seed} name=r rw=randread filename=/data/r rate_iops=60"
    return Scenario(
        name=name,
        script=f"""
iogen {read} runtime_s=18 > /dev/null
beacon {WARM}
iogen {read} runtime_s=22 -- name=w rw=write filename=/data/w rate_iops=30 until=r > /dev/null
beacon {DONE}
""",
        args=set_args,
        data=(("/r", "3200K"), ("/w", "8M")),
    )
