"""No read waits for a long time."""

from grade.engine.assertions import Slide
from grade.engine.workbench import Workbench

from ..load import measure, three, visible


def worst_read_responses(bench: Workbench) -> Slide:
    """The mean of the longest hundredth of the load's response times."""
    return measure(three(bench, visible(bench)), "worst")
