"""Scores all submissions of a class, with a bar on a terminal, and otherwise a line for each."""

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from grade.cli.outcome import FAILED, make_folder, print_weakness, require_existing
from grade.course import classpage, classroom
from grade.definition.lab import find_lab
from grade.engine.formats import page
from grade.engine.record import Record
from sluice.experiment.progress import format_count
from sluice.host import printing
from sluice.host.paths import BUILD
from sluice.host.workers import open_workers


@dataclass(frozen=True)
class ClassRequest:
    """How a class is scored.

    out: the folder of the results. late: the students who handed in late. nonce: the nonce of an
    earlier scoring; without it, the nonce that the folder keeps, or a new nonce.
    """

    jobs: int
    out: Path | None = None
    late: Path | None = None
    nonce: str = ""
    scheduler: str = ""


@dataclass
class Pace:
    """The time left, by the submissions that were scored now.

    Submissions whose results exist already, or that are refused unread, take no time.
    """

    total: int
    now_s: Callable[[], float] = time.monotonic
    quick: int = 0
    scored: int = 0
    began_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.began_s = self.now_s()

    def count(self, step: classroom.Step) -> None:
        """Count one submission that is done."""
        if step.compared:
            return
        if step.resumed or step.record.status == "refused":
            self.quick += 1
        else:
            self.scored += 1

    def left(self) -> str:
        """Return the time left, in words; "" while it is unknown."""
        waiting = self.total - self.quick - self.scored
        if not self.scored or not waiting:
            return ""
        left_s = (self.now_s() - self.began_s) / self.scored * waiting
        return f"{left_s / 60:.0f} min left" if left_s >= 90 else f"{left_s:.0f} s left"


def step_line(step: classroom.Step) -> str:
    """Return a line about one submission, for a log."""
    record = step.record
    what = f"{record.score:g} of {record.most:g}"
    if record.status != "graded":
        what = classpage.describe_losses(record)
    there = ", there already" if step.resumed else ""
    if step.compared:
        return f"for comparison, {step.compared}: {step.name}{there}"
    return f"{step.name}: {what}{there}"


def report_failures(records: dict[str, Record]) -> int:
    """Print which submissions the grader failed to score. Returns the exit status."""
    failed = {name: record for name, record in records.items() if not record.has_score}
    for name, record in failed.items():
        print(f"{name} has no score: {' '.join(record.message.split())}", file=sys.stderr)
    if failed:
        print(
            f"the grader failed on {len(failed)} of {len(records)} submissions, and they have no "
            "score; the same command tries them again",
            file=sys.stderr,
        )
    return FAILED if failed else 0


def describe_records(records: dict[str, Record]) -> str:
    """Return how many submissions were graded, and how many were not, in a sentence."""
    counts = Counter(record.status for record in records.values())
    others = [f"{n} {status}" for status, n in counts.items() if status != "graded"]
    graded = f"{counts['graded']} graded"
    return f"{format_count(len(records), 'submission')}: {', '.join([graded, *others])}"


def score_class(lab_name: str, submissions: Path, asked: ClassRequest) -> int:
    """Score a folder of submissions, and write a table and a page. Returns the exit status."""
    lab = find_lab(lab_name)
    handed_in = require_existing(submissions)
    folder = make_folder(asked.out or BUILD / "class" / lab.name)
    print_weakness()
    pool = partial(open_workers, asked.jobs, asked.scheduler)
    late_csv = require_existing(asked.late) if asked.late else None
    console = Console()
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    left = TextColumn("{task.fields[left]}")
    with Progress(*columns, left, console=console, disable=not console.is_terminal) as bar:
        total = len(list(handed_in.glob("[!.]*")))
        task = bar.add_task(lab.name, total=total, left="")
        pace = Pace(total)

        def report(step: classroom.Step) -> None:
            """Print the lines of a step, and move the bar on."""
            pace.count(step)
            bar.update(task, advance=not step.compared, left=pace.left())
            for line in printing.fill_lines(step_line(step), 4):
                bar.print(line, markup=False, soft_wrap=True)

        try:
            records = classroom.score_class(
                lab, handed_in, folder, asked.nonce, report, pool, late_csv
            )
        except KeyboardInterrupt:
            scored = f"{bar.tasks[task].completed} of {total} submissions"
            raise KeyboardInterrupt(
                f"{scored} are scored and kept in {folder}; the same command goes on from there"
            ) from None
    print("\n".join(printing.fill_lines(describe_records(records), 0)))
    print(f"table: {folder / 'class.csv'}\npage:  {folder / 'class.html'}")
    print(f"each submission has a folder there, with its {page.FILE}")
    return report_failures(records)
