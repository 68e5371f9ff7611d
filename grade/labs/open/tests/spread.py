"""One read waits as long as the other."""

from grade.scoring.bench import Bench
from grade.scoring.verdict import Slide

from ..load import measured, three, visible


def spread_of_read_response(bench: Bench) -> Slide:
    """The standard deviation of the response times of all reads of the load."""
    return measured(three(bench, visible(bench)), "spread")
