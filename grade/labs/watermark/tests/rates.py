"""The faster blocks become dirty, the lower are the marks. A step at most halves or doubles
them."""

from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

from ..bursts import expect_levels

STEP_MS = 4000
# By which the high mark may differ. The rate is doubled and halved, so one that does not follow it
# is off by half. A wrong low mark makes other bursts, in which other rates are counted: that moves
# the high mark by up to a sixth, and is not to cost the points for it.
FOLLOWS = 0.25
LOW = 0.15  # by which the low mark may differ
HALF = 0.4  # where one that steps too far has less than half of the reference's
DRIVE = ("rz58",)  # always the same, so that points do not depend on it


def _scenario(name: str, rates: list[int], seconds: list[int]) -> Scenario:
    """A writer at these rates, one after the other."""
    lines = [
        f"iogen rw=write filename=/data/w bs=4k rate_iops={rate} runtime_s={s} > /dev/null"
        for rate, s in zip(rates, seconds, strict=True)
    ]
    return Scenario(
        name=name,
        script="\n".join([*lines, "beacon 1"]),
        args="write=delayed update=awol awol.reading=2 nbuf=1000 "
        f"awol.step_ms={STEP_MS} awol.age_ms=60000",
        data=(("/w", "8M"),),
        drives=DRIVE,
    )


def _doubled(bench: Workbench) -> Scenario:
    rate = bench.random("rate").randrange(18, 23)
    return _scenario("rates", [rate, 2 * rate, rate], [17, 17, 17])


def the_high_mark_follows_the_rate(bench: Workbench) -> None:
    """A writer's rate is doubled after 17 s, and halved again after 17 s more."""
    expect_levels(bench, _doubled(bench), STEP_MS, 1, "high", FOLLOWS)


def the_low_mark_follows_both_rates(bench: Workbench) -> None:
    """As above: the rate is doubled and then halved."""
    expect_levels(bench, _doubled(bench), STEP_MS, 1, "low", LOW)


def no_step_more_than_halves_the_high_mark(bench: Workbench) -> None:
    """A writer's rate suddenly becomes seven or eight times as high."""
    rate = bench.random("sudden").randrange(7, 10)
    scenario = _scenario("sudden", [rate, 60], [26, 18])
    expect_levels(bench, scenario, STEP_MS, 1, "high", HALF)
