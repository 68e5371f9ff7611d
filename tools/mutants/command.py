"""`sluice dev mutants`: count how many random changes of the sources the tests notice.

Prints a table by file, and each change that no test noticed; the same as JSON in
build/mutants.json. The status is 1 if a room's share of noticed changes is below its bar.
"""

import json
import queue
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from sluice.experiment.aligned import format_table
from sluice.host.paths import BUILD, ROOT
from tools.mutants.campaign import EQUAL, KILLED, LISTED_AS, SURVIVED, BadTree, Outcome, Tree
from tools.mutants.change import Change, Source

ROOMS = {  # patterns of sources, and the least share of changes to be noticed, in percent
    "policies": ("policies/*/*.c", 95),
    "cache": ("kernel/cache/*.c", 90),
    "disk": (
        "kernel/disk/*.c drives/model/drive.c",
        90,
    ),
    "ext2": ("kernel/ext2/*.c", 90),
}
RESULTS = BUILD / "mutants.json"


class BadChoice(Exception):
    """A file or a change was named that does not exist."""


def find_room(file: str) -> str:
    """Return the room to which a source belongs."""
    for room, (patterns, _) in ROOMS.items():
        if any(Path(file).match(pattern) for pattern in patterns.split()):
            return room
    return "other"


def find_sources(patterns: list[str]) -> list[Source]:
    """Return the sources that match the patterns, or those of all rooms without patterns."""
    patterns = patterns or [p for room, _ in ROOMS.values() for p in room.split()]
    found = []
    for pattern in patterns:
        paths = sorted(path for path in ROOT.glob(pattern) if path.suffix == ".c")
        if not paths:
            raise BadChoice(
                f"--files={pattern}: no C source has this name; try --files='policies/sched/*.c'"
            )
        found += [
            Source(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in paths
        ]
    return found


def choose_changes(mutant: str, files: str, seed: int) -> list[Change]:
    """Return the changes in the order in which they are tried. mutant: the only change's name."""
    if mutant:
        file = mutant.split(":")[0]
        found = [c for c in find_sources([file])[0].list_changes() if c.name == mutant]
        if not found:
            raise BadChoice(
                f"--mutant={mutant}: {file} has no such change; has the source changed?"
            )
        return found
    changes = [change for source in find_sources(files.split()) for change in source.list_changes()]
    random.Random(seed).shuffle(changes)
    return changes


def try_changes(changes: list[Change], count: int, jobs: int) -> Iterator[Outcome]:
    """Try the changes until `count` of them could be judged. Yields each outcome."""
    with tempfile.TemporaryDirectory(prefix="sluice-mutants-") as name:
        trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        first = Tree(Path(name) / "0" / "tree")
        print("running the tests on the unchanged sources", file=sys.stderr, flush=True)
        first.measure_tests({change.file for change in changes})
        trees.put(first)
        for i in range(1, jobs):
            trees.put(Tree(Path(name) / str(i) / "tree", first.folder))

        def judge(change: Change) -> Outcome:
            tree = trees.get()
            try:
                return tree.try_change(change)
            finally:
                trees.put(tree)

        waiting = iter(changes)
        judged = 0
        with ThreadPoolExecutor(jobs) as pool:
            while judged < count:
                batch = list(islice(waiting, min(2 * jobs, count - judged)))
                if not batch:
                    return
                for outcome in pool.map(judge, batch):
                    judged += outcome.state in (KILLED, SURVIVED)
                    yield outcome


def noticed_percent(states: Counter[str]) -> float:
    """Return the percentage of changes that were noticed, of those that could be noticed."""
    judged = states[KILLED] + states[SURVIVED]
    return 100 * states[KILLED] / judged if judged else 100.0


def format_outcomes(found: list[Outcome]) -> str:
    """Return a table with a row for each file and each room."""
    files: dict[str, Counter[str]] = {}
    for outcome in found:
        for name in (outcome.change.file, f"({find_room(outcome.change.file)})"):
            files.setdefault(name, Counter())[outcome.state] += 1
    rows = [["file", "killed", "survived", "%", "listed", "equal"]]
    for name, n in sorted(files.items()):
        counts = [str(n[state]) for state in (KILLED, SURVIVED, LISTED_AS, EQUAL)]
        rows.append([name, *counts[:2], f"{noticed_percent(n):.1f}", *counts[2:]])
    return "\n".join(format_table(rows))


def rooms_below_bar(found: list[Outcome]) -> list[str]:
    """Return a line for each room whose share of noticed changes is below its bar."""
    said = []
    for room, (_, bar) in ROOMS.items():
        states = Counter(o.state for o in found if find_room(o.change.file) == room)
        noticed = noticed_percent(states)
        if noticed < bar:
            said.append(f"{room}: {noticed:.1f} % of the changes were noticed; {bar} % are wanted")
    return said


def write_results(found: list[Outcome], seed: int) -> None:
    """Write the outcomes as JSON."""
    rows = [{"name": o.change.name, "state": o.state, "by": o.by} | asdict(o.change) for o in found]
    RESULTS.write_text(
        json.dumps({"seed": seed, "outcomes": rows}, indent=1) + "\n", encoding="utf-8"
    )


def report_outcomes(found: list[Outcome], seed: int) -> int:
    """Print the outcomes and write them as JSON. Returns the exit status."""
    write_results(found, seed)
    print(format_outcomes(found))
    for outcome in found:
        if outcome.state == SURVIVED:
            print(f"survived: {outcome.change}")
    for line in rooms_below_bar(found):
        print(line)
    return bool(rooms_below_bar(found))


def run_campaign(count: int, seed: int, files: str, mutant: str, jobs: int) -> int:
    """Try changes, print their outcomes, and return the exit status.

    count: how many are tried, chosen by the seed from the sources that `files` names; mutant: the
    name of the only change; jobs: how many at a time.
    """
    found: list[Outcome] = []
    try:
        changes = choose_changes(mutant, files, seed)
        jobs = min(jobs, len(changes), count)
        for outcome in try_changes(changes, count, jobs):
            found.append(outcome)
            if outcome.state in (KILLED, SURVIVED):
                number = sum(o.state in (KILLED, SURVIVED) for o in found)
                by = f" by {outcome.by}" if outcome.by else ""
                print(f"{number}/{count} {outcome.state}{by}: {outcome.change}", flush=True)
            elif mutant:
                print(f"{outcome.state}: {outcome.change}")
    except BadChoice as error:
        print(f"dev mutants: {error}", file=sys.stderr)
        return 2
    except BadTree as error:
        print(
            f"dev mutants: the tests fail on the unchanged sources; correct that first:\n{error}",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        if found:
            report_outcomes(found, seed)
        raise KeyboardInterrupt(f"changes tried so far: {len(found)}") from None
    return report_outcomes(found, seed)
