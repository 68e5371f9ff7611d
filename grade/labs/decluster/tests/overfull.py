"""Where all ages in the range are full, the ages with the fewest blocks get more: the blocks are
spread evenly."""

from grade.engine.assertions import expect
from grade.engine.counters import counter_growth
from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench

from ..burst import Burst, list_bursts, scenario
from ..writes import find_first_over

AGE_S, THRESHOLD = 7, 4
UNEVEN = 1.4  # a second may have this many times its share
RANGES_S = (3, 4, 5)  # one for each burst; the nonce decides the order only
ABOUT = 3


def _bursts(bench: Workbench) -> list[Burst]:
    """Far more blocks become dirty at once than the ages in range have room for; in the last burst
    one more."""
    rng = bench.random("overfull")
    made = []
    for range_s in rng.sample(RANGES_S, len(RANGES_S)):
        blocks = THRESHOLD * rng.randrange(5, 9) * (range_s + 1)
        made.append(Burst(AGE_S, THRESHOLD, range_s, blocks))
    return [*made, Burst(AGE_S, 12, 6, 12 * 7 + 1)]


def _scenario(bench: Workbench) -> Scenario:
    return scenario("overfull", _bursts(bench))


def too_many_are_spread_evenly(bench: Workbench) -> None:
    """Three bursts have several times as many blocks as there is room for."""
    made, run = _bursts(bench), bench.run(_scenario(bench))
    for one in list(list_bursts(run, made))[: len(RANGES_S)]:
        blocks, seconds = one.burst.blocks, one.burst.range_s + 1
        share = blocks // seconds
        expect(sum(one.sizes) == blocks, f"{blocks} blocks to be written", f"{sum(one.sizes)} were")
        run.expect(
            max(one.sizes) <= UNEVEN * share,
            f"about {share} writes a second for {seconds} s",
            f"{one.sizes} in the seconds with writes",
            find_first_over(one.scan_writes, UNEVEN * share),
        )


def of_ages_with_equally_few_the_nearest_gets_more(bench: Workbench) -> None:
    """A burst has few blocks more than there is room for."""
    made = _bursts(bench)
    last = list(list_bursts(bench.run(_scenario(bench)), made))[-1]
    sizes = [len(scan) for scan in last.scans]
    expect(
        len(sizes) > 1 and sizes[0] <= sizes[-1],
        f"the nearest age, written last, to get the block more ({last.burst.arguments()})",
        f"{sizes} writes in the seconds with writes, those of inodes included",
    )


def full_ranges_are_counted(bench: Workbench) -> None:
    """The counter `overfull` is about the solution's: one block more or less in an age, which other
    tests look at, changes it a little."""
    asked = _scenario(bench)
    runs = bench.run(asked), bench.reference(asked)
    came, wanted = (counter_growth(run, 1, 2, "ldcl.overfull") for run in runs)
    about = wanted / ABOUT <= came <= wanted * ABOUT
    expect(about, f"ldcl.overfull to grow by about {wanted}", f"{came}")
