"""`sluice bench --linux`: speeds beside a Linux guest, without a journal and with one."""

import sys

from tools.bench import beside, journaled
from tools.bench.debian import Missing


def compare_systems(rounds: int) -> int:
    """Measure both systems and return the exit status: 1 if no Linux is available."""
    try:
        beside.run_comparison(rounds)
        journaled.run_comparison(rounds)
    except Missing as why:
        print(f"no Linux guest: {why}; nothing was measured", file=sys.stderr)
        return 1
    return 0
