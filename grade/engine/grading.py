"""Grade a submission: run its tests and make its record, also if it cannot be graded."""

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

from grade.definition.lab import BadLab, Group, Lab, import_file
from grade.engine import certificate, pictures, rerun_files
from grade.engine.assertions import Slide, Tally, Wrong
from grade.engine.moments import MOMENT
from grade.engine.record import LAB_BROKEN, NOT_SCORED, Cost, GroupResult, Outcome, Record
from grade.engine.tree import build_kernel, find_unlinked_policies
from grade.engine.workbench import Workbench
from grade.trust.archive import Refused
from grade.trust.compiler import BuildFailed
from grade.trust.untrusted_text import make_printable
from sluice.host.fault import HostFault, describe_fault, is_host_fault
from sluice.host.nearest import suggest

BUDGET_S = 120  # processor seconds of all machines of a grading (sluice/host/limits.py)

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

Verdict = Slide | Tally | None  # what a test returns if it does not raise Wrong
Take = Callable[[], dict[str, str]]
Watch = Callable[[Workbench], None]


class NoTest(Exception):
    """The error for a test that does not exist; the text lists the tests."""


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
        """True if the test returns a Slide."""
        returns = inspect.signature(self.ask).return_annotation
        return Slide in (returns, *get_args(returns))

    @property
    def names(self) -> tuple[str, str]:
        """The two names by which the test may be chosen: its group's, and GROUP.TEST."""
        return self.group.name, f"{self.group.name}.{self.name}"


def test_functions(loaded: ModuleType) -> list[Callable[[Workbench], Verdict]]:
    """Return the module's own public functions with one argument `bench`, in their order."""
    return [
        value
        for name, value in vars(loaded).items()
        if inspect.isfunction(value)
        and value.__module__ == loaded.__name__
        and not name.startswith("_")
        and list(inspect.signature(value).parameters) == ["bench"]
    ]


def first_paragraph(what: object) -> str:
    """Return the first paragraph of the docstring of a module or function."""
    return (inspect.getdoc(what) or "").split("\n\n")[0].replace("\n", " ")


def list_tests(lab: Lab) -> Iterator[Test]:
    """Yield the tests that this tree has, group by group.

    All tests of a group are worth the same.
    """
    for group in lab.groups:
        if group.path:
            asked = test_functions(import_file(group.path))
            for ask in asked:
                points = group.points / len(asked)
                yield Test(group, ask.__name__, first_paragraph(ask), ask, points)


def choose_tests(lab: Lab, names: str) -> list[Test]:
    """Return all tests, or the named ones. Raises NoTest.

    names: GROUP or GROUP.TEST, separated by commas; empty means all.
    """
    found = list(list_tests(lab))
    if not names:
        return found
    wanted = names.split(",")
    for name in wanted:
        if not any(name in test.names for test in found):
            there = dict.fromkeys(known for test in found for known in test.names)
            raise NoTest(
                f"TEST={name}: {lab.name} has no such group or test; {suggest(name, there)}"
            )
    return [test for test in found if set(test.names) & set(wanted)]


def suggest_debugging(bench: Workbench, lab: str, message: str) -> str:
    """Return advice on how to stop a student's machine at the first moment in a message.

    It is empty if the message has no moment, or if that run cannot be made again.
    """
    moment = MOMENT.search(message)
    if not moment or not (bench.folder / moment["run"] / rerun_files.ABOUT).exists():
        return ""
    command = rerun_files.debug_command(lab, moment["run"], int(moment["number"]))
    return f"`{command}` stops there, in gdb, once `make grade` has made this run"


def record_failure(
    result: Outcome, bench: Workbench, lab: str, wrong: Wrong, count: str = ""
) -> None:
    """Put into a test's result what was wrong, and how often, if that was counted."""
    told = bench.describe_moment(wrong.moment) if wrong.moment else ""
    result.expected = wrong.expected
    stop = suggest_debugging(bench, lab, f"{wrong.came}\n{told}")
    result.came = make_printable("\n".join(filter(None, [wrong.came, told, count, stop])))


def check_with_solution(test: Test, bench: Workbench, error: Exception) -> None:
    """Raise HostFault if the test cannot read the solution's machines either.

    Then the submission is not the cause of `error`.
    """
    said = f"the test {test.names[1]}: {describe_fault(error)}"
    if is_host_fault(error):
        raise HostFault(said) from error
    try:
        test.ask(bench.control_bench())
    except Wrong:
        return
    except Exception as again:
        raise HostFault(f"{said}; with the solution: {describe_fault(again)}") from again


def run_test(test: Test, bench: Workbench, lab: str, command: str) -> Outcome:
    """Run one test and return its result.

    command: the command that graded, to which TEST= and NONCE= are added.
    """
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
        record_failure(result, bench, lab, wrong)
    except (BadLab, HostFault):
        raise
    except Exception as error:  # a wild kernel can leave data that no test expects
        check_with_solution(test, bench, error)
        result.expected = "evidence that the test can read"
        result.came = make_printable(f"{type(error).__name__}: {error}")
    else:
        result.points = round(test.points * verdict.share, 2) if verdict else result.most
        if isinstance(verdict, Slide):
            result.expected, result.came = verdict.describe_expected(), verdict.describe_found()
            result.picture, result.unit = verdict.draw_scale(), verdict.unit
            result.value, result.full, result.none = verdict.value, verdict.full, verdict.none
        elif verdict and verdict.first:
            record_failure(result, bench, lab, verdict.first, verdict.describe_found())
    result.runs = list(dict.fromkeys(bench.asked))
    note = bench.fault_note(result.runs)
    if note and not result.has_all_points and FAULT not in result.came:
        result.came += f"\n{make_printable(note)}"
    return result


def sum_points(record: Record, asked: list[Test]) -> None:
    """Add the groups' points, and the score, to the record. asked: the tests that were to be run.

    If all tests of a group have all their points, the group has its most points: rounding each test
    must not take some away.
    """
    for group in dict.fromkeys(test.group for test in asked):
        rows = record.tests_of_group(group.name)
        most = round(sum(t.points for t in asked if t.group == group), 2)
        full = rows and all(row.has_all_points for row in rows)
        points = most if full else round(sum(row.points for row in rows), 2)
        about = first_paragraph(import_file(group.path)) if group.path else ""
        record.groups.append(GroupResult(group.name, about, group.hidden, points, most))
    record.score = round(sum(group.points for group in record.groups), 2)


def grade_bench(bench: Workbench, lab: Lab, only: str) -> Record:
    """Return the record of a workbench's kernel in all groups, or in those of `only`."""
    asked = choose_tests(lab, only)
    record = Record(lab.name, lab.title, bench.nonce)
    record.most = round(sum(test.points for test in asked), 2)
    record.tests = [run_test(test, bench, lab.name, "") for test in asked]
    sum_points(record, asked)
    return record


def hidden_runs(tests: list[Outcome]) -> set[str]:
    """Return the names of the runs that only hidden tests used."""
    hidden = {run for test in tests if test.hidden for run in test.runs}
    shown = {run for test in tests if not test.hidden for run in test.runs}
    return hidden - shown


def resource_usage() -> tuple[float, float]:
    """Return the processor seconds and the peak memory in MB of this process and its children.

    The children run one at a time. On Linux a process begins with the peak of the process that
    started it. So a child counts at least as much as this process.
    """
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in both), sum(u.ru_maxrss for u in both) / 1024


def grade_submission(
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
    """Grade the files that `take` returns, and return the record. `take` may raise Refused.

    command: the command that repeats the grading. only: groups or tests, separated by commas.
    folder: where kernels and runs are made. beside: for the pictures, also run the reference on
    each scenario that the submission ran. watch: called with the workbench when all tests have been
    run.
    """
    began_s, (cpu_s, _) = time.monotonic(), resource_usage()
    asked = choose_tests(lab, only)
    record = Record(lab.name, lab.title, nonce, most=round(sum(t.points for t in asked), 2))
    record.columns = [test.names[1] for test in asked if test.measures and not test.group.hidden]
    record.not_here = sum(group.points for group in lab.groups if not group.path)
    try:
        files = take()
        record.made_from = certificate.hash_inputs(lab, files)
        kernel = build_kernel(folder, lab, files)
        record.made_from.kernel = certificate.hash_kernel(kernel)
        reference = Path(shutil.copy2(lab.reference, folder / "reference.elf"))  # for machine.sh
        bench = Workbench(kernel, reference, folder / "runs", nonce, BUDGET_S, gdb, files)
        bench.absent = find_unlinked_policies(lab)
        record.tests = [run_test(test, bench, lab.name, command) for test in asked]
        record.made_from.runs = certificate.hash_runs(bench)
        record.pictures = pictures.make_pictures(bench, hidden_runs(record.tests), beside)
        if watch:
            watch(bench)
    except tuple(STATUS) as error:
        kind = next(kind for kind in STATUS if isinstance(error, kind))
        said = describe_fault(error) if STATUS[kind] == NOT_SCORED else str(error)
        record.status, record.message, record.tests = STATUS[kind], said, []
    sum_points(record, asked)
    host_s, (now_s, peak_mb) = time.monotonic() - began_s, resource_usage()
    record.cost = Cost(round(host_s, 1), round(now_s - cpu_s, 1), round(peak_mb))
    return record
