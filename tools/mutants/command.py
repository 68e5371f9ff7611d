"""`make mutants`: how many random changes of the sources do the tests notice?

Prints a table by file, and each change that no test noticed; the same as JSON in
build/mutants.json. The status is 1 if a room's share of noticed changes is below its bar.
"""

import argparse
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

from sluice.experiment.aligned import aligned
from sluice.host.interrupt import stoppable
from sluice.host.paths import BUILD, ROOT
from tools.mutants.campaign import EQUAL, KILLED, LISTED_AS, SURVIVED, BadTree, Outcome, Tree
from tools.mutants.change import Change, Source

ROOMS = {  # patterns of sources, and the least share of changes to be noticed, in percent
    "policies": ("policies/*/*.c", 95),
    "cache": ("kernel/cache/*.c", 90),
    "disk": (
        "kernel/disk/disk.c kernel/disk/queue.c kernel/disk/place.c kernel/disk/model.c"
        " drives/model/drive.c",
        90,
    ),
    "ext2": ("kernel/ext2/*.c", 90),
}
RESULTS = BUILD / "mutants.json"


class BadChoice(Exception):
    """A file or a change was named that does not exist."""


def room_of(file: str) -> str:
    """The room to which a source belongs."""
    for room, (patterns, _) in ROOMS.items():
        if any(Path(file).match(pattern) for pattern in patterns.split()):
            return room
    return "other"


def sources(patterns: list[str]) -> list[Source]:
    """The sources that match the patterns; if there are none, those of all rooms."""
    patterns = patterns or [p for room, _ in ROOMS.values() for p in room.split()]
    found = []
    for pattern in patterns:
        paths = sorted(path for path in ROOT.glob(pattern) if path.suffix == ".c")
        if not paths:
            raise BadChoice(
                f"FILES={pattern}: no C source has this name; try FILES='policies/sched/*.c'"
            )
        found += [
            Source(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in paths
        ]
    return found


def chosen(args: argparse.Namespace) -> list[Change]:
    """The changes in the order in which they are tried."""
    if args.mutant:
        file = args.mutant.split(":")[0]
        found = [c for c in sources([file])[0].changes() if c.name == args.mutant]
        if not found:
            raise BadChoice(
                f"MUTANT={args.mutant}: {file} has no such change; has the source changed?"
            )
        return found
    changes = [change for source in sources(args.files.split()) for change in source.changes()]
    random.Random(args.seed).shuffle(changes)
    return changes


def outcomes(changes: list[Change], count: int, jobs: int) -> Iterator[Outcome]:
    """Try the changes until `count` of them could be judged. Yields each outcome."""
    with tempfile.TemporaryDirectory(prefix="sluice-mutants-") as name:
        trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        first = Tree(Path(name) / "0" / "tree")
        print("running the tests on the unchanged sources", file=sys.stderr, flush=True)
        first.measure({change.file for change in changes})
        trees.put(first)
        for i in range(1, jobs):
            trees.put(Tree(Path(name) / str(i) / "tree", first.folder))

        def judge(change: Change) -> Outcome:
            tree = trees.get()
            try:
                return tree.outcome(change)
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


def share(states: Counter[str]) -> float:
    """The percentage of changes that were noticed, of those that could be noticed."""
    judged = states[KILLED] + states[SURVIVED]
    return 100 * states[KILLED] / judged if judged else 100.0


def table(found: list[Outcome]) -> str:
    """A table with a row for each file and each room."""
    files: dict[str, Counter[str]] = {}
    for outcome in found:
        for name in (outcome.change.file, f"({room_of(outcome.change.file)})"):
            files.setdefault(name, Counter())[outcome.state] += 1
    rows = [["file", "killed", "survived", "%", "listed", "equal"]]
    for name, n in sorted(files.items()):
        counts = [str(n[state]) for state in (KILLED, SURVIVED, LISTED_AS, EQUAL)]
        rows.append([name, *counts[:2], f"{share(n):.1f}", *counts[2:]])
    return "\n".join(aligned(rows))


def below(found: list[Outcome]) -> list[str]:
    """A line for each room whose share of noticed changes is below its bar."""
    said = []
    for room, (_, bar) in ROOMS.items():
        states = Counter(o.state for o in found if room_of(o.change.file) == room)
        if share(states) < bar:
            said.append(
                f"{room}: {share(states):.1f} % of the changes were noticed; {bar} % are wanted"
            )
    return said


def write_results(found: list[Outcome], args: argparse.Namespace) -> None:
    """Write the outcomes as JSON."""
    rows = [{"name": o.change.name, "state": o.state, "by": o.by} | asdict(o.change) for o in found]
    RESULTS.write_text(
        json.dumps({"seed": args.seed, "outcomes": rows}, indent=1) + "\n", encoding="utf-8"
    )


def show(found: list[Outcome], args: argparse.Namespace) -> int:
    """Print the outcomes and write them as JSON. Returns the exit status."""
    write_results(found, args)
    print(table(found))
    for outcome in found:
        if outcome.state == SURVIVED:
            print(f"survived: {outcome.change}")
    for line in below(found):
        print(line)
    return bool(below(found))


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choice of changes")
    parser.add_argument("--count", type=int, default=100, help="how many changes to try")
    parser.add_argument("--files", default="", help="patterns of sources, as policies/sched/*.c")
    parser.add_argument("--mutant", default="", help="one change, by the name that was printed")
    parser.add_argument("--jobs", type=int, default=2, help="how many changes at a time")
    args = parser.parse_args()
    if args.count < 1 or args.jobs < 1:
        parser.error("COUNT and JOBS are whole numbers from 1")
    return args


def main() -> int:
    args = options()
    found: list[Outcome] = []
    try:
        changes = chosen(args)
        jobs = min(args.jobs, len(changes), args.count)
        for outcome in outcomes(changes, args.count, jobs):
            found.append(outcome)
            if outcome.state in (KILLED, SURVIVED):
                number = sum(o.state in (KILLED, SURVIVED) for o in found)
                by = f" by {outcome.by}" if outcome.by else ""
                print(f"{number}/{args.count} {outcome.state}{by}: {outcome.change}", flush=True)
            elif args.mutant:
                print(f"{outcome.state}: {outcome.change}")
    except BadChoice as error:
        print(f"make mutants: {error}", file=sys.stderr)
        return 2
    except BadTree as error:
        print(
            f"make mutants: the tests fail on the unchanged sources; correct that first:\n{error}",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        if found:
            show(found, args)
        raise KeyboardInterrupt(f"changes tried so far: {len(found)}") from None
    return show(found, args)


if __name__ == "__main__":
    sys.exit(stoppable(main))
