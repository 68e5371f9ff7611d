"""The set does as well on another drive under another load."""

from grade.engine.assertions import Slide
from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench

from ..load import DONE, LASTS_S, READ_FILES, WRITTEN, Three, measure, mixed_script, three


def _runs(bench: Workbench) -> Three:
    """Readers at random times, a burst, and a writer of few blocks."""
    seed = bench.random("elsewhere").randrange(1, 10**9)
    load = Scenario(
        name="elsewhere",
        script=f"""
{mixed_script(seed, 400, 10)}
beacon {DONE}
sync
beacon {WRITTEN}
""",
        args="nbuf=1200",
        data=(*READ_FILES, ("/burst", "2M"), ("/again", "4M")),
        size="64M",
        drives=("hp97560",),  # always the same, as VISIBLE
        virtual_s=LASTS_S,
    )
    return three(bench, load)


def reads_wait_evenly_there(bench: Workbench) -> Slide:
    """The mean deviation of read response on another drive."""
    return measure(_runs(bench), "spread")


def no_read_waits_long_there(bench: Workbench) -> Slide:
    """The mean of the longest hundredth of response times on another drive."""
    return measure(_runs(bench), "worst")
