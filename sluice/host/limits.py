"""Limit the host's time. The limits only guard against hangs: no slow or busy host reaches them.

HANG_S is wall-clock time. The slowest step of the tests takes less than a minute on an idle host
like ours; a host three times as slow and ten times as busy finishes it within HANG_S.

Code that is not trusted is also limited in processor time. These limits are for a host as fast as
ours; on a slower host they are multiplied by host_slowdown().
"""

import time
from functools import cache

HANG_S = 1800

OURS_S = 0.012  # benchmark_s() on one core of a shared AMD EPYC of 2023
TRIES = 5


def benchmark_s() -> float:
    """Return the processor seconds that a fixed computation takes on this host."""
    began_s, total = time.thread_time(), 0
    for i in range(200_000):
        total += i * i % 7
    return time.thread_time() - began_s


@cache
def host_slowdown() -> float:
    """Return this host's time for a computation divided by the time on ours; at least 1."""
    return max(1, min(benchmark_s() for _ in range(TRIES)) / OURS_S)
