"""How long the host may take: limits against hangs only, which no slow or busy host reaches.

HANG_S is of the clock on the wall. The slowest step of the tests takes less than a minute on an
idle host as ours; a host three times as slow and ten times as busy is done by then.

What others wrote is also held to seconds of a processor. They are those of a host as fast as
ours; on a slower one there are as many more, by slowness().
"""

import time
from functools import cache

HANG_S = 1800

OURS_S = 0.012  # a count() on a core of a shared AMD EPYC of 2023
TRIES = 5


def count() -> float:
    """Seconds of the processor that some computing takes here."""
    began_s, total = time.thread_time(), 0
    for i in range(200_000):
        total += i * i % 7
    return time.thread_time() - began_s


@cache
def slowness() -> float:
    """How many times as long as on ours computing takes on this host; at least 1."""
    return max(1, min(count() for _ in range(TRIES)) / OURS_S)
