"""`sluice crash`: a campaign as it is typed, its progress and its summary, and one cut told.

A campaign first tries the planted faults, and then the workloads: all of one operation, all of two
(--length 2), and random ones of three by seed (--seeds, --for). What was tried is kept under a hash
of all that decides about it, so the same command goes on where it was stopped.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from sluice.crash.campaign_table import command_of, put_row
from sluice.crash.crews import Task, try_task, try_tasks
from sluice.crash.faults import Fault
from sluice.crash.laboratory import Laboratory
from sluice.crash.log_faults import faults_for
from sluice.crash.machine import Setup
from sluice.crash.oracle import Promise
from sluice.crash.points import OF_ORDER, end_with_point
from sluice.crash.replayed_disk import LogLaboratory, fit_setup
from sluice.crash.story import (
    format_story,
    reduce_workload,
    tell,
)
from sluice.crash.together import workload_together
from sluice.crash.tried import FOLDER, Journal, Row, campaign_key, make_row
from sluice.crash.workloads import all_workloads, find_workload, random_workload

CRASHMONKEY = 1640  # workloads an hour on one machine, by its README
SHOW_S = 2  # between lines of progress
MOST_TOLD = 3  # failures that are told in full


@dataclass(frozen=True)
class CampaignRequest:
    """A campaign: its machine, the cuts that it tries, and its workloads."""

    setup: Setup
    promise: Promise
    volatile: bool = True  # the drive has a volatile cache
    tear_older: bool = False  # writes before the newest one are torn, too
    prunes: bool = False  # writes that an order rule guards are left out
    points: bool = False  # cuts are at persistence points only (points.py)
    length: int = 1  # operations of the exhaustive workloads, at most
    pairs: int = 0  # random workloads of two operations
    seeds: int = 0  # random workloads of three operations
    together: int = 0  # workloads in which several processes fsync at once
    for_s: float = 0  # how long to go on with further workloads of three operations
    jobs: int = 1
    folder: Path = FOLDER  # where the campaign is kept
    options: str = ""  # the options of the command that say what machine it is
    page: bool = False  # the campaign's row goes into the book
    log: bool = False  # the disk has a log that has to be replayed


@dataclass(frozen=True)
class Summary:
    """The result of a campaign, for documents. Times are those of this run of the command alone."""

    args: str
    workloads: int
    cuts: int
    images: int
    stale_cuts: int
    failures: int
    faults: int
    faults_found: int
    checks: int
    mount_mean_ms: float
    mount_most_ms: float
    seconds: float
    cuts_a_minute: int
    workloads_an_hour: int
    workloads_a_processor_hour: int


def list_tasks(request: CampaignRequest) -> list[Task]:
    """Return a campaign's fixed tasks: planted faults, all workloads up to the length, and the
    random ones by seed. The further ones of --for are not included."""
    every = [make_task(request, fault.workload, fault.name) for fault in list_faults(request)]
    for length in range(1, request.length + 1):
        every += [make_task(request, workload.name) for workload in all_workloads(length)]
    every += [make_task(request, random_workload(seed, 2).name) for seed in range(request.pairs)]
    every += [make_task(request, random_workload(seed).name) for seed in range(request.seeds)]
    every += [make_task(request, workload_together(seed).name) for seed in range(request.together)]
    return list(dict.fromkeys(every))


def list_faults(request: CampaignRequest) -> list[Fault]:
    """Return the planted faults that a campaign must find."""
    faults = faults_for(request.setup, request.volatile, request.tear_older)
    return [fault for fault in faults if not request.points or fault.name not in OF_ORDER]


def make_task(request: CampaignRequest, workload: str, fault: str = "") -> Task:
    """Return the task of a workload, which ends with a persistence point if cuts are there only."""
    if request.points:
        workload = end_with_point(find_workload(workload)).name
    return Task(workload, fault)


def iterate_tasks(request: CampaignRequest, journal: Journal, began_s: float) -> Iterator[Task]:
    """Yield what is to be tried and has not been."""
    yield from (task for task in list_tasks(request) if not journal.has(task))
    seed = request.seeds
    while time.monotonic() - began_s < request.for_s:
        task = make_task(request, random_workload(seed).name)
        seed += 1
        if not journal.has(task):
            yield task


def make_laboratory(request: CampaignRequest) -> Laboratory:
    """Return the laboratory of a campaign."""
    kind = LogLaboratory if request.log else Laboratory
    setup = fit_setup(request.setup) if request.log else request.setup
    return kind(setup, request.promise, request.volatile, request.tear_older, request.prunes)


def run_campaign(request: CampaignRequest) -> bool:
    """Try all workloads of a campaign. Returns whether none failed and each planted fault was
    found."""
    how = request.volatile, request.tear_older, request.prunes, request.points
    key = campaign_key(request.setup, request.promise, *how)
    journal = Journal(request.folder / f"{key}.jsonl")
    if journal.rows:
        print(f"{len(journal.rows)} workloads were tried before")
    began_s, shown_s, new = time.monotonic(), 0.0, []
    tasks = iterate_tasks(request, journal, began_s)
    attempt = partial(try_task, points=request.points)
    spent_s = processor_s()
    for task, outcome in try_tasks(tasks, request.jobs, partial(make_laboratory, request), attempt):
        row = make_row(task, outcome)
        journal.append(row)
        new.append(row)
        if time.monotonic() - shown_s > SHOW_S:
            shown_s = time.monotonic()
            show_progress(new, shown_s - began_s)
    times_s = time.monotonic() - began_s, processor_s() - spent_s
    summary = summarise(request, journal, new, *times_s)
    path = request.folder / f"{key}.json"
    path.write_text(json.dumps(asdict(summary), indent=1) + "\n", encoding="utf-8")
    print(format_summary(summary, path))
    if request.page:
        counts = (request.pairs, request.seeds, request.together)
        options = request.options + " --points" * request.points
        command = command_of(request.length, counts, options)
        put_row(command, make_cells(summary))
    tell_failures(request, journal)
    return not summary.failures and summary.faults_found == summary.faults


def processor_s() -> float:
    """Return the processor time of all processes that have ended, in seconds."""
    times = os.times()
    return times.children_user + times.children_system


def show_progress(rows: list[Row], seconds: float) -> None:
    """Print how far a campaign is, on one line of a terminal."""
    if sys.stderr.isatty():
        cuts, failed = (
            sum(row.cuts for row in rows),
            sum(bool(r.failed) for r in rows if not r.fault),
        )
        text = f"{len(rows)} workloads, {cuts:,} cuts, {cuts / seconds * 60:,.0f} a minute"
        print(f"\r{text}, {failed} failed \033[K", end="", file=sys.stderr, flush=True)


def summarise(
    request: CampaignRequest, journal: Journal, new: list[Row], seconds: float, spent_s: float
) -> Summary:
    """Return what came of a campaign."""
    asked = {task.workload for task in list_tasks(request)} | {row.workload for row in new}
    tried_ever = (row for row in journal.rows.values() if not row.fault)
    # A campaign with --for adds to what it tried before.
    rows = [row for row in tried_ever if request.for_s or row.workload in asked]
    faults = [row for row in journal.rows.values() if row.fault]
    images = sum(row.images for row in rows)
    tried = [row for row in new if not row.fault]
    return Summary(
        args=request.setup.args,
        workloads=len(rows),
        cuts=sum(row.cuts for row in rows),
        images=images,
        stale_cuts=sum(row.stale for row in rows),
        failures=sum(bool(row.failed) for row in rows),
        faults=len(list_faults(request)),
        faults_found=sum(bool(row.failed) for row in faults),
        checks=sum(row.checks for row in rows),
        mount_mean_ms=round(sum(row.mount_sum_ns for row in rows) / max(images, 1) / 1e6, 3),
        mount_most_ms=round(max((row.mount_most_ns for row in rows), default=0) / 1e6, 3),
        seconds=round(seconds, 1),
        cuts_a_minute=round(sum(row.cuts for row in tried) / seconds * 60),
        workloads_an_hour=round(len(tried) / seconds * 3600),
        workloads_a_processor_hour=round(len(tried) / max(spent_s, 0.01) * 3600),
    )


def make_cells(summary: Summary) -> list[str]:
    """Return the cells of a campaign's row in the book, which are the same on each computer."""
    counts = (summary.workloads, summary.cuts, summary.images, summary.stale_cuts, summary.failures)
    return [*(f"{n:,}" for n in counts), f"{summary.faults_found} of {summary.faults}"]


def format_summary(summary: Summary, path: Path) -> str:
    """Return a summary as text."""
    times = summary.workloads_an_hour / CRASHMONKEY
    each_hour = summary.workloads_a_processor_hour
    lines = [
        f"{summary.workloads:,} workloads, {summary.cuts:,} cuts, {summary.images:,} images",
        f"{summary.faults_found} of {summary.faults} planted faults found",
        f"{summary.stale_cuts:,} cuts show old bytes in blocks that no fsync had confirmed",
        f"{summary.checks:,} checks that writes obey the order rules",
        f"A mount after a cut takes {summary.mount_mean_ms:.2f} ms in the mean, "
        f"{summary.mount_most_ms:.2f} ms at most, of virtual time",
        f"{summary.cuts_a_minute:,} cuts a minute",
        f"{summary.workloads_an_hour:,} workloads an hour, {times:.0f} times CrashMonkey's",
        f"{each_hour:,} workloads in an hour of one processor, the planted faults' time included",
        f"{summary.failures} workloads lost something" if summary.failures else "Nothing was lost.",
        f"The numbers are in {path}",
    ]
    return "\n".join(lines)


def tell_failures(request: CampaignRequest, journal: Journal) -> None:
    """Print the first failures, each reduced, and the planted faults that were not found."""
    rows = list(journal.rows.values())
    for row in rows:
        if row.fault and not row.failed:
            print(f"NOT FOUND: {row.fault}, in `{row.workload}`: the judges are wrong")
    failed = sorted((row for row in rows if row.failed and not row.fault), key=row_length)
    if not failed:
        return
    with make_laboratory(request) as laboratory:
        for row in failed[:MOST_TOLD]:
            workload = reduce_workload(laboratory, find_workload(row.workload), None)
            story = tell(laboratory, workload)
            if story:
                print("\n" + format_story(story, laboratory, request.options))
    for row in failed[MOST_TOLD:]:
        print(f"also: sluice crash show '{row.workload}' --cut {row.failed[0]}{request.options}")


def row_length(row: Row) -> int:
    """Return how many operations a row's workload has."""
    return len(find_workload(row.workload).operations)
