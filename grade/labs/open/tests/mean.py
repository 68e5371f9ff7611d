"""Reads wait little on average."""

from grade.scoring.bench import Bench
from grade.scoring.verdict import Slide

from ..load import measured, three, visible


def mean_read_response(bench: Bench) -> Slide:
    """The mean response time of all reads of the load."""
    return measured(three(bench, visible(bench)), "mean")
