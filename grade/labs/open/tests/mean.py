"""The mean read waits for a short time."""

from grade.engine.assertions import Slide
from grade.engine.workbench import Workbench

from ..load import measure, three, visible


def mean_read_response(bench: Workbench) -> Slide:
    """The mean response time of all reads of the load."""
    return measure(three(bench, visible(bench)), "mean")
