"""The first question: a kernel whose recovery takes pins away that it has not put there.

The answer is a text of two lines: operations, and after how many writes of the data disk the power
goes. The given kernel does the operations; the disk is cut after so many writes; and the given
kernel mounts it and makes a directory. The answer is right if something is wrong then, and if all
is well when the solution does the same with the same disk. The machines are not varied, so the
writes have the same numbers each time.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from grade.definition.lab import find_lab
from grade.engine import tree, twin_grading
from grade.engine.assertions import Wrong, expect
from grade.engine.workbench import Workbench
from sluice.crash.disk_events import Event
from sluice.crash.machine import apply_writes, memory_folder
from sluice.crash.operations import BadOperation, Operation, describe, parse_operations
from sluice.crash.oracle import History

from .judging import JOURNALLED, Judge, number_writes, read_verdict
from .operations import COMMANDS, ON_DEMAND, Recording, list_events, scenario

ANSWER = "kernel/journal/cut.txt"
MOST_BYTES, MOST_OPERATIONS, MOST_SIZE = 2000, 12, 20_000  # limits of an answer
LINE = re.compile(r"(operations|writes):[ \t]*(.*?)[ \t]*")
PATH = re.compile(r"/|(?:/[a-z0-9-]{1,20}){1,4}")
AFTER = "after-the-cut"  # the directory that is made then
USE = f"mkdir /data/{AFTER}\nsync\nbeacon 1\numount /data\nbeacon 2"
WANTED = "lines `operations: ...` and `writes: ...`, as the handout shows them"


@dataclass(frozen=True)
class Answer:
    """Operations, and the number of writes of the data disk after which the power goes."""

    operations: tuple[Operation, ...]
    writes: int


def parse_answer(text: str) -> Answer:
    """Return the answer that a text gives: two lines `NAME = VALUE`. Raises Wrong."""
    expect(len(text) <= MOST_BYTES, f"at most {MOST_BYTES} letters", f"{len(text)}")
    lines = (line for line in text.splitlines() if line.strip() and line[0] != "#")
    found = [LINE.fullmatch(line) for line in lines]
    given = {match[1]: match[2] for match in found if match}
    expect(all(found) and len(found) == len(given) == 2, WANTED, f"{text[:200]!r}")
    expect("?" not in given.values(), WANTED, "no answer yet")
    expect(
        re.fullmatch(r"[1-9][0-9]{0,3}", given["writes"]) is not None,
        "writes: a whole number from 1",
        f"{given['writes'][:40]!r}",
    )
    try:
        operations = parse_operations(given["operations"])
    except BadOperation as error:
        raise Wrong("operations as the handout lists them", str(error)[:300]) from None
    check_operations(operations)
    return Answer(operations, int(given["writes"]))


def check_operations(operations: tuple[Operation, ...]) -> None:
    """Raise Wrong unless the machine can do these operations, and all of them succeed."""
    expect(
        0 < len(operations) <= MOST_OPERATIONS,
        f"1 to {MOST_OPERATIONS} operations",
        f"{len(operations)}",
    )
    for op in operations:
        expect(op.name in COMMANDS, f"one of {', '.join(COMMANDS)}", f"{op.name}")
        paths = [word for word in op.words if word.startswith("/")]
        expect(
            all(map(PATH.fullmatch, paths)),
            "paths of at most 4 names of a to z, 0 to 9 and -",
            f"{op}"[:200],
        )
        if op.name == "append":
            # the bytes and a number from which they are made; neither is a huge number
            sizes = [word for word in op.words[1:] if len(word) <= 5]
            expect(
                len(sizes) == 2 and 0 < op.number(1) <= MOST_SIZE,
                f"an append of 1 to {MOST_SIZE} bytes",
                f"{op}"[:200],
            )
    results = History(operations).results
    failed = [str(op) for op, good in zip(operations, results, strict=True) if not good]
    expect(not failed, "operations that succeed", f"{', '.join(failed)[:200]} cannot")
    unmounts = [i for i, op in enumerate(operations) if op.name == "umount"]
    expect(unmounts in ([], [len(operations) - 1]), "umount as the last operation", "one before")


def given_kernel(bench: Workbench) -> Path:
    """Return the given kernel, or the twin that is made of the same sources."""
    lab, folder = find_lab("journal"), bench.folder.with_name("given")
    if bench.by_qemu:
        return tree.build_given_kernel(lab, folder)
    return twin_grading.build_given_twin(lab, folder)


def record_answer(bench: Workbench, kernel: Path, answer: Answer) -> Recording:
    """Have the given kernel do the operations of an answer."""
    made = scenario("question", answer.operations, ON_DEMAND, varied=False)
    run = bench.run_other(kernel, "given-", made)
    events = list_events(run, answer.operations)
    before = (run.folder / "data.img").read_bytes()
    return Recording(run, answer.operations, before, events, History(answer.operations))


def cut_after(seen: Recording, writes: int) -> list[Event]:
    """Return the events until there have been so many writes. Raises Wrong."""
    places = [i for i, event in enumerate(seen.events) if event.kind == "write"]
    expect(
        writes <= len(places),
        "the number of a write of the data disk",
        f"{writes}, and there are {len(places)}:\n{tell_writes(seen)}",
    )
    return seen.events[: places[writes - 1] + 1]


def tell_writes(seen: Recording) -> str:
    """Return what the given kernel did, with a number for each write."""
    return "\n".join(number_writes(seen))


def find_trouble(
    bench: Workbench, kernel: Path, prefix: str, seen: Recording, events: list[Event]
) -> str:
    """Have a kernel mount the disk that a cut leaves, make a directory, and unmount it.

    events: until the cut.
    Returns what is wrong then, or an empty text.
    """
    disk = apply_writes(seen.before, events)
    used = scenario("question-after", (), ON_DEMAND, image=disk, more=USE, varied=False)
    try:
        run = bench.run_other(kernel, prefix, used)
        run.beacon(2)
    except Wrong as wrong:
        return wrong.came
    image = run.data_image.read_bytes()
    with memory_folder() as name:
        wrong = Judge(Path(name)).judge(image).wrong or read_verdict(image).wrong
    if wrong:
        return "; ".join(wrong)
    found = read_verdict(image).tree or {}
    if found.pop(f"/{AFTER}", None) is None:
        return f"/{AFTER} is not there"
    wrong, _ = seen.history.check(found, *progress(events), JOURNALLED)
    return "; ".join(wrong)


def progress(events: list[Event]) -> tuple[int, bool]:
    """Return how many operations have returned, and whether one more has begun."""
    kinds = [event.kind for event in events]
    return kinds.count("returned"), kinds.count("began") > kinds.count("returned")


def expect_shown(bench: Workbench) -> None:
    """Raise Wrong unless the answer shows what the given kernel loses."""
    answer = parse_answer(bench.files.get(ANSWER, ""))
    kernel = given_kernel(bench)
    seen = record_answer(bench, kernel, answer)
    events = cut_after(seen, answer.writes)
    said = f"{describe(answer.operations)}, cut after write {answer.writes}"
    trouble = find_trouble(bench, kernel, "given-", seen, events)
    expect(
        bool(trouble),
        "a cut after which the given kernel mounts the disk and does harm",
        f"{said}: all is well after the mount. What the given kernel wrote:\n{tell_writes(seen)}",
    )
    trouble = find_trouble(bench, bench.reference_kernel, "reference-", seen, events)
    expect(not trouble, "a cut after which the solution's kernel does no harm", trouble)
