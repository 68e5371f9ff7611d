"""`sluice dev prove --mutants 5`: faults in policies by rule, and how many the proofs find.

The changes are those of `sluice dev mutants` (tools/mutants/change.py), a few of each policy drawn
by a seed. A change of what only counts for people is left out. Many changes make another policy
whose answers are legal all the same: a proof says nothing about which answer is the best.
"""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from random import Random

from sluice.experiment.aligned import format_table
from sluice.host.paths import BUILD, ROOT
from sluice.host.scratch import BASE, scratch_folder
from tools.mutants.change import Change, Source
from tools.prove import cbmc as checker
from tools.prove.cbmc import Attempt
from tools.prove.plans import PLANS

LIMIT_S = 20  # of a processor, for each mutant
FOUND, LEGAL, LATE, NO_CODE = "found", "legal", "undecided", "no code"
STATES = {
    checker.REFUTED: FOUND,
    checker.PROVED: LEGAL,
    checker.EMPTY: FOUND,  # the harness gets somewhere no more, and says so
    checker.UNDECIDED: LATE,
    checker.BROKEN: NO_CODE,
}
HEAD = ["kind", "mutants", FOUND, LEGAL, LATE, NO_CODE]


def decides(change: Change) -> bool:
    """Return True unless a change is of what only counts, or marks an argument as unused."""
    return "counters[" not in change.context and not change.old.startswith("(void)")


def draw_changes(kind: str, name: str, count: int, seed: int) -> list[Change]:
    """Return some changes of a policy."""
    file = f"policies/{kind}/{name}.c"
    source = Source(file, (ROOT / file).read_text(encoding="utf-8"))
    changes = [one for one in source.list_changes() if decides(one)]
    return Random(f"{seed} {file}").sample(changes, min(count, len(changes)))


def try_change(change: Change, kind: str, name: str, folder: Path) -> str:
    """Return the outcome of a change."""
    text = (ROOT / change.file).read_text(encoding="utf-8")
    planted = folder / f"{kind}-{name}-{change.start}-{change.end}-{len(change.new)}.c"
    planted.write_text(change.apply(text), encoding="utf-8")
    attempt = Attempt(PLANS[kind].steps[0])
    verdict = checker.check(planted, kind, name, attempt, PLANS[kind].unwind, LIMIT_S)
    return STATES[verdict.state]


def try_changes(
    chosen: list[tuple[str, str]], count: int, seed: int, jobs: int
) -> Iterator[tuple[str, Change, str]]:
    """Yield the kind of each change, the change, and its outcome. After ^C no other begins."""
    with scratch_folder(BUILD / "prove" / BASE) as folder, ThreadPoolExecutor(jobs) as pool:
        try:
            waiting = {
                pool.submit(try_change, change, kind, name, folder): (kind, change)
                for kind, name in chosen
                for change in draw_changes(kind, name, count, seed)
            }
            for done in as_completed(waiting):
                yield *waiting[done], done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def count_states(states: dict[str, Counter[str]]) -> list[list[str]]:
    """Return the rows of the table: the head, and one for each kind."""
    rows = [HEAD]
    for kind, counts in states.items():
        rows.append([kind, str(counts.total()), *(str(counts[state]) for state in HEAD[2:])])
    return rows


def run_mutants(chosen: list[tuple[str, str]], count: int, seed: int, jobs: int) -> list[list[str]]:
    """Try some changes of each policy, print a line for each and a table, and return its rows."""
    checker.find_cbmc()
    states: dict[str, Counter[str]] = {kind: Counter() for kind, _ in chosen}
    try:
        for kind, change, state in try_changes(chosen, count, seed, jobs):
            states[kind][state] += 1
            print(f"{state}: {change}", flush=True)
    finally:
        rows = count_states(states)
        print("\n".join(format_table(rows)))
    return rows
