"""A grade's certificate: made again, the grade is the same; what differs is told.

A certificate has hashes of all that a grade was made from and of what came of it: files, kernels,
runs, points, versions. `sluice lab recheck` grades again and compares. `graded` is the folder of a
grade of one test (TEST, one run, 5 points), and `was` its certificate. In messages, "there" is the
certificate's value and "here" the new grade's.
"""

import copy
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grade.cli import scoring
from grade.definition.lab import BadLab, Lab, find_lab
from grade.engine import certificate, formats, grading, tree
from grade.engine.certificate import BadCertificate
from grade.engine.grading import NoTest
from grade.engine.record import MadeFrom, Record
from grade.trust.compiler import BuildFailed

LAB = find_lab("elevator")
FILE = LAB.files[0]
NONCE, RUN = "3", "syncs"
TEST = "return.from_the_middle_it_rises_then_starts_at_the_lowest"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of a grade of one group; the submission has a comment of its own."""
    folder = tmp_path_factory.mktemp("graded")
    files = {FILE: tree.pristine_text(FILE) + "\n/* mine */\n"}
    (folder / "handed-in" / FILE).parent.mkdir(parents=True)
    (folder / "handed-in" / FILE).write_text(files[FILE])
    record = grading.grade_submission(
        LAB, lambda: files, folder, NONCE, "make grade", TEST, beside=True
    )
    formats.write_all(record, folder)
    return folder


@pytest.fixture
def was(graded: Path) -> dict:
    """Return the certificate of the grade."""
    return certificate.read_certificate(graded / certificate.FILE)


def recheck(graded: Path, certificate_file: Path, out: Path) -> int:
    """Return the exit status of `sluice lab recheck`."""
    return scoring.recheck(certificate_file, graded / "handed-in", out)


def test_a_rechecked_grade_is_the_same_to_the_byte(
    graded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The certificate, the kernel, the run's trace and its console."""
    assert recheck(graded, graded / certificate.FILE, tmp_path) == 0
    assert "The grade is the same: 5 of 5 points" in capsys.readouterr().out
    assert (tmp_path / certificate.FILE).read_bytes() == (graded / certificate.FILE).read_bytes()
    for name in ("trace", "console.txt"):
        again = (tmp_path / "runs" / RUN / name).read_bytes()
        assert again == (graded / "runs" / RUN / name).read_bytes()
    assert (tmp_path / "kernel.elf").read_bytes() == (graded / "kernel.elf").read_bytes()


def test_a_forged_certificate_is_told_from_what_its_recheck_gives(
    graded: Path, was: dict, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Points, a trace's hash and a version are changed; each is named."""
    was["points"][TEST] = 4
    was["runs"][RUN]["trace"] = was["runs"][RUN]["console"]
    was["versions"]["qemu"] = "QEMU emulator version 0.9"
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(was))
    assert recheck(graded, forged, tmp_path) == 1
    report = capsys.readouterr().out
    assert f"test {TEST}: 4 points there, 5 here" in report
    assert f"run {RUN}: another trace\n" in report
    assert f"nonce: '{NONCE}' does not lead to the runs of the certificate" in report
    assert "qemu: QEMU emulator version 0.9 there, QEMU emulator version" in report
    assert "compiler" not in report


def test_another_text_is_not_graded(graded: Path, was: dict, tmp_path: Path) -> None:
    """The submission lacks the comment of the one that was graded."""
    other = graded / "other" / FILE
    other.parent.mkdir(parents=True)
    other.write_text(tree.pristine_text(FILE))
    with pytest.raises(BadCertificate, match=f"{FILE}: this is not the text that was graded"):
        scoring.recheck(graded / certificate.FILE, graded / "other", tmp_path)
    assert not list(tmp_path.iterdir())


def leaves(part: dict, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of each value of a certificate that is no table."""
    for name, value in part.items():
        yield from leaves(value, (*at, name)) if isinstance(value, dict) else [(*at, name)]


def change_value(value: object) -> object:
    """Return a value of the same kind that is not this one."""
    if isinstance(value, int | float):
        return value + 1
    return "0" * 40 if value != "0" * 40 else "1" * 40


def change_certificate(whole: dict, at: tuple[str, ...]) -> dict:
    """Return a certificate with another value at this path."""
    made = copy.deepcopy(whole)
    part = made
    for name in at[:-1]:
        part = part[name]
    part[at[-1]] = change_value(part[at[-1]])
    return made


def recheck_certificate(
    folder: Path, made: dict, graded: Path, capsys: pytest.CaptureFixture[str]
) -> str:
    """Return what `sluice lab recheck` says of a certificate that it does not confirm."""
    file, out = folder / "changed.json", folder / "out"
    file.write_text(json.dumps(made))
    try:
        assert recheck(graded, file, out) == 1
    except (BadCertificate, BadLab, NoTest) as error:
        return str(error)
    return capsys.readouterr().out


@pytest.fixture
def graded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grade once for all rechecks of the same files with the same nonce and tests."""
    grade = grading.grade_submission
    known: dict[tuple, Record] = {}

    def find_record(
        lab: Lab,
        take: Callable[[], dict[str, str]],
        folder: Path,
        nonce: str,
        command: str,
        tests: str,
    ) -> Record:
        """Grade a submission, or return the record if it was graded before with the same nonce."""
        asked = (lab.name, tuple(take().items()), nonce, tests)
        if asked not in known:
            known[asked] = grade(lab, take, folder, nonce, command, tests)
        return known[asked]

    monkeypatch.setattr(grading, "grade_submission", find_record)


@pytest.mark.usefixtures("graded_once")
def test_no_field_of_a_certificate_can_be_changed(
    graded: Path, was: dict, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each field is changed alone, and the recheck names it."""
    words = {  # what a field is called in a message
        "kernel": "the submission's kernel",
        "reference": "the solution's kernel",
        "points": "test",
        "runs": "run",
    }
    changed = list(leaves(was))
    assert {at[0] for at in changed} == set(certificate.SHAPE)
    for at in changed:
        report = recheck_certificate(tmp_path, change_certificate(was, at), graded, capsys)
        parts = [words.get(name, name) for name in at if name not in ("files", "versions")]
        assert [name for name in parts if name not in report] == [], report
        assert "grade is the same" not in report or at[0] == "versions", at


def test_a_certificate_says_nothing_that_is_not_compared(was: dict, tmp_path: Path) -> None:
    """A field that no certificate has, or one that is there twice, is refused."""
    with pytest.raises(BadCertificate, match="it has the field 'remark', which no certificate has"):
        read(tmp_path, json.dumps(was | {"remark": "excellent"}))
    twice = json.dumps(was).replace('"score"', '"score": 100, "score"')
    with pytest.raises(BadCertificate, match="it has the field 'score' twice"):
        read(tmp_path, twice)


def test_a_score_that_was_changed_by_hand_is_not_confirmed(was: dict) -> None:
    forged = was | {"score": 100}
    assert not certificate.is_confirmed(forged, was)
    assert "score: 100 there, 5 here" in certificate.format_comparison(forged, was)


def test_what_was_made_only_here_is_told(was: dict) -> None:
    """The certificate lacks a run."""
    before = copy.deepcopy(was)
    before["runs"].clear()
    assert f"run {RUN}: only this grade has it" in certificate.find_differences(before, was)


def test_a_later_commit_with_the_same_sources_is_the_same_version(
    was: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another commit is no difference if its sources are the same; another hash of the tree is."""
    before = copy.deepcopy(was)
    before["versions"]["commit"] = "1234"
    monkeypatch.setattr(certificate, "has_these_sources", lambda *_: True)
    assert certificate.is_confirmed(before, was)
    before["versions"]["tree"] = "5678"
    assert [line.split(":")[0] for line in certificate.compare_versions(before, was)] == [
        "commit",
        "tree",
    ]


def test_what_is_no_commit_is_not_handed_to_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a word could be an option of git."""
    monkeypatch.setattr(certificate.subprocess, "run", pytest.fail)
    for commit in ("--output=x", "HEAD", "", "0" * 39):
        assert not certificate.has_these_sources(commit, LAB.folder)


def test_a_commit_has_the_sources_of_this_tree_or_not(tmp_path: Path) -> None:
    """Only files of folders such as kernel/ count."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel/main.c").write_text("int a;\n")
    for line in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *line], check=True)
    done = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    commit = done.stdout.strip()
    (tmp_path / "README").write_text("other files do not matter\n")
    assert certificate.has_these_sources(commit, LAB.folder, tmp_path)
    (tmp_path / "kernel/main.c").write_text("int b;\n")
    assert not certificate.has_these_sources(commit, LAB.folder, tmp_path)
    assert not certificate.has_these_sources("0" * 40, LAB.folder, tmp_path)


def read(folder: Path, text: str) -> dict:
    """Return the certificate that this text is."""
    (folder / "bad.json").write_text(text)
    return certificate.read_certificate(folder / "bad.json")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *((text, "no certificate of a grade") for text in ("", "[]", "{}", "3", "[" * 10**5)),
        ('{"version": 0}', "a certificate of version 0, not 1"),
        ('{"version": 1, "lab": "x"}', "no certificate of a grade: its nonce is missing"),
        (
            '{"version": 1, "version": 1}',
            "no certificate of a grade: it has the field 'version' twice",
        ),
    ],
)
def test_what_is_no_certificate_is_refused_with_words(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(BadCertificate, match=rf"bad\.json: {why}"):
        read(tmp_path, text)


def test_a_folder_is_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(BadCertificate, match=r"no certificate of a grade: .*directory"):
        certificate.read_certificate(tmp_path)


# A wrong value for each field, and the message; blanks make the names differ
MISSHAPEN: dict[str, tuple[object, str]] = {
    **{n: (None, f"its {n} is missing") for n in certificate.SHAPE if n != "version"},
    "score ": (True, "its score is missing"),
    "files ": ({FILE: 3}, "its files is not a table of texts"),
    "versions ": ({"qemu": None}, "its versions is not a table of texts"),
    "runs ": ({RUN: {"trace": "0"}}, f"its run {RUN} must have trace and console and nothing else"),
    "runs  ": ({RUN: "0"}, f"its run {RUN} is not a table of texts"),
    "points ": ({TEST: "5"}, "its points are not all numbers"),
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, (v, _) in MISSHAPEN.items()])
def test_each_part_that_a_recheck_reads_is_looked_at_first(
    was: dict, tmp_path: Path, name: str, value: object
) -> None:
    """The field's value is replaced by one of another type."""
    was[name.strip()] = value
    with pytest.raises(BadCertificate, match=MISSHAPEN[name][1]):
        read(tmp_path, json.dumps(was))


def test_what_was_graded_there_and_does_not_build_here_is_refused(
    graded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that finds another warning does this. The message has its words."""

    def build(*_: object) -> Path:
        raise BuildFailed("clook.c:3: error: unused variable")

    monkeypatch.setattr(grading, "build_kernel", build)
    with pytest.raises(BadCertificate, match=r"(?s)graded there, and here it is not:.*clook.c:3"):
        recheck(graded, graded / certificate.FILE, tmp_path)


def test_a_grade_of_an_unknown_lab_or_test_is_refused(
    graded: Path, was: dict, tmp_path: Path
) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps(was | {"lab": "nowhere"}))
    with pytest.raises(BadLab, match="nowhere"):
        recheck(graded, file, tmp_path)
    file.write_text(json.dumps(was | {"points": {"return.no_such_test": 5}}))
    with pytest.raises(NoTest, match="no_such_test"):
        recheck(graded, file, tmp_path)


def test_what_was_not_graded_has_no_certificate() -> None:
    """A failed build, and a record that says nothing of what it was made from."""
    failed = Record(LAB.name, LAB.title, NONCE, "build failed")
    failed.made_from = MadeFrom({}, "", {})
    assert certificate.make_certificate(failed) is None
    unsaid = Record(LAB.name, LAB.title, NONCE)
    assert certificate.make_certificate(unsaid) is None


def test_a_test_more_or_less_is_told(was: dict) -> None:
    """The certificate has a test `old`, which the new grade has not, and lacks another one."""
    before = copy.deepcopy(was)
    before["points"]["return.old"] = before["points"].pop(TEST)
    assert certificate.find_differences(before, was)[:2] == [
        f"test {TEST}: no points there, 5 here",
        "test return.old: 5 points there, no here",
    ]


def test_a_kernel_has_the_same_hash_whatever_folder_it_was_built_in(tmp_path: Path) -> None:
    """Sections that are not loaded name that folder."""
    kernel = tmp_path / "kernel.elf"
    tree.run_tool("objcopy", "--strip-debug", LAB.reference, kernel)
    assert kernel.read_bytes() != LAB.reference.read_bytes()
    assert certificate.hash_kernel(kernel) == certificate.hash_kernel(LAB.reference)
