"""`sluice bench`: the system's speeds, then the promised speeds, each with its target."""

from tools.bench import real_time, targets


def run_benchmarks(rounds: int) -> int:
    """Measure both kinds of speeds, and print each table when it is done.

    rounds: how often each speed is measured. Returns the exit status.
    """
    real_time.run_benchmark(rounds)
    targets.run_benchmark()
    return 0
