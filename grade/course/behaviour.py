"""Likeness of behaviour: kernels that decide alike where the reference decides otherwise.

A machine in virtual time does the same again to the bit, so what a kernel decides can be compared:
which request goes next, which block is written, read ahead or evicted. Renaming, reordering and
rewriting a source does not change its decisions. A decision is compared with those before it,
IN_A_ROW together, so that a moment at which two kernels differ does not count for the rest of the
run. Times are not compared: another way to write the same rule takes some instructions more.
These may make a request miss a rotation, and from there on two kernels of one fault differ: with
GCC 14, two forms of one fault share 78 % of their odd decisions, and another fault 0.6 % with them.
So three fifths of them are enough.

What it cannot show: two right solutions decide alike, by necessity. So only *odd* decisions count,
those that neither the reference makes, nor one of the lab's known mistakes, nor many of the class.
Two submissions that make the same odd decisions have the same fault. It may still be a fault that
two students had by themselves, so it is a hint, and proves nothing.

Source: of the idea that shared mistakes tell more than shared right answers: Angoff, "The
development of statistical indices for detecting cheaters", J. American Statistical Association,
1974.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from hashlib import blake2b

from grade.engine.scenario import Run
from grade.engine.workbench import Workbench
from grade.trust.likeness import Pair, similar

DECIDED = {"issued", "writing", "ahead", "evicted"}  # of the trace's events
IN_A_ROW = 4
HASH_BYTES = 6  # for 10,000 decisions of each of 100 students, fewer than one by chance
ALIKE = 0.6  # less than for texts: see the head
MANY, FEW = 0.1, 10  # more than this share of a class, and more than so many, make it common
SAYS = "of the decisions that differ from the solution's are the same"

Decisions = frozenset[int]


def of_run(nonce: str, name: str, run: Run) -> Iterator[int]:
    """The decisions about the data disk in one machine; name: of its scenario."""
    row: deque[str] = deque(maxlen=IN_A_ROW)
    for _, event in run.events.named(*DECIDED):
        if event.disk == run.data_disk:
            row.append(f"{event.name} {event.block} {event.write:d}")
            text = "\n".join((nonce, name, *row))
            yield int.from_bytes(blake2b(text.encode(), digest_size=HASH_BYTES).digest())


def seen(bench: Workbench) -> Decisions:
    """All decisions of the submission in a grading. A machine that did not end well has none."""
    return frozenset(
        decision
        for (kernel, name), made in bench.made.items()
        if kernel == bench.kernel and isinstance(made, Run)
        for decision in of_run(bench.nonce, name, made)
    )


def text(decisions: Decisions) -> str:
    """The decisions as a file's text."""
    return "".join(f"{decision:x}\n" for decision in sorted(decisions))


def parse(lines: str) -> Decisions:
    """The decisions in a file's text. Raises ValueError."""
    return frozenset(int(line, 16) for line in lines.splitlines())


def odd(
    decisions: Mapping[str, Decisions], reference: Decisions, known: Decisions
) -> dict[str, Decisions]:
    """Each submission's decisions that neither the reference makes, nor a known mistake, nor many
    submissions."""
    counts = Counter(decision for made in decisions.values() for decision in made)
    many = max(FEW, MANY * len(decisions))
    common = {decision for decision, count in counts.items() if count > many}
    return {name: made - reference - known - common for name, made in decisions.items()}


def alike(
    decisions: Mapping[str, Decisions], reference: Decisions, known: Decisions = frozenset()
) -> list[Pair]:
    """The pairs of submissions with the same odd decisions, the most alike first."""
    return similar(odd(decisions, reference, known), SAYS, ALIKE)
