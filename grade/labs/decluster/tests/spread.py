"""Blocks that became dirty at one moment are written over several seconds, as long as there is
room: at most `threshold` blocks have the same age, and no age is raised by more than range_s."""

from dataclasses import dataclass

from grade.scoring.assertions import expect
from grade.scoring.scenario import Run, Scenario
from grade.scoring.workbench import Workbench

from ..writes import bursts, dirtyings

OTHERS = 5  # dirty blocks of inodes, which need room too


@dataclass(frozen=True)
class Settings:
    """The policy's tunables."""

    age_s: int
    threshold: int
    range_s: int

    def arguments(self) -> str:
        return (
            f"ldcl.age_s={self.age_s} ldcl.threshold={self.threshold} ldcl.range_s={self.range_s}"
        )


def _settings(bench: Workbench) -> Settings:
    rng = bench.random("settings")
    range_s = rng.randrange(3, 7)
    return Settings(range_s + rng.randrange(3, 6), rng.randrange(7, 12), range_s)


def _run(bench: Workbench) -> Run:
    """Nearly as many blocks as there is room for become dirty at once."""
    made = _settings(bench)
    blocks = made.threshold * (made.range_s + 1) - OTHERS
    return bench.run(
        Scenario(
            name="spread",
            script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={blocks} > /dev/null
beacon 1
sleep {made.age_s + 3}
beacon 2
""",
            args=f"write=delayed update=ldcl nbuf=1000 {made.arguments()}",
            check=False,
            data=(("/f", "1M"),),
        )
    )


def no_second_has_more_than_the_threshold(bench: Workbench) -> None:
    """As many blocks become dirty at once as the ages in range have room for."""
    run, made = _run(bench), _settings(bench)
    sizes = [len(burst) for burst in bursts(run.writes_of("/f", end_ns=run.beacon(2)))]
    expect(bool(sizes), "the blocks to be written", "none was written")
    expect(
        max(sizes) <= made.threshold,
        f"at most {made.threshold} writes a second ({made.arguments()})",
        f"{sizes} in the seconds with writes",
    )


def no_age_is_raised_by_more_than_the_range(bench: Workbench) -> None:
    """The same blocks: the first of them is written at most range_s before its age."""
    run, made = _run(bench), _settings(bench)
    first_s = made.age_s - made.range_s
    for one in dirtyings(run, "/f", run.beacon(1), run.beacon(2)):
        expect(
            one.queued_ns is not None, f"block {one.block} to be written", "it was never written"
        )
        expect(
            one.age_s >= first_s,
            f"block {one.block} to stay for {first_s} s at least ({made.arguments()})",
            f"it was written after {one.age_s:.3f} s",
        )
