"""Counters that a lab asks for.

A scenario's script has kept(N) where the kernel's counters are kept in a file of the data disk,
between two beacons. A counter is the kernel's own word. So a test compares it with the trace, or
with the reference's: the nonce chooses the load, and only who counts comes to the right number.
"""

from grade.engine.assertions import expect
from grade.engine.scenario import Run


def kept(number: int) -> str:
    """Lines of a script: the counters are kept between this beacon and the next."""
    return f"beacon {number}\ncat /dev/stat > /data/counters{number}\nbeacon {number + 1}"


def counter(run: Run, number: int, name: str) -> int:
    """The value of a counter as kept at this beacon."""
    text = run.contents(f"/counters{number}").decode(errors="replace")
    rows = [line.split() for line in text.splitlines()]
    values = [row[1] for row in rows if len(row) == 3 and row[0] == name and row[1].isdecimal()]
    expect(len(values) == 1, f"the counter {name} in /dev/stat", f"{len(values)} counters of it")
    return int(values[0])


def growth(run: Run, first: int, last: int, name: str) -> int:
    """How much a counter grew from one keeping to the other."""
    return counter(run, last, name) - counter(run, first, name)
