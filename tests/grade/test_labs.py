"""Each lab proves itself: the reference has all points, the skeleton few, mistakes are named.

A grading goes on only until it is clear what the test asks: a group until one of its tests has
noticed the mistake, an attack until it has lost the points that it must. Tests whose machines do
little work run first.

In the quick form, which every `make test` runs, a twelfth of the mistakes and attacks of each lab,
and a sixth of the skeletons, is tried, drawn by the commit (whole.py). A mistake is held against
one of the groups that must notice it, such that each group has mistakes to notice. Mistakes and
skeletons are graded on the twin (twin_grading.py), which does the same in less time. So are the
references, but that the machine grades a third of them, drawn by the commit too, except for what
would take it longest.

The full form (`make test T=test_labs.py FULL=1`) holds a mistake against all groups on the twin:
its own must notice it, and every other must be content. In the machine each group must notice one
of them. It asks the machine, and all groups, about attacks; it also wants each hole to matter on
its own, and a grading to fit a small machine. `make test LAB=NAME` runs it for one lab.
"""

import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import typed
from _pytest.mark import ParameterSet
from whole import ONE, WHOLE, draw, draw_word, in_full

from grade.definition.lab import (
    FULL,
    Attack,
    Hole,
    Lab,
    Mistake,
    load_attacks,
    load_labs,
    load_mistakes,
)
from grade.engine import answers, grading, tree, twin_grading, workbench
from grade.engine.formats import people
from grade.engine.record import Cost, Outcome, Record, parse_record, read_cost
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench
from grade.trust import compiler, sandbox
from sluice.host.limits import host_slowdown
from sluice.host.paths import ROOT
from sluice.system import image

NONCE = "7"
# Labs whose grading takes long: their tests come first.
LONG = ("open", "place", "smooth", "watermark", "decluster")
LABS = sorted(
    (lab for lab in load_labs() if not lab.handed_out and lab.name == (ONE or lab.name)),
    key=lambda lab: LONG.index(lab.name) if lab.name in LONG else len(LONG),
)
WRONG = [(lab, mistake) for lab in LABS for mistake in load_mistakes(lab)]
ATTACKS = [(lab, attack) for lab in LABS for attack in load_attacks(lab)]
# Only holes that are a function: one of several new policies may do the work of the others.
HOLES = [(lab, hole) for lab in LABS for hole in lab.holes if hole.function]
# The longest work of a machine, which the twin does in the quick form: these groups of the
# reference, and attacks by what a policy does, which need no forgery that only a machine would
# show.
LONGEST = {
    "open": {"age", "writes", "mean", "spread", "worst", "elsewhere"},
    "place": {"track", "cylinder", "arm", "full", "response", "elsewhere"},
    "decluster": {"response"},
}
LONGEST_ATTACKS = {
    ("journal", "does-nothing"),
    ("open", "does-nothing"),
    ("watermark", "always-clean"),
}
SKELETON_MOST = 20
MISTAKES_LEAST = 5
MEMORY_MB, PROCESSOR_S = 512, 120  # of a grading, at most
ENDLESS_S = 8  # of a processor: what computes without end is stopped, but for attacks in full
A_BOOT = 8000  # events that a machine traces while it works as long as one boots


def one_group_each(lab: Lab) -> dict[str, str]:
    """Return, by the name of each mistake of a lab, a group that must notice it: of its groups the
    one that has the fewest mistakes so far."""
    chosen: dict[str, str] = {}
    for mistake in load_mistakes(lab):
        used = Counter(chosen.values())
        chosen[mistake.name] = min(sorted(mistake.loses), key=lambda group: used[group])
    return chosen


def one_for_each_group(lab: Lab) -> dict[str, Mistake]:
    """Return, by the name of a group, the first mistake for which one_group_each chooses that
    group."""
    of = one_group_each(lab)
    return {of[mistake.name]: mistake for mistake in reversed(load_mistakes(lab))}


def lab_parameters(
    lab: Lab, *of: Mistake | Attack | Hole | str, name: str = "", engine: str = "machine"
) -> ParameterSet:
    """Return the parameters of a test, marked. All tests of a lab with one engine share a worker,
    so its reference runs once in each. Tests that have a name of their own are drawn among those of
    their lab."""
    marks = [pytest.mark.xdist_group(f"{lab.name} {engine}")]
    if name:
        marks.append(pytest.mark.drawn(12, among=lab.name))
    return pytest.param(lab, *of, id="-".join(filter(None, (lab.name, name))), marks=marks)


def lab_mark(engine: str) -> pytest.MarkDecorator:
    """Return the mark of a test that asks this engine about each lab."""
    of_labs = [lab_parameters(lab, engine=engine) for lab in LABS]
    return pytest.mark.parametrize("lab", of_labs)


each_lab = lab_mark("machine")


Known = dict[tuple[type[Workbench], str, Scenario], Run]


@pytest.fixture(scope="session")
def known() -> Known:
    """Return a store for runs of the reference, by where it ran, the nonce, and the task."""
    return {}


def keep_files(run: Run, folder: Path) -> Run:
    """Return the run, with files that stay when the test that made it has passed; not the large
    disk with the programs."""
    large = shutil.ignore_patterns("root*.img")
    shutil.copytree(run.folder, folder, copy_function=image.link_or_copy, ignore=large)
    return replace(run, folder=folder)


@pytest.fixture(autouse=True)
def the_reference_does_the_same_once(
    known: Known,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Make a run of the reference once for all gradings of a lab."""
    ask = Workbench.reference

    def reference(bench: Workbench, scenario: Scenario) -> Run:
        """Return the reference's run, made at most once in this worker."""
        key = (bench.reference_kernel, f"reference-{scenario.name}")
        asked = (type(bench), bench.nonce, scenario)
        if asked in known:
            bench.made[key] = known[asked]
        run = ask(bench, scenario)
        if asked not in known:
            folder = tmp_path_factory.mktemp("reference") / run.folder.name
            known[asked] = keep_files(run, folder)
        return run

    monkeypatch.setattr(Workbench, "reference", reference)


@pytest.fixture(scope="session")
def read_off() -> dict[tuple[Path, Path, str], Mapping[str, int]]:
    """Return a store for facts of labs with numbers as answers, by folder, kernel and student."""
    return {}


@pytest.fixture(autouse=True)
def facts_are_read_off_once(
    read_off: dict[tuple[Path, Path, str], Mapping[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compute the facts once: gdb has to watch a machine boot for them."""
    find = answers.compute_facts

    def facts(folder: Path, bench: Workbench) -> Mapping[str, int]:
        """Compute the facts of a kernel and student once, and keep them."""
        asked = (folder, bench.reference_kernel, answers.student(bench))
        if asked not in read_off:
            read_off[asked] = find(folder, bench)
        return read_off[asked]

    monkeypatch.setattr(answers, "compute_facts", facts)


@pytest.fixture(scope="session")
def laid() -> dict[Scenario, list[Path]]:
    """Return the disks that were laid out, by scenario."""
    return {}


@pytest.fixture(autouse=True)
def disks_are_laid_out_once(
    laid: dict[Scenario, list[Path]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Lay out each disk with a virtual log once: that takes long. Equal scenarios, equal disks."""
    make = workbench.make_images

    def copies(scenario: Scenario, folder: Path) -> list[Path]:
        """Lay the disks of a scenario on a log once, and copy them into the folder of each further
        run."""
        if not scenario.on_log:
            return make(scenario, folder)
        if scenario not in laid:
            laid[scenario] = make(scenario, tmp_path_factory.mktemp("disks"))
        for path in laid[scenario][0].parent.iterdir():
            image.copy_image(path, folder / path.name)
        return [folder / path.name for path in laid[scenario]]

    monkeypatch.setattr(workbench, "make_images", copies)


@pytest.fixture(scope="session")
def work() -> dict[tuple[str, str], int]:
    """Return the events of a test's machines for the reference, by the lab's and the test's
    name."""
    return {}


@pytest.fixture(autouse=True)
def the_least_work_comes_first(
    work: dict[tuple[str, str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gradings ask those tests first whose machines do the least."""
    choose, ask = grading.choose_tests, grading.run_test

    def chosen(lab: Lab, names: str) -> list[grading.Test]:
        """Choose the tests of a grading, the one with the least work first."""
        return sorted(choose(lab, names), key=lambda test: work.get((lab.name, test.names[1]), 0))

    def measured(test: grading.Test, bench: Workbench, lab: str, command: str) -> Outcome:
        """Run a test, and note the work of its machines."""
        outcome = ask(test, bench, lab, command)
        made = [bench.made.get((bench.kernel, name)) for name in outcome.runs]
        events = [A_BOOT + len(run.events) for run in made if isinstance(run, Run)]
        work.setdefault((lab, test.names[1]), sum(events))
        return outcome

    monkeypatch.setattr(grading, "choose_tests", chosen)
    monkeypatch.setattr(grading, "run_test", measured)


Enough = Callable[[list[Outcome], grading.Test], bool]


@pytest.fixture
def ends_early(monkeypatch: pytest.MonkeyPatch) -> Callable[[Enough], None]:
    """Return a function that sets when a grading knows enough, by a check of the outcomes so far
    and the next test. A test that is not run then counts as passed."""

    def until(enough: Enough) -> None:
        """Let gradings end when this check is true; `so_far` has the outcomes until then."""
        ask, so_far = grading.run_test, []

        def ask_or_pass(test: grading.Test, *rest: object) -> Outcome:
            """Run a test, or give it all its points if enough is known already."""
            group = test.group
            if enough(so_far, test):
                points = test.points
                return Outcome(group.name, test.name, test.about, group.hidden, points, points)
            so_far.append(ask(test, *rest))
            return so_far[-1]

        monkeypatch.setattr(grading, "run_test", ask_or_pass)

    return until


def its_group_has_lost(so_far: list[Outcome], test: grading.Test) -> bool:
    """True if a test of the same group has failed."""
    return any(not outcome.has_all_points for outcome in so_far if outcome.group == test.group.name)


def lost_more_than(points: float, named: str = "") -> Enough:
    """Return a check that is true once more than `points` are lost and some test said `named`."""

    def enough(so_far: list[Outcome], _: grading.Test) -> bool:
        said = "".join(f"{outcome.expected} {outcome.came}\n" for outcome in so_far)
        return sum(outcome.most - outcome.points for outcome in so_far) > points and named in said

    return enough


def grade_on_twin(
    lab: Lab, files: dict[str, str], folder: Path, only: str, nonce: str = NONCE
) -> Record:
    """Return the record of a grading by the twin, with these files put in, of these groups (all if
    empty)."""
    bench = twin_grading.make_bench(
        lab, twin_grading.build_twin(folder, lab, files), folder / "runs", nonce, files
    )
    return grading.grade_bench(bench, lab, only)


def grade_tree(
    lab: Lab, files: dict[str, str], folder: Path, only: str = "", nonce: str = NONCE
) -> Record:
    """Return the record of a grading by the machine, with these files put in, of these groups (all
    if empty)."""
    whole = tree.lab_files(lab) | {file: text for file, text in files.items() if file in lab.files}
    command = f"make grade LAB={lab.name}"
    return grading.grade_submission(lab, lambda: whole, folder, nonce, command, only)


def grade_faster(
    lab: Lab, files: dict[str, str], folder: Path, only: str = "", nonce: str = NONCE
) -> Record:
    """Return the record that the twin gives if the lab's tests can use it, and the machine's
    otherwise."""
    faster = grade_tree if twin_grading.refusal(lab) else grade_on_twin
    return faster(lab, files, folder, only, nonce)


def share_groups(lab: Lab, word: str) -> tuple[str, str]:
    """Return the groups whose tests of the reference are made by the machine, and by the twin.

    The machine makes a lab that the twin cannot grade. Of the others, `word` draws a third whose
    groups it makes, all but the longest.
    """
    groups = {group.name for group in lab.groups}
    if twin_grading.refusal(lab):
        by_twin = set()
    elif lab.name in draw((one.name for one in LABS if not twin_grading.refusal(one)), 3, word):
        by_twin = LONGEST.get(lab.name, set())
    else:
        by_twin = groups
    return ",".join(sorted(groups - by_twin)), ",".join(sorted(by_twin))


def lost_tests(record: Record) -> dict[str, list[str]]:
    """Return the tests that did not get their points, by group."""
    return {
        group.name: [
            f"{t.title}: {t.came}"
            for t in record.tests_of_group(group.name)
            if not t.has_all_points
        ]
        for group in record.groups
        if group.points < group.most
    }


def grade_in_process(lab: Lab, folder: Path) -> tuple[Record, Cost]:
    """Return the record of the solution, graded in a process of its own, and what it cost. A shell
    starts it, as `make` does, because this process is larger (grading.used)."""
    for file, text in tree.solution_files(lab).items():
        path = folder / "in" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    values = {"submission": folder / "in", "out": folder / "out", "nonce": NONCE}
    line = [sys.executable, *typed.work("lab:grade", lab=lab.name, **values)]
    two = f"{shlex.join(map(str, line))}; exit $?"  # two commands: it does not become the first
    subprocess.run(["sh", "-c", two], cwd=ROOT, check=True, capture_output=True)
    return parse_record((folder / "out/result.json").read_text()), read_cost(folder / "out")


@each_lab
def test_the_reference_has_all_points(lab: Lab, tmp_path: Path) -> None:
    """With FULL=1, it is also measured whether a grading fits a small machine."""
    if WHOLE:
        record, cost = grade_in_process(lab, tmp_path)
        assert cost.peak_mb <= MEMORY_MB and cost.cpu_s <= PROCESSOR_S * host_slowdown()
        records = [record]
    else:
        solution = tree.solution_files(lab)
        by_machine, by_twin = share_groups(lab, draw_word())
        shares = ((grade_tree, by_machine), (grade_on_twin, by_twin))
        records = [
            grade(lab, solution, tmp_path / grade.__name__, groups)
            for grade, groups in shares
            if groups
        ]
    for record in records:
        assert record.score == record.most, record.message or lost_tests(record)
    assert sum(record.most for record in records) == FULL


@pytest.mark.drawn(6)
@lab_mark("twin")
def test_the_skeleton_builds_boots_and_scores_little(
    lab: Lab, tmp_path: Path, ends_early: Callable[[Enough], None]
) -> None:
    """A student who has written nothing gets fewer than 20 points, and no test fails because the
    kernel hangs."""
    ends_early(lost_more_than(FULL - SKELETON_MOST))
    files = tree.cut_holes(lab, {}) | tree.student_files(lab, tree.SAMPLE_STUDENT)
    if twin_grading.refusal(lab):
        record = grade_tree(lab, files, tmp_path)
    else:
        own = {file: files[file] for file in lab.files}
        tree.build_kernel(tmp_path / "machine", lab, own)
        record = grade_on_twin(lab, own, tmp_path, "")
    assert record.status == "graded", record.message
    assert record.score < SKELETON_MOST, lost_tests(record)
    assert not [t for t in record.tests if "switch itself off" in t.expected], lost_tests(record)


@each_lab
def test_a_lab_has_mistakes_enough_to_prove_each_group(lab: Lab) -> None:
    """Each group of tests is lost by at least one of the lab's known mistakes."""
    made = load_mistakes(lab)
    assert len(made) >= MISTAKES_LEAST
    noticed = set().union(*(mistake.loses for mistake in made))
    assert noticed == {group.name for group in lab.groups}


@each_lab
def test_the_reference_is_the_machines_at_some_commits(lab: Lab) -> None:
    """At each, all groups are graded, each by one of the two."""
    groups = {group.name for group in lab.groups}
    shares = [share_groups(lab, f"commit {number}") for number in range(64)]
    for by_machine, by_twin in shares:
        assert sorted(filter(None, f"{by_machine},{by_twin}".split(","))) == sorted(groups)
    at_all = {names for by_machine, _ in shares for names in by_machine.split(",")}
    assert at_all - {""} == groups - LONGEST.get(lab.name, set())


@each_lab
def test_what_takes_longest_is_there_and_is_not_all(lab: Lab) -> None:
    """LONGEST names groups of the lab, but not all; LONGEST_ATTACKS names its attacks."""
    assert LONGEST.get(lab.name, set()) < {group.name for group in lab.groups}
    named = {attack for of, attack in LONGEST_ATTACKS if of == lab.name}
    assert named <= {attack.name for attack in load_attacks(lab)}


@pytest.mark.parametrize(
    ("lab", "mistake"), [lab_parameters(*one, name=one[1].name, engine="twin") for one in WRONG]
)
def test_a_mistake_costs_points_where_it_belongs(
    lab: Lab, mistake: Mistake, tmp_path: Path, ends_early: Callable[[Enough], None]
) -> None:
    """Exactly the groups that the mistake names lose points."""
    ends_early(its_group_has_lost)
    own = mistake.loses if WHOLE else {one_group_each(lab)[mistake.name]}
    asked = {group.name for group in lab.groups} - mistake.disturbs if WHOLE else own
    only = ",".join(sorted(asked))
    record = grade_faster(lab, tree.solution_files(lab, mistake.edits), tmp_path, only)
    # a kernel that does not build would lose in all groups
    assert record.status == "graded", record.message
    assert lost_tests(record).keys() == own, record.message or lost_tests(record)


@in_full
@pytest.mark.parametrize(
    ("lab", "group", "mistake"),
    [
        lab_parameters(lab, group, mistake, name=mistake.name)
        for lab in LABS
        if not twin_grading.refusal(lab)
        for group, mistake in one_for_each_group(lab).items()
    ],
)
def test_each_group_notices_a_mistake_in_the_machine_too(
    lab: Lab, group: str, mistake: Mistake, tmp_path: Path, ends_early: Callable[[Enough], None]
) -> None:
    """mistake: one that this group must notice. The grading ends when the group has lost points."""
    ends_early(its_group_has_lost)
    record = grade_tree(lab, tree.solution_files(lab, mistake.edits), tmp_path, group)
    assert record.status == "graded", record.message
    assert lost_tests(record).keys() == {group}, record.message or lost_tests(record)


@pytest.mark.parametrize(
    ("lab", "attack"), [lab_parameters(lab, one, name=one.name) for lab, one in ATTACKS]
)
def test_an_attack_scores_as_it_deserves_and_is_named(
    lab: Lab,
    attack: Attack,
    tmp_path: Path,
    ends_early: Callable[[Enough], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The attack gets at most its points, and the report or the hidden tests name it."""
    if not WHOLE:
        monkeypatch.setattr(workbench, "CPU_S", ENDLESS_S)
    ends_early(lost_more_than(FULL - attack.most, attack.named))
    only = "" if WHOLE else ",".join(sorted(attack.loses))
    on_twin = not WHOLE and (lab.name, attack.name) in LONGEST_ATTACKS
    grade = grade_faster if on_twin else grade_tree
    record = grade(lab, tree.solution_files(lab, attack.edits), tmp_path, only)
    assert record.most - record.score >= FULL - attack.most, record.message or lost_tests(record)
    of_hidden = "".join(f"{test.expected} {test.came}\n" for test in record.tests)  # for the staff
    assert attack.named in people.text(record) + of_hidden


@in_full
@pytest.mark.parametrize(
    ("lab", "hole"),
    [lab_parameters(lab, one, name=one.function, engine="twin") for lab, one in HOLES],
)
def test_each_hole_matters(
    lab: Lab,
    hole: Hole,
    tmp_path: Path,
    ends_early: Callable[[Enough], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With one function unwritten and all others solved, points are lost."""
    monkeypatch.setattr(workbench, "CPU_S", ENDLESS_S)
    ends_early(lost_more_than(0))
    record = grade_faster(lab, tree.solution_files(lab) | tree.cut_hole(hole), tmp_path, "")
    assert record.status == "graded", record.message
    assert record.score < FULL


def student_sources(lab: Lab) -> dict[str, str]:
    """Return the sources of a student's tree in which nothing is solved but the lab and what it
    needs."""
    made = tree.cut_holes(lab, {}, frozenset(lab.needs))
    for hole in lab.holes:
        text = made[hole.file]
        whole = tree.fill_hole(hole, text) if hole.function else tree.pristine_text(hole.file)
        made[hole.file] = whole
    return made


def build_kernel_of(files: dict[str, str], folder: Path) -> Path:
    """Build the kernel of this tree with these files put in, and return its path."""
    objects = {}
    for file, text in files.items():
        with sandbox.sandbox_folder() as apart:
            tree.lay_out_sources(apart.path, {file: text})
            objects[file] = compiler.compile_file(file, apart)
    (folder / "kernel.elf").write_bytes(tree.link_checked(objects))
    return folder / "kernel.elf"


@in_full
@lab_mark("twin")
def test_where_only_what_it_needs_is_solved_the_solution_has_all_points_that_are_not_hidden(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a student measures at home must not depend on the holes of other labs. It must not
    depend on the nonce either, so the nonce here differs from that of the file's other tests."""
    files = student_sources(lab)
    monkeypatch.setattr(grading, "build_kernel", lambda folder, *_: build_kernel_of(files, folder))
    # For a twin's scenarios that need a machine.
    monkeypatch.setattr(tree, "build_kernel", lambda folder, *_: build_kernel_of(files, folder))
    visible = ",".join(group.name for group in lab.groups if not group.hidden)
    record = grade_faster(lab, tree.solution_files(lab) | files, tmp_path, visible, "1")
    assert record.score == record.most > 0, record.message or lost_tests(record)


@in_full
@lab_mark("twin")
def test_the_reference_has_all_points_with_another_nonce(lab: Lab, tmp_path: Path) -> None:
    """`make fair` tries twenty nonces."""
    record = grade_faster(lab, tree.solution_files(lab), tmp_path, "", "0badcafe")
    assert record.score == FULL, lost_tests(record)
