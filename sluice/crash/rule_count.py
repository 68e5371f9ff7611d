"""`sluice crash sources --rules`: how many of the planted faults break an order rule.

A fault is planted, its workload is done once, and each of its writes is checked against the rules
(order_rules.py, name_rules.py). Nothing is judged. Faults of the log's replay and of `mkfs` are not
counted, because what recovery writes and what an image has obey no order rule.
"""

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from sluice.crash.campaign_table import PAGE
from sluice.crash.crews import try_tasks
from sluice.crash.disk_kinds import FILES, JOURNAL, open_laboratory
from sluice.crash.faults import FAULTS, Fault, plant
from sluice.crash.log_faults import LOG_FAULTS
from sluice.crash.machine import MEMORY_FOLDER
from sluice.crash.source_faults import SourceFault, build_with
from sluice.crash.workloads import find_workload
from sluice.experiment.aligned import format_table
from sluice.host import page_tables

TABLE = "<!-- table: rules -->"
HEAD = ["planted into", "disk", "faults", "break a rule"]
BLOCK = "1K"  # of the disks of faults that are planted into writes: their writes are the most
DISKS = {FILES: "without a journal", JOURNAL: "with a journal"}


@dataclass(frozen=True)
class Counted:
    """A fault: where it is planted, its kind of disk, and the first rule that it breaks, or ""."""

    where: str
    on: str
    name: str
    broken: str


def count_planted(on: str, faults: Sequence[Fault]) -> list[Counted]:
    """Return what became of faults that are planted into what was written."""
    found = []
    with open_laboratory(on, BLOCK) as laboratory:
        for fault in faults:
            events = laboratory.record(find_workload(fault.workload))
            planted = plant(fault, laboratory.base.disk)(events)
            broken = laboratory.check_rules(planted).broken
            found.append(Counted("writes", on, fault.name, broken[0] if broken else ""))
    return found


def count_source(_: object, fault: SourceFault) -> Counted:
    """Build a fault of the sources, and return what became of it."""
    place = MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="sluice-crash-", dir=place) as name:
        twin = build_with(fault, Path(name))
        with open_laboratory(fault.on, fault.block, twin) as laboratory:
            events = laboratory.record(find_workload(fault.workload))
            broken = laboratory.check_rules(events).broken
    return Counted("sources", fault.on, fault.name, broken[0] if broken else "")


def make_rows(counted: Sequence[Counted]) -> list[list[str]]:
    """Return the table: a row for each place and disk that has faults."""
    rows = [HEAD]
    for where in ("writes", "sources"):
        for on, disk in DISKS.items():
            here = [one for one in counted if (one.where, one.on) == (where, on)]
            if here:
                broken = sum(bool(one.broken) for one in here)
                rows.append([where, disk, str(len(here)), str(broken)])
    return rows


def run_count(faults: Sequence[SourceFault], jobs: int, page: bool) -> bool:
    """Print the rule that each fault breaks, and a table. page: it goes into the book. Returns
    True."""
    counted = [*count_planted(FILES, FAULTS), *count_planted(JOURNAL, LOG_FAULTS)]
    of_rules = [fault for fault in faults if fault.on in DISKS]
    found = {one.name: one for _, one in try_tasks(of_rules, jobs, nullcontext, count_source)}
    counted += [found[fault.name] for fault in of_rules]
    for one in counted:
        print(f"{one.where}, {DISKS[one.on]}: {one.name}: {one.broken or 'no rule'}")
    rows = make_rows(counted)
    print("\n".join(format_table(rows, words=(1,))))
    if page:
        page_tables.put_table(PAGE, TABLE, rows)
    return True
