"""All reads wait about as long as each other."""

from grade.engine.assertions import Slide
from grade.engine.workbench import Workbench

from ..load import measure, three, visible


def spread_of_read_response(bench: Workbench) -> Slide:
    """The mean distance of the response times of all reads of the load from their mean."""
    return measure(three(bench, visible(bench)), "spread")
