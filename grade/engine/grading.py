"""Makes the record of a submission, whatever happens on the way."""

import inspect
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import get_args

from grade.definition.lab import BadLab, Group, Lab, module
from grade.engine import certificate, pictures, rerun_files
from grade.engine.assertions import Slide, Tally, Wrong
from grade.engine.moments import MOMENT
from grade.engine.record import LAB_BROKEN, NOT_SCORED, Cost, GroupResult, Outcome, Record
from grade.engine.tree import build, policies_left_out
from grade.engine.workbench import Workbench
from grade.trust.compiler import BuildFailed
from grade.trust.submission import Refused
from grade.trust.untrusted_text import printable
from sluice.host.fault import HostFault, is_of_host, what_failed
from sluice.host.nearest import meant

BUDGET_S = 120  # of a processor (sluice/host/limits.py), all machines of a grading together

STATUS = {
    Refused: "refused",
    BuildFailed: "build failed",
    BadLab: LAB_BROKEN,
    HostFault: NOT_SCORED,
    OSError: NOT_SCORED,
    MemoryError: NOT_SCORED,
    subprocess.SubprocessError: NOT_SCORED,
}

FAULT = "policy fault"  # how the kernel's line about a wrong answer begins

Verdict = Slide | Tally | None  # of a test that did not raise Wrong
Take = Callable[[], dict[str, str]]
Watch = Callable[[Workbench], None]


class NoTest(Exception):
    """There is no such test; the text says which there are."""


@dataclass(frozen=True)
class Test:
    """A function of a lab's tests, and the points it is worth."""

    group: Group
    name: str
    about: str
    ask: Callable[[Workbench], Verdict]
    points: float

    @property
    def measures(self) -> bool:
        """True if it returns a Slide."""
        returns = inspect.signature(self.ask).return_annotation
        return Slide in (returns, *get_args(returns))

    @property
    def names(self) -> tuple[str, str]:
        """The names by which it may be chosen."""
        return self.group.name, f"{self.group.name}.{self.name}"


def functions(loaded: ModuleType) -> list[Callable[[Workbench], Verdict]]:
    """The module's own public functions with one argument `bench`, in their order."""
    return [
        value
        for name, value in vars(loaded).items()
        if inspect.isfunction(value)
        and value.__module__ == loaded.__name__
        and not name.startswith("_")
        and list(inspect.signature(value).parameters) == ["bench"]
    ]


def first_line(what: object) -> str:
    """The first paragraph of its docstring."""
    return (inspect.getdoc(what) or "").split("\n\n")[0].replace("\n", " ")


def tests(lab: Lab) -> Iterator[Test]:
    """The tests that this tree has, group by group. All tests of a group are worth the same."""
    for group in lab.groups:
        if group.path:
            asked = functions(module(group.path))
            for ask in asked:
                points = group.points / len(asked)
                yield Test(group, ask.__name__, first_line(ask), ask, points)


def chosen(lab: Lab, names: str) -> list[Test]:
    """All tests, or the named ones: GROUP or GROUP.TEST, separated by commas."""
    found = list(tests(lab))
    if not names:
        return found
    wanted = names.split(",")
    for name in wanted:
        if not any(name in test.names for test in found):
            there = dict.fromkeys(known for test in found for known in test.names)
            raise NoTest(f"TEST={name}: {lab.name} has no such group or test; {meant(name, there)}")
    return [test for test in found if set(test.names) & set(wanted)]


def stopping(bench: Workbench, lab: str, message: str) -> str:
    """The command that stops a student's machine at the first moment of which a message tells, in
    words; empty if there is no such moment, or if that run cannot be made again."""
    moment = MOMENT.search(message)
    if not moment or not (bench.folder / moment["run"] / rerun_files.ABOUT).exists():
        return ""
    command = rerun_files.command(lab, moment["run"], int(moment["number"]))
    return f"`{command}` stops there, in gdb, once `make grade` has made this run"


def blame(result: Outcome, bench: Workbench, lab: str, wrong: Wrong, count: str = "") -> None:
    """Put into a test's result what was wrong, and how often, if that was counted."""
    told = bench.told(wrong.moment) if wrong.moment else ""
    result.expected = wrong.expected
    stop = stopping(bench, lab, f"{wrong.came}\n{told}")
    result.came = printable("\n".join(filter(None, [wrong.came, told, count, stop])))


def expect_reading(test: Test, bench: Workbench, error: Exception) -> None:
    """Raise HostFault if it is not the submission that a test could not read: the test cannot read
    the solution's machines either."""
    said = f"the test {test.names[1]}: {what_failed(error)}"
    if is_of_host(error):
        raise HostFault(said) from error
    try:
        test.ask(bench.control())
    except Wrong:
        return
    except Exception as again:
        raise HostFault(f"{said}; with the solution: {what_failed(again)}") from again


def ask(test: Test, bench: Workbench, lab: str, command: str) -> Outcome:
    """The result of one test."""
    most = round(test.points, 2)
    result = Outcome(test.group.name, test.name, test.about, test.group.hidden, 0, most)
    result.measured = test.measures
    again = f"TEST={result.id} NONCE={bench.nonce}"
    result.reproduce, result.debug = f"{command} {again}", f"{command} {again} GDB=1"
    result.at_home = f"make grade LAB={lab} {again}"
    bench.asked.clear()
    try:
        verdict = test.ask(bench)
    except Wrong as wrong:
        blame(result, bench, lab, wrong)
    except (BadLab, HostFault):
        raise
    except Exception as error:  # what a wild kernel leaves may surprise any test
        expect_reading(test, bench, error)
        result.expected = "evidence that the test can read"
        result.came = printable(f"{type(error).__name__}: {error}")
    else:
        result.points = round(test.points * verdict.share, 2) if verdict else result.most
        if isinstance(verdict, Slide):
            result.expected, result.came = verdict.expected(), verdict.came()
            result.picture, result.unit = verdict.picture(), verdict.unit
            result.value, result.full, result.none = verdict.value, verdict.full, verdict.none
        elif verdict and verdict.first:
            blame(result, bench, lab, verdict.first, verdict.came())
    result.runs = list(dict.fromkeys(bench.asked))
    note = bench.fault_note(result.runs)
    if note and not result.passed and FAULT not in result.came:
        result.came += f"\n{printable(note)}"
    return result


def add_up(record: Record, asked: list[Test]) -> None:
    """The groups' points, and the score."""
    for group in dict.fromkeys(test.group for test in asked):
        rows = record.of(group.name)
        most = round(sum(t.points for t in asked if t.group == group), 2)
        full = rows and all(row.passed for row in rows)
        points = most if full else round(sum(row.points for row in rows), 2)
        about = first_line(module(group.path))
        record.groups.append(GroupResult(group.name, about, group.hidden, points, most))
    record.score = round(sum(group.points for group in record.groups), 2)


def asked_of(bench: Workbench, lab: Lab, only: str) -> Record:
    """The record of what a workbench's kernel gets in all groups, or in these."""
    asked = chosen(lab, only)
    record = Record(lab.name, lab.title, bench.nonce)
    record.most = round(sum(test.points for test in asked), 2)
    record.tests = [ask(test, bench, lab.name, "") for test in asked]
    add_up(record, asked)
    return record


def hidden_only(tests: list[Outcome]) -> set[str]:
    """The runs that only hidden tests have asked for."""
    hidden = {run for test in tests if test.hidden for run in test.runs}
    shown = {run for test in tests if not test.hidden for run in test.runs}
    return hidden - shown


def used() -> tuple[float, float]:
    """Processor seconds and the most memory in MB, of this process and its children.

    The children run one at a time. On Linux a process begins with the peak of the process that
    started it. So a child counts at least as much as this process.
    """
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in both), sum(u.ru_maxrss for u in both) / 1024


def grade(
    lab: Lab,
    take: Take,
    folder: Path,
    nonce: str,
    command: str,
    only: str = "",
    gdb: Path | None = None,
    beside: bool = False,
    watch: Watch | None = None,
) -> Record:
    """The record of the files that `take` returns. `take` may raise Refused.

    command: the command that repeats it; only: groups or tests, separated by commas; folder: for
    what is made; beside: for the pictures, have the reference run everything that the submission
    ran; watch: called with the machines' runs when all tests have been asked.
    """
    began_s, (cpu_s, _) = time.monotonic(), used()
    asked = chosen(lab, only)
    record = Record(lab.name, lab.title, nonce, most=round(sum(t.points for t in asked), 2))
    record.columns = [test.names[1] for test in asked if test.measures and not test.group.hidden]
    record.not_here = sum(group.points for group in lab.groups if not group.path)
    try:
        files = take()
        record.made_from = certificate.made_from(lab, files)
        kernel = build(folder, lab, files)
        record.made_from.kernel = certificate.of_kernel(kernel)
        reference = Path(shutil.copy2(lab.reference, folder / "reference.elf"))  # for machine.sh
        bench = Workbench(kernel, reference, folder / "runs", nonce, BUDGET_S, gdb, files)
        bench.absent = policies_left_out(lab)
        record.tests = [ask(test, bench, lab.name, command) for test in asked]
        record.made_from.runs = certificate.of_runs(bench)
        record.pictures = pictures.taken(bench, hidden_only(record.tests), beside)
        if watch:
            watch(bench)
    except tuple(STATUS) as error:
        kind = next(kind for kind in STATUS if isinstance(error, kind))
        said = what_failed(error) if STATUS[kind] == NOT_SCORED else str(error)
        record.status, record.message, record.tests = STATUS[kind], said, []
    add_up(record, asked)
    host_s, (now_s, peak_mb) = time.monotonic() - began_s, used()
    record.cost = Cost(round(host_s, 1), round(now_s - cpu_s, 1), round(peak_mb))
    return record
