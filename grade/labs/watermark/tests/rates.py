"""The faster blocks become dirty, the lower are the marks. A step at most halves or doubles
them."""

from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench

from ..formulas import CACHE, DONE, MOST_BY, WITHOUT_BOUNDS, expect_followed

EITHER = (MOST_BY, WITHOUT_BOUNDS)  # bounds are what the last test asks about


def _scenario(name: str, rates: list[int], seconds: list[int]) -> Scenario:
    """Return a load: a writer writes at these rates, one after another. Before, as many blocks are
    made dirty as the high mark allows, so that the rates of the first steps are steady, too."""
    fill = f"iogen rw=write filename=/data/fill bs=4k nr={CACHE.high} > /dev/null"
    lines = [
        f"iogen rw=write filename=/data/w bs=4k rate_iops={rate} runtime_s={s} > /dev/null"
        for rate, s in zip(rates, seconds, strict=True)
    ]
    return Scenario(
        name=name,
        script="\n".join([fill, *lines, f"beacon {DONE}"]),
        args=CACHE.args,
        data=(("/w", "8M"), ("/fill", "400K")),
        drives=("rz58",),
    )


def _doubled(bench: Workbench) -> Scenario:
    rate = bench.random("rate").randrange(18, 23)
    return _scenario("rates", [rate, 2 * rate, rate], [17, 17, 17])


def the_high_mark_follows_the_rate(bench: Workbench) -> None:
    """A writer's rate is doubled after 17 s, and halved again after 17 s more."""
    expect_followed(bench, _doubled(bench), "high", EITHER)


def the_low_mark_follows_both_rates(bench: Workbench) -> None:
    """As above: the rate is doubled and then halved."""
    expect_followed(bench, _doubled(bench), "low", EITHER)


def no_step_more_than_halves_the_high_mark(bench: Workbench) -> None:
    """A writer's rate suddenly becomes seven or eight times as high."""
    rate = bench.random("sudden").randrange(7, 10)
    expect_followed(bench, _scenario("sudden", [rate, 60], [26, 18]), "high")
