"""Where all ages in the range are full, the ages with the fewest blocks get more: the blocks are
spread evenly."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

from ..writes import bursts

AGE_S, THRESHOLD = 8, 4
UNEVEN = 1.4  # a second may have this many times its share


def too_many_are_spread_evenly(bench: Workbench) -> None:
    """Far more blocks become dirty at once than the ages in range have room for."""
    rng = bench.random("overfull")
    range_s = rng.randrange(3, 6)
    share = THRESHOLD * rng.randrange(5, 9)
    scenario = Scenario(
        name="overfull",
        script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={share * (range_s + 1)} > /dev/null
beacon 1
sleep {AGE_S + 3}
beacon 2
""",
        args="write=delayed update=ldcl nbuf=1000 "
        f"ldcl.age_s={AGE_S} ldcl.threshold={THRESHOLD} ldcl.range_s={range_s}",
        check=False,
        data=(("/f", "2M"),),
    )
    run = bench.run(scenario)
    sizes = [len(burst) for burst in bursts(run.writes_of("/f", end_ns=run.beacon(2)))]
    expect(
        sum(sizes) == share * (range_s + 1),
        f"{share * (range_s + 1)} blocks to be written",
        f"{sum(sizes)} were",
    )
    expect(
        max(sizes) <= UNEVEN * share,
        f"about {share} writes a second for {range_s + 1} s",
        f"{sizes} in the seconds with writes",
    )
