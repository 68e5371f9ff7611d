"""Limits on the host's time. They guard against hangs only: no slow or busy host reaches them.

HANG_S is wall-clock time. The slowest step of the tests takes less than a minute on an idle host
like ours; a host three times as slow and ten times as busy finishes it within HANG_S.

What strangers wrote is also limited in processor time. Those limits are for a host as fast as ours;
slowness() makes them longer on a slower one.
"""

import time
from functools import cache

HANG_S = 1800

OURS_S = 0.012  # a count() on a core of a shared AMD EPYC of 2023
TRIES = 5


def count() -> float:
    """The processor seconds that some fixed computing takes here."""
    began_s, total = time.thread_time(), 0
    for i in range(200_000):
        total += i * i % 7
    return time.thread_time() - began_s


@cache
def slowness() -> float:
    """How many times as long computing takes on this host as on ours; at least 1."""
    return max(1, min(count() for _ in range(TRIES)) / OURS_S)
