"""A block is dirty for at most about half a minute, as under the classic set. A power cut loses
what is dirty."""

from grade.engine.assertions import Slide
from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench

from ..load import AGE_S, busy, oldest_s, three, visible


def _measure(bench: Workbench, load: Scenario) -> Slide:
    runs = three(bench, load)
    return Slide("oldest dirty age", "s", oldest_s(runs.own), 1.1 * AGE_S, 1.3 * AGE_S)


def oldest_dirty_age(bench: Workbench) -> Slide:
    """The longest time that any block of the load was dirty."""
    return _measure(bench, visible(bench))


def oldest_dirty_age_beside_busy_readers(bench: Workbench) -> Slide:
    """The longest time that a block was dirty while three processes read without a pause."""
    return _measure(bench, busy(bench))
