"""Compare the behaviour of submissions: find kernels that make the same odd decisions.

A machine in virtual time repeats a run to the bit, so the decisions of two kernels can be compared:
which request goes next, which block is written, read ahead or evicted. Renaming, reordering and
rewriting a source does not change its decisions. Sequences of IN_A_ROW decisions are compared, so
that one difference between two kernels affects only the sequences that contain it. Times are not
compared, because another way to write the same rule may take a few more instructions. These may
make a request miss a rotation, and then even two kernels with one fault decide differently. With
GCC 14, two forms of one fault share 78 % of their odd decisions, and another fault shares 0.6 %
with them. So the limit ALIKE is 60 %.

Two right solutions must decide alike, so equal decisions alone show nothing. Only *odd* decisions
count: those that are not made by the reference, by one of the lab's known mistakes, or by many of
the class. Two submissions that make the same odd decisions have the same fault. Two students may
still have made this fault independently, so it is a hint, and proves nothing.

Source: of the idea that shared mistakes tell more than shared right answers: Angoff, "The
development of statistical indices for detecting cheaters", J. American Statistical Association,
1974.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from hashlib import blake2b

from grade.engine.scenario import Run
from grade.engine.workbench import Workbench
from grade.trust.likeness import Pair, similar_pairs

DECIDED = {"issued", "writing", "ahead", "evicted"}  # the trace's events that are decisions
IN_A_ROW = 4
HASH_BYTES = 6  # fewer than one chance collision among 100 students of 10,000 decisions
ALIKE = 0.6  # lower than for texts; the head of this file says why
# A decision is common if more than a share MANY of the class, and more than FEW submissions, make
# it.
MANY, FEW = 0.1, 10
SAYS = "of the decisions that differ from the solution's are the same"

Decisions = frozenset[int]


def hash_decisions(nonce: str, name: str, run: Run) -> Iterator[int]:
    """Yield the hashed decisions about the data disk in one machine.

    name: the name of the machine's scenario.
    """
    row: deque[str] = deque(maxlen=IN_A_ROW)
    for _, event in run.events.select_named(*DECIDED):
        if event.disk == run.data_disk:
            row.append(f"{event.name} {event.block} {event.write:d}")
            text = "\n".join((nonce, name, *row))
            yield int.from_bytes(blake2b(text.encode(), digest_size=HASH_BYTES).digest())


def collect_decisions(bench: Workbench) -> Decisions:
    """Return all decisions of the submission in a grading.

    A machine that did not end well contributes none.
    """
    return frozenset(
        decision
        for (kernel, name), made in bench.made.items()
        if kernel == bench.kernel and isinstance(made, Run)
        for decision in hash_decisions(bench.nonce, name, made)
    )


def format_decisions(decisions: Decisions) -> str:
    """Return the decisions as the text of a file."""
    return "".join(f"{decision:x}\n" for decision in sorted(decisions))


def parse_decisions(lines: str) -> Decisions:
    """Return the decisions in a file's text. Raises ValueError."""
    return frozenset(int(line, 16) for line in lines.splitlines())


def odd_decisions(
    decisions: Mapping[str, Decisions], reference: Decisions, known: Decisions
) -> dict[str, Decisions]:
    """Return the odd decisions of each submission.

    A decision is odd if the reference does not make it, no known mistake makes it, and few
    submissions make it. known: the decisions of all known mistakes.
    """
    counts = Counter(decision for made in decisions.values() for decision in made)
    many = max(FEW, MANY * len(decisions))
    common = {decision for decision, count in counts.items() if count > many}
    return {name: made - reference - known - common for name, made in decisions.items()}


def find_similar_pairs(
    decisions: Mapping[str, Decisions], reference: Decisions, known: Decisions = frozenset()
) -> list[Pair]:
    """Return the pairs of submissions with enough equal odd decisions, the most alike first."""
    return similar_pairs(odd_decisions(decisions, reference, known), SAYS, ALIKE)
