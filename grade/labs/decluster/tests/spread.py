"""Blocks that became dirty at one moment are written over several seconds, as long as there is
room: at most `threshold` blocks have the same age, and no age is raised by more than range_s."""

from dataclasses import replace

from grade.engine.assertions import expect
from grade.engine.counters import counter_growth
from grade.engine.scenario import FOR_EVER
from grade.engine.workbench import Workbench

from ..burst import Burst, Played, list_bursts, scenario
from ..writes import find_first_over

OTHERS = 6  # dirty blocks of inodes, which need room too
BURSTS = 4
OVERFULL = Burst(age_s=3, threshold=4, range_s=2, blocks=40)  # no block is due at the first scan


def _bursts(bench: Workbench) -> list[Burst]:
    """Nearly as many blocks as there is room for become dirty at once. `threshold` blocks have room
    at each age up to range_s, or up to age_s where that is less, as in the last burst."""
    rng = bench.random("settings")
    made = []
    for number in range(BURSTS):
        range_s, threshold = rng.randrange(3, 7), rng.randrange(7, 12)
        age_s = range_s + rng.randrange(2, 5) if number < BURSTS - 1 else range_s - 1
        ages = min(range_s, age_s) + 1
        made.append(Burst(age_s, threshold, range_s, threshold * ages - OTHERS))
    return made


def _run_bursts(bench: Workbench) -> list[Played]:
    made = _bursts(bench)
    return list(list_bursts(bench.run(scenario("spread", made)), made))


def no_second_has_more_than_the_threshold(bench: Workbench) -> None:
    """As many blocks become dirty at once as the ages in range have room for; four times."""
    for one in _run_bursts(bench):
        expect(bool(one.sizes), "the blocks to be written", "none was written")
        one.run.expect(
            max(one.sizes) <= one.burst.threshold,
            f"at most {one.burst.threshold} writes a second ({one.burst.arguments()})",
            f"{one.sizes} in the seconds with writes",
            find_first_over(one.scan_writes, one.burst.threshold),
        )


def _expect_in_range(seen: Played) -> None:
    """Expect each block of a burst to be written at most range_s before its age."""
    first_s = seen.burst.age_s - seen.burst.range_s
    for block in seen.dirtyings:
        what = f"to stay for {first_s} s at least ({seen.burst.arguments()})"
        block.expect_age(first_s, FOR_EVER, what)


def no_age_is_raised_by_more_than_the_range(bench: Workbench) -> None:
    """With the same bursts, no block is written more than range_s before its age."""
    for one in _run_bursts(bench):
        _expect_in_range(one)


def each_age_is_raised_to_the_nearest_with_room(bench: Workbench) -> None:
    """The blocks are the same as in the test before. An age is used only when all nearer ages are
    full."""
    for one in _run_bursts(bench):
        sizes = [len(scan) for scan in one.scans]
        full = [one.burst.threshold] * len(sizes[1:])
        astray = (scan[-1] for scan in one.scans[1:] if len(scan) != one.burst.threshold)
        one.run.expect(
            len(full) > 1 and sizes[1:] == full and sizes[0] <= one.burst.threshold,
            f"{one.burst.threshold} writes, with those of inodes, in each second but the first, "
            f"which has the rest ({one.burst.arguments()})",
            f"{sizes} in the seconds with writes",
            next(astray, None),
        )


def raised_ages_are_counted(bench: Workbench) -> None:
    """The counters `moved` and `moved_s` agree with the ages at which blocks were written."""
    seen = _run_bursts(bench)
    for one in seen:
        came = sum(one.sizes)
        expect(
            came == one.burst.blocks,
            f"{one.burst.blocks} blocks to be written ({one.burst.arguments()})",
            f"{came} were",
        )
    raised_s = [one.raised_s(event) for one in seen for event in one.written_blocks]
    wanted = {"moved": sum(s > 0 for s in raised_s), "moved_s": sum(raised_s)}
    for name, count in wanted.items():
        came = counter_growth(seen[0].run, 1, 2, f"ldcl.{name}")
        expect(came == count, f"ldcl.{name} to grow by {count}", f"{came}")


def the_policys_own_check_agrees(bench: Workbench) -> None:
    """A burst fills all ages in range, and none beyond. Under check=1 the kernel stops if `check`
    finds that ages have more blocks than were looked at, or more than `overfull` explains."""
    run = bench.run(replace(scenario("spread-checked", [OVERFULL]), check=True))
    (seen,) = list_bursts(run, [OVERFULL])
    came = sum(seen.sizes)
    expect(came == OVERFULL.blocks, f"{OVERFULL.blocks} blocks to be written", f"{came} were")
    _expect_in_range(seen)
