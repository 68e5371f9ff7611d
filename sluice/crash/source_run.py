"""`sluice crash sources`: planted faults of the sources, each built into a twin and judged."""

import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from sluice.crash.checker import E2FSCK
from sluice.crash.crews import try_tasks
from sluice.crash.disk_events import BadRecording
from sluice.crash.disk_kinds import open_laboratory
from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import MEMORY_FOLDER, limit_trials
from sluice.crash.replayed_disk import make_disk
from sluice.crash.source_faults import SourceFault, build_with
from sluice.crash.story import format_story, make_story, simplicity
from sluice.crash.workloads import Workload, find_workload

FIRST_CUTS = 1  # failures that end the judging of a workload


@dataclass(frozen=True)
class Found:
    """The result of a fault: the judges' first complaint ("": none), and its story."""

    fault: str
    wrong: str
    story: str
    seconds: float


def judge_image(mkfs: Path, folder: Path) -> str:
    """Have a mkfs make an image. Returns what e2fsck finds in it, or ""."""
    path = folder / "image"
    made = make_disk(mkfs, path)
    if made.returncode:
        return f"mkfs: {made.stderr.strip()}"
    done = subprocess.run(
        [E2FSCK, "-fn", str(path)], capture_output=True, encoding="utf-8", check=False
    )
    said = "; ".join(line for line in done.stdout.splitlines() if "?" in line or ":" in line)
    return f"e2fsck -fn: status {done.returncode}: {said}" if done.returncode else ""


def judge_workload(laboratory: Laboratory, workload: Workload, most: int | None) -> tuple[str, str]:
    """Return what the judges say first of a workload's cuts, and the story of the simplest, or ""
    twice."""
    with limit_trials(laboratory.machine):
        try:
            outcome = laboratory.try_workload(workload, most=most, keep_cuts=True)
        except BadRecording as error:
            return str(error), str(error)
        if not outcome.failures:
            return "", ""
        failure = min(outcome.failures, key=simplicity)
        if failure.cut.number >= len(outcome.tried):
            return failure.wrong[0], f"Lost: {workload}\n{failure.wrong[0]}"
        story = make_story(laboratory, outcome, failure, None)
    return failure.wrong[0], format_story(story, laboratory)


def try_fault(_: object, fault: SourceFault, most: int | None = FIRST_CUTS) -> Found:
    """Build a fault and judge it. most: the failing cuts after which judging ends; None: judge all
    cuts, so that the story is that of the simplest one."""
    began_s = time.monotonic()
    place = MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="sluice-crash-", dir=place) as name:
        folder = Path(name)
        built = build_with(fault, folder)
        if fault.on == "image":
            wrong = story = judge_image(built, folder)
        else:
            with open_laboratory(fault.on, fault.block, built) as laboratory:
                wrong, story = judge_workload(laboratory, find_workload(fault.workload), most)
    return Found(fault.name, wrong, story, time.monotonic() - began_s)


def try_completely(nothing: object, fault: SourceFault) -> Found:
    """Build a fault and judge all cuts."""
    return try_fault(nothing, fault, None)


def run_faults(faults: Sequence[SourceFault], jobs: int, tells: bool) -> bool:
    """Try faults, and print what came of each; tells: with its simplest story. Returns whether all
    were found."""
    found = {}
    attempt = try_completely if tells else try_fault
    for _, one in try_tasks(faults, jobs, nullcontext, attempt):
        found[one.fault] = one
        fault = next(fault for fault in faults if fault.name == one.fault)
        said = f"found in {one.seconds:.1f} s" if one.wrong else "NOT FOUND"
        print(f"{fault.name} ({fault.kind}, {fault.file}): {said}: {fault.about}")
        print("\n" + one.story + "\n" if tells else f"    {one.wrong[:150]}")
    missed = [name for name, one in found.items() if not one.wrong]
    print(f"{len(found) - len(missed)} of {len(found)} source faults found")
    for name in missed:
        print(f"NOT FOUND: {name}: the judges are wrong")
    return not missed
