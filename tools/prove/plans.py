"""How far the proof of each kind of policy goes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """The numbers of steps that are tried in turn, and --unwind."""

    steps: tuple[int, ...]
    unwind: int


PLANS = {
    "update": Plan((2, 3), 9),
    "write": Plan((2, 3), 10),
    "sched": Plan((2, 3, 4), 9),
    "replace": Plan((2, 3, 4), 5),
    "prefetch": Plan((2, 3), 10),
    "place": Plan((2, 3), 10),
    "order": Plan((3,), 5),
}
