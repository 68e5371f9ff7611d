"""The mean read waits for a short time."""

from grade.engine.assertions import Slide
from grade.engine.workbench import Workbench

from ..load import measured, three, visible


def mean_read_response(bench: Workbench) -> Slide:
    """The mean response time of all reads of the load."""
    return measured(three(bench, visible(bench)), "mean")
