"""No read waits long."""

from grade.scoring.bench import Bench
from grade.scoring.verdict import Slide

from ..load import measured, three, visible


def worst_read_responses(bench: Bench) -> Slide:
    """The mean of the five longest response times of the load."""
    return measured(three(bench, visible(bench)), "worst")
