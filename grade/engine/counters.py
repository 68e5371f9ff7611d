"""Read the kernel's counters for a lab's tests.

store_counters(N) in a scenario's script stores the kernel's counters in a file of the data disk,
between two beacons. A test compares a counter with the trace or with the reference's counter,
because a submitted kernel could print any number. The nonce chooses the load, so only a kernel that
really counts has the right number.
"""

from grade.engine.assertions import expect
from grade.engine.scenario import Run


def store_counters(number: int) -> str:
    """Return lines of a script that store the counters between beacon `number` and the next."""
    return f"beacon {number}\ncat /dev/stat > /data/counters{number}\nbeacon {number + 1}"


def counter_value(run: Run, number: int, name: str) -> int:
    """Return the value of a counter as stored at this beacon. Raises Wrong."""
    text = run.contents(f"/counters{number}").decode(errors="replace")
    rows = [line.split() for line in text.splitlines()]
    values = [row[1] for row in rows if len(row) == 3 and row[0] == name and row[1].isdecimal()]
    expect(len(values) == 1, f"the counter {name} in /dev/stat", f"{len(values)} counters of it")
    return int(values[0])


def counter_growth(run: Run, first: int, last: int, name: str) -> int:
    """Return how much a counter grew from beacon `first` to beacon `last`. Raises Wrong."""
    return counter_value(run, last, name) - counter_value(run, first, name)
