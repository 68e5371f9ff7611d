"""A class is scored: each submission once, in a table and a page, by workers anywhere.

Most tests use no kernel: `scoring` replaces the grading of a submission. Its points are then the
length of its text, at most 40; a text of 13 letters fails. So "x" * 40 has all points. `client` has
workers that are threads of this process. A step is the report about one submission; it is `resumed`
if its results were there already. The results are class.csv, class.html and a folder for each
student.
"""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import browser
import distributed
import pytest
from distributed import Client, LocalCluster

from grade.cli.class_scoring import Pace, describe_records, step_line
from grade.course import behaviour, classpage, classroom
from grade.course.classroom import BadClass, Step
from grade.course.late import BadLate
from grade.definition.lab import find_lab, load_mistakes
from grade.engine import grading, tree
from grade.engine.record import NOT_SCORED, Cost, GroupResult, Outcome, Record, parse_record
from grade.trust.likeness import Pair
from grade.trust.submission import Refused
from sluice.host.workers import open_workers

LAB = find_lab("elevator")
FILE = LAB.files[0]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Return a client of workers that are threads of this process."""
    with (
        LocalCluster(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as made,
    ):
        yield made


class Scoring:
    """Replacement for a lab's tests: the length of what was handed in gives the points. Notes each
    grading."""

    def __init__(self) -> None:
        self.scored: list[int] = []
        self.commands: list[str] = []
        # the decisions of a kernel with so many points
        self.decided: dict[int, frozenset[int]] = {}

    def grade(
        self, lab: object, take: object, folder: Path, nonce: str, command: str, watch: object
    ) -> Record:
        """Return the record of a submission by its length, and note it."""
        try:
            size = len(take()[FILE])
        except Refused as refused:
            return Record(LAB.name, LAB.title, nonce, "refused", str(refused), most=40)
        self.scored.append(size)
        self.commands.append(command)
        if size == 13:
            raise RuntimeError("bad luck")
        points = min(size, 40)
        tests = [Outcome("g", "one", "About.", False, points, 40)]
        groups = [GroupResult("g", "G.", False, points, 40)]
        watch(self.decided.get(size, frozenset()))
        return Record(
            LAB.name, LAB.title, nonce, "graded", "", points, 40, groups=groups, tests=tests
        )


@pytest.fixture
def scoring(monkeypatch: pytest.MonkeyPatch) -> Scoring:
    """Replace the grading of submissions by Scoring."""
    made = Scoring()
    monkeypatch.setattr(grading, "grade_submission", made.grade)
    monkeypatch.setattr(behaviour, "collect_decisions", lambda decisions: decisions)
    return made


def hand_in(folder: Path, texts: dict[str, str]) -> Path:
    """Write each student's text as the lab's file in a folder of the student's name."""
    for name, text in texts.items():
        path = folder / name / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def score(
    client: Client, folder: Path, out: Path, nonce: str = "", late: Path | None = None
) -> list[Step]:
    """Score the class and return the steps."""

    @contextmanager
    def pool() -> Iterator[Client]:
        yield client

    steps: list[Step] = []
    classroom.score_class(LAB, folder, out, nonce, steps.append, pool, late)
    return steps


def rows(out: Path) -> dict[str, dict[str, str]]:
    """Return the rows of the class's table by the student's name."""
    table = csv.DictReader(io.StringIO((out / "class.csv").read_text()))
    return {row["name"]: row for row in table}


def test_each_submission_has_its_row_and_its_results(
    client: Client, scoring: Scoring, tmp_path: Path
) -> None:
    """ada and bob have handed in their work, eve an empty folder. The page loads nothing from
    elsewhere."""
    folder = hand_in(tmp_path / "in", {"ada": "x" * 40, "bob": "y" * 10})
    (folder / "eve").mkdir()
    score(client, folder, tmp_path / "out")
    table = rows(tmp_path / "out")
    assert [table[name]["score"] for name in ("ada", "bob", "eve")] == ["40", "10", "0"]
    assert table["bob"]["g.one"] == "10"
    assert table["eve"]["status"] == "refused" and FILE in table["eve"]["message"]
    record = parse_record((tmp_path / "out/bob/result.json").read_text())
    assert (record.score, record.nonce) == (10, (tmp_path / "out/nonce").read_text().strip())
    page = (tmp_path / "out/class.html").read_text()
    assert 'href="bob/report.html"' in page and "<svg" in page and "refused" in page
    assert not re.search(r"\b(src|href)=[\"']?(https?:)?//", page)
    assert not re.search(r"<svg[^>]* width=", page)  # the page's style sets it, by the window's


def test_what_is_scored_already_is_not_scored_again(
    client: Client, scoring: Scoring, tmp_path: Path
) -> None:
    """A submission is scored again if its text or the nonce changes."""
    folder, out = hand_in(tmp_path / "in", {"ada": "x" * 40, "bob": "y" * 10}), tmp_path / "out"
    assert not any(step.resumed for step in score(client, folder, out))
    first = (out / "class.csv").read_text()
    assert all(step.resumed for step in score(client, folder, out))
    assert (out / "class.csv").read_text() == first
    hand_in(folder, {"bob": "y" * 20})
    assert {step.name: step.resumed for step in score(client, folder, out)} == {
        "ada": True,
        "bob": False,
    }
    assert not any(step.resumed for step in score(client, folder, out, "another"))


def test_a_submission_whose_result_is_damaged_is_scored_again(
    client: Client, scoring: Scoring, tmp_path: Path
) -> None:
    """Of the two submissions only that with the damaged record is graded again."""
    folder, out = hand_in(tmp_path / "in", {"ada": "x" * 40, "bob": "y" * 20}), tmp_path / "out"
    score(client, folder, out, "another")
    (out / "ada/result.json").write_text("{}")
    assert [step.name for step in score(client, folder, out, "another") if not step.resumed] == [
        "ada"
    ]


def test_one_that_fails_stops_no_other_and_is_tried_again(
    client: Client, scoring: Scoring, tmp_path: Path
) -> None:
    """bob's 13 letters make the grader fail, in both rounds."""
    folder, out = hand_in(tmp_path / "in", {"ada": "x" * 40, "bob": "y" * 13}), tmp_path / "out"
    for _ in range(2):
        score(client, folder, out)
        assert rows(out)["ada"]["score"] == "40"
        assert rows(out)["bob"]["status"] == NOT_SCORED
        assert "bad luck" in rows(out)["bob"]["message"]
    assert scoring.scored.count(13) == 2


def test_the_tools_that_grade_have_their_part_in_the_key(monkeypatch, tmp_path: Path) -> None:
    """tree_key() is a hash of what a worker grades with. A change of either tool changes it."""
    monkeypatch.setattr(classroom, "TREE", tmp_path)
    for name in ("KERNEL", "MKFS", "PROGRAMS", "ROOT_FOLDER", "NATIVE"):
        monkeypatch.setattr(classroom, name, tmp_path / name.lower())
    for name in ("kernel", "mkfs", *(f"native/{tool}" for tool in classroom.TOOLS)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("old")
    keys = [classroom.tree_key("elevator")]
    for tool in classroom.TOOLS:
        (tmp_path / "native" / tool).write_text("new")
        keys.append(classroom.tree_key("elevator"))
    assert len(set(keys)) == 3


def test_a_worker_with_another_tree_scores_nothing(
    client: Client, scoring: Scoring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys of this process and of the worker differ."""
    keys = iter(["here", "there"])
    monkeypatch.setattr(classroom, "tree_key", lambda _: next(keys))
    with pytest.raises(BadClass, match="another tree"):
        score(client, hand_in(tmp_path / "in", {"ada": "x"}), tmp_path / "out")
    assert not scoring.scored


def test_a_class_without_anything_new_starts_no_workers(
    client: Client, scoring: Scoring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest.fail is in the place of all that would start or wait for workers."""
    folder, out = hand_in(tmp_path / "in", {"ada": "x" * 40}), tmp_path / "out"
    score(client, folder, out)
    monkeypatch.setattr(distributed, "as_completed", pytest.fail)
    classroom.score_class(LAB, folder, out, "", lambda step: None, pytest.fail)


def test_new_submissions_and_then_those_that_took_longest_are_scored_first(tmp_path: Path) -> None:
    """A submission that computes without end is not begun by the last worker, at the end."""
    folders = [tmp_path / name for name in ("quick", "slow", "new")]
    for folder, cpu_s in zip(folders, (6, 60), strict=False):
        folder.mkdir()
        (folder / "cost.json").write_text(Cost(cpu_s=cpu_s).to_json())
    assert [f.name for f in classroom.sort_longest_first(folders)] == ["new", "slow", "quick"]


def step(status: str = "graded", resumed: bool = False, compared: str = "") -> Step:
    """Return a step of a submission. compared: its place among the gradings for comparison."""
    return Step("ada", Record(LAB.name, LAB.title, "7", status), resumed, compared)


def test_the_time_left_is_that_of_what_is_scored_now() -> None:
    """Of 100 submissions, 96 have results from before, and one is refused unread. The time left is
    the time of the other three."""
    times = iter([0, 60, 60, 120])  # seconds, at each look at the clock
    pace = Pace(100, lambda: next(times))
    for _ in range(96):
        pace.count(step(resumed=True))
    assert pace.left() == ""
    pace.count(step("refused"))
    pace.count(step())
    assert pace.left() == "2 min left"
    pace.count(step(compared="1 of 16"))
    assert pace.left() == "2 min left"
    pace.count(step())
    assert pace.left() == "60 s left"


def test_who_decides_alike_is_in_the_table_and_on_the_page(
    client: Client, scoring: Scoring, tmp_path: Path
) -> None:
    """Submissions are compared by the decisions of their kernels, which are numbers here. 38 of 40
    are equal, 95 %. The comparison makes more gradings, of the solution and of wrong answers. Each
    is kept, and reported as one for comparison."""
    scoring.decided = {10: frozenset(range(40)), 11: frozenset(range(38)), 12: frozenset({1})}
    folder, out = (
        hand_in(tmp_path / "in", {"ada": "x" * 10, "bob": "y" * 11, "cyd": "z" * 12}),
        tmp_path,
    )
    steps = score(client, folder, out)
    assert rows(out)["ada"]["like"] == f"bob: 95% {behaviour.SAYS}"
    assert not rows(out)["cyd"]["like"]
    assert f"ada and bob: 95% {behaviour.SAYS}" in (out / "class.html").read_text().replace(
        "&#x27;", "'"
    )
    compared = {step.name: step_line(step) for step in steps if step.compared}
    assert {"solution", "skeleton", "wrong-falls", "again-0-0"} < compared.keys()
    assert compared["solution"] == "for comparison, 1 of 1: solution"
    known = len(load_mistakes(LAB)) + 1  # 1: the skeleton
    assert f"for comparison, {known} of {known}" in "".join(compared.values())
    again = score(client, folder, out)
    assert all(step.resumed for step in again) and len(again) == len(steps)


def test_of_what_the_compiler_said_the_page_shows_the_first_error() -> None:
    """Of other messages the page shows the first line."""
    said = "clook.c: In function 'next':\nclook.c:12:53: error: no member named 'head'\n  12 | ..."
    record = Record(LAB.name, LAB.title, "7", "build failed", said, most=100)
    assert (
        classpage.describe_losses(record)
        == "build failed: clook.c:12:53: error: no member named 'head'"
    )
    refused = Record(LAB.name, LAB.title, "7", "refused", "ada: a link\nno more", most=100)
    assert classpage.describe_losses(refused) == "refused: ada: a link"


# ---- late days ----


def test_what_is_lost_by_being_late_is_in_the_record_the_table_and_the_page(
    client: Client, scoring: Scoring, tmp_path: Path
) -> None:
    """bob has 30 points and is 5 days late, 3 of them free. Two days cost 20 points."""
    folder, out = hand_in(tmp_path / "in", {"ada": "x" * 40, "bob": "y" * 30}), tmp_path / "out"
    (tmp_path / "late.csv").write_text("student,days\nbob,5\n")
    score(client, folder, out)
    steps = score(client, folder, out, late=tmp_path / "late.csv")
    assert all(step.resumed for step in steps)  # nothing is scored again
    row = rows(out)["bob"]
    assert [row[name] for name in ("score", "late_days", "late_points", "counts")] == [
        *("30", "5", "20", "10"),
    ]
    assert rows(out)["ada"]["counts"] == "40"
    record = parse_record((out / "bob/result.json").read_text())
    assert (record.late.days, record.late.free, record.counts) == (5, 3, 10)
    said = "5 days late, 3 of them free: 20 points less"
    for name in ("class.html", "bob/result.txt", "bob/report.html"):
        assert said in (out / name).read_text(), name
    assert "mean 25.0, median 25" in (out / "class.html").read_text()
    score(client, folder, out)
    assert parse_record((out / "bob/result.json").read_text()).late is None


def test_a_bad_row_of_late_csv_stops_the_class_before_anything_is_written(
    client: Client, scoring: Scoring, tmp_path: Path
) -> None:
    """late.csv names a student who handed in nothing."""
    folder, out = hand_in(tmp_path / "in", {"ada": "x" * 40}), tmp_path / "out"
    (tmp_path / "late.csv").write_text("student,days\nbob,5\n")
    with pytest.raises(BadLate, match=r"late.csv: line 2, column student"):
        score(client, folder, out, late=tmp_path / "late.csv")
    assert not scoring.scored and not out.exists()


@pytest.mark.parametrize(
    ("name", "names"),
    [("ada", ["ada", "ada.zip"]), ("zo\xe9", ["zo\xe9", "zoe\u0301", "zo\xe9.tar"])],
)
def test_those_of_one_name_are_refused_and_stop_no_other(
    client: Client, scoring: Scoring, tmp_path: Path, name: str, names: list[str]
) -> None:
    """A folder and an archive of one name, or names that differ only in the form of an accent. A
    person must say which of the submissions counts."""
    folder = hand_in(tmp_path / "in", {"bob": "x" * 40})
    for other in names:
        (folder / other).write_bytes(b"")
    steps = score(client, folder, tmp_path / "out")
    messages = {step.name: step.record.message for step in steps}
    assert messages.pop("bob") == "" and len(messages) == len(names) and scoring.scored == [40]
    assert all(found.startswith(f"{name}-") for found in messages)
    assert all(f"several submissions are called {name}: " in why for why in messages.values())


def test_the_class_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(BadClass, match="not a folder: give"):
        classroom.collect_submissions(tmp_path / "nowhere", LAB)


def test_the_samples_are_scored_by_processes_as_the_guide_says(tmp_path: Path) -> None:
    """The samples are a good, a half-done and a cheating submission. The half-done one is also
    graded by this process, with the same result."""
    lab = find_lab("readahead")  # its machines do little, so the test is short
    tree.make_samples(lab, tmp_path / "in")
    pool = partial(open_workers, 2)
    records = classroom.score_class(
        lab, tmp_path / "in", tmp_path / "out", "7", lambda step: None, pool
    )
    good, half, cheating = (records[name] for name in ("good", "half-done", "cheating"))
    assert (good.score, cheating.score) == (100, 0)
    files = {file: (tmp_path / "in/half-done" / file).read_text() for file in lab.files}
    here = grading.grade_submission(lab, lambda: files, tmp_path / "x", "7", "make grade")
    assert 20 < half.score == here.score < 100
    # A class's records name no folders of runs, which are gone after the grading.
    assert any(test.runs for test in here.tests) and not any(test.runs for test in half.tests)
    assert [test.came for test in half.tests] == [test.came for test in here.tests]


# ---- as a person sees it ----

# A very long student's name, and the widths of two windows in pixels
LONG = "a_student_whose_name_is_longer_than_most_names_of_students_are"
WIDE, PHONE = 1200, 400
# Words whose boxes overlap those of other words, and what stands out of the window.
OVERLAPS = """(() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const boxes = [];
  for (let node; (node = walk.nextNode());) {
    if (!node.data.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) boxes.push([node.data.trim(), box]);
  }
  for (const svg of document.querySelectorAll('svg'))
    boxes.push(['a picture', svg.getBoundingClientRect()]);
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  const found = [];
  boxes.forEach(([a, one], i) => boxes.slice(i + 1).forEach(([b, other]) => {
    if (over(one, other)) found.push(`${a} | ${b}`);
  }));
  return found;
})()"""


def full_page() -> str:
    """Return a class's page with a bit of everything: long names, a leaderboard, a pair, a
    refusal."""

    def one(points: float, value: float) -> Record:
        """Return a graded record. points: of two tests each; value: what they measured, in ms."""
        limits = {"measured": True, "value": value, "full": 10.0, "none": 90.0, "unit": "ms"}
        tests = [
            Outcome("rise", "a_block_right_under_the_head_is_served_next", "", False, 15, 15),
            Outcome("response", "random_reads_wait_less", "", False, points, 15, **limits),
            Outcome("response", "the_worst_reads_wait_less", "", False, points, 15, **limits),
        ]
        groups = [
            GroupResult("rise", "", False, 15, 15),
            GroupResult("response", "", False, 2 * points, 30),
        ]
        score = 15 + 2 * points
        return Record("a", "A lab", "7", "graded", "", score, 45, groups=groups, tests=tests)

    records = {"ada": one(15, 9.5), LONG: one(3.25, 77.123), "bob": one(0, 99)}
    records["eve"] = Record(
        "a", "A lab", "7", "refused", "policies/sched/clook.c: missing", most=45
    )
    pair = Pair("ada", LONG, 0.91, behaviour.SAYS)
    return classpage.render_page(LAB, records, [pair])


@pytest.mark.parametrize("width", [PHONE, WIDE])
def test_nothing_on_the_page_overlaps_on_a_phone_and_on_a_screen(
    width: int, tmp_path: Path
) -> None:
    """OVERLAPS lists the words and pictures whose boxes overlap, as the browser lays them out."""
    page_file = tmp_path / "class.html"
    page_file.write_text(full_page())
    with browser.Page(tmp_path / "browser") as page:
        page.visit(page_file, width=width)
        assert page.value("document.documentElement.scrollWidth") <= width
        assert page.value(OVERLAPS) == []


def test_a_folder_whose_name_is_not_utf_8_stops_no_other(
    client: Client, scoring: Scoring, tmp_path: Path
) -> None:
    """The byte FF in the name is shown as \\xFF everywhere."""
    folder, out = (
        hand_in(tmp_path / "in", {"ada": "x" * 40, "bad\udcff": "y" * 10}),
        tmp_path / "out",
    )
    for _ in range(2):
        score(client, folder, out)
        table = rows(out)
        assert {name: row["score"] for name, row in table.items()} == {
            "ada": "40",
            "bad\\xFF": "10",
        }
    assert (out / "bad\\xFF/report.html").exists()
    assert all(command.encode() for command in scoring.commands)  # they can be written to files


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), OSError(28, "full")])
def test_the_page_of_a_stopped_class_says_so_until_it_goes_on(
    client: Client, scoring: Scoring, tmp_path: Path, stop: BaseException
) -> None:
    """stop: what stops the command, ^C or a full disk. It comes after the first of two
    submissions."""
    folder = hand_in(tmp_path / "in", {"ada": "x" * 40, "bob": "y" * 10})
    out, page = tmp_path / "out", tmp_path / "out/class.html"
    seen: list[str] = []

    @contextmanager
    def pool() -> Iterator[Client]:
        yield client

    def report(step: Step) -> None:
        seen.append(page.read_text())
        raise stop

    with pytest.raises(type(stop)):
        classroom.score_class(LAB, folder, out, "7", report, pool)
    assert "1 of 2 submissions graded; the others are under way" in seen[0]
    assert (
        "1 of 2 submissions graded; the command was stopped before the others" in page.read_text()
    )
    assert "under way" not in page.read_text() and len(rows(out)) == 1
    score(client, folder, out)
    assert "stopped" not in page.read_text() and len(rows(out)) == 2


def test_a_class_stopped_in_its_comparison_says_so(
    client: Client, scoring: Scoring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """^C comes when submissions are compared, after all were graded."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(classroom, "find_similar_pairs", stop)
    with pytest.raises(KeyboardInterrupt):
        score(client, hand_in(tmp_path / "in", {"ada": "x" * 40}), tmp_path / "out")
    page = (tmp_path / "out/class.html").read_text()
    assert "1 of 1 submissions graded; the command was stopped before the comparison" in page


def test_an_empty_nonce_counts_as_none(tmp_path: Path) -> None:
    """A new nonce is chosen and written to the file; the next command takes it from there."""
    (tmp_path / "nonce").write_text("")
    made = classroom.choose_nonce(tmp_path, "")
    assert made and (tmp_path / "nonce").read_text() == f"{made}\n"
    assert classroom.choose_nonce(tmp_path, "") == made


def test_a_nonce_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full, after the file has been opened."""
    classroom.choose_nonce(tmp_path, "old")

    def full(path: Path, *_: object, **__: object) -> None:
        path.open("w").close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        classroom.choose_nonce(tmp_path, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["nonce"]
    assert (tmp_path / "nonce").read_text() == "old\n"


def test_a_log_says_why_a_submission_was_not_graded_and_the_page_what_it_counts() -> None:
    """A first-time instructor reads both: 0 points need a reason, and a mean its number."""
    group = GroupResult("rise", "", False, 5, 5)
    test = Outcome("rise", "a_test", "", False, 5, 5)
    good = Record("x", "X", "7", score=5, most=5, groups=[group], tests=[test])
    why = "policies/x.c: In function 'f':\npolicies/x.c:2:9: error: 'retrun' undeclared"
    bad = Record("x", "X", "7", "build failed", why, most=5)
    said = step_line(Step("carol", bad, False))
    assert said == "carol: build failed: policies/x.c:2:9: error: 'retrun' undeclared"
    assert step_line(Step("alice", good, False)) == "alice: 5 of 5"
    assert (
        describe_records({"alice": good, "carol": bad}) == "2 submissions: 1 graded, 1 build failed"
    )
    assert "of 1 submission." in classpage.tests_table([good])
    assert "1 submission whose kernels were run. Not in it: 1 that" in (
        classpage.tests_table([good, bad])
    )
