"""A command goes on where its output cannot be printed, and its lines fit the terminal.

Output may go to a terminal or pipe whose locale lacks letters, to a reader that has gone, or to a
full disk. PRINTS is a program that prints TEXT 2000 times and to stderr, and then writes a file.
Where a letter cannot be printed, one that looks alike takes its place (ALIKE).
"""

import errno
import io
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path
from types import SimpleNamespace

import command_modules
import pytest
from trees import plain_environment
from typed import LINE

from sluice.experiment.aligned import format_table
from sluice.host import interrupt, printing
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.report import session

pytestmark = pytest.mark.native
TYPED = ("tests.support.typed",)
LATIN1 = ("de_DE", "ISO-8859-1")
LISTS = (  # commands that print much and need no machine
    (*TYPED, "experiment", "list"),
    (*TYPED, "experiment", "list", "mogul-4.1-fast"),
    (*TYPED, "papers"),
    (*TYPED, "export", "--list", "mogul-4.1-fast"),
    (*TYPED, "export", "--help"),
    *(
        (command_modules.module(path), "--help")
        for path in command_modules.PATHS
        if "ArgumentParser" in path.read_text()
    ),
)
PRINTS = """
import sys
from sluice.host.interrupt import run_interruptible
def main():
    for _ in range(2000):
        print({text!r})
    print({text!r}, file=sys.stderr)
    open({done!r}, "w").write({text!r})
    return {status}
sys.exit(run_interruptible(main))
"""
TEXT = "a█▏▂ µ → é 語 \udc80"
ALIKE = {"iso8859-1": "a#|. µ > é ? ?", "ascii": "a#|. u > e ? ?"}
# A table with ten columns of wide figures, and heads of two lines
ROWS = [
    ["", *["some.counter"] * 9],
    ["", *(f"field_{i}" for i in range(9))],
    *([f"an arm of number {n}", *["12,345 to 67,890"] * 9] for n in range(3)),
]


def program(done: Path, text: str = TEXT[:-2], status: int = 0) -> list[str]:
    """Return a command that prints, and then writes a file."""
    return [sys.executable, "-c", PRINTS.format(text=text, done=str(done), status=status)]


@pytest.fixture(scope="module")
def latin1(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment whose locale is German with ISO 8859-1, which has few letters."""
    folder = tmp_path_factory.mktemp("locales")
    name, charset = LATIN1
    if shutil.which("localedef") is None or not Path(f"/usr/share/i18n/locales/{name}").exists():
        pytest.skip("there is no localedef with the sources of locales (Debian's package locales)")
    subprocess.run(["localedef", "-i", name, "-f", charset, folder / name], check=True)
    return {"LOCPATH": str(folder), "LC_ALL": name}


def run(line: list[str], **extra: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command with more variables in its environment."""
    env = os.environ | {"PYTHONUTF8": "1"} | extra
    return subprocess.run(line, cwd=ROOT, env=env, capture_output=True, timeout=HANG_S)


def test_in_a_narrow_locale_letters_look_alike_and_files_are_utf8(
    latin1: dict[str, str], tmp_path: Path
) -> None:
    """The program prints TEXT to both streams and writes it to a file. A letter that the locale
    does not have is printed as one that looks alike."""
    done = run(program(tmp_path / "file"), **latin1)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("latin-1").splitlines()[0] == ALIKE["iso8859-1"][:-2]
    assert done.stderr.decode("latin-1").splitlines() == [ALIKE["iso8859-1"][:-2]]
    assert (tmp_path / "file").read_text(encoding="utf-8") == TEXT[:-2]


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_where_the_locale_says_nothing_output_is_utf8(locale: str, tmp_path: Path) -> None:
    """These locales name no language."""
    done = run(program(tmp_path / "file"), LC_ALL=locale)
    assert (done.returncode, done.stdout.decode().splitlines()[0]) == (0, TEXT[:-2])


def test_pythons_own_variable_is_obeyed(tmp_path: Path) -> None:
    """PYTHONIOENCODING takes precedence over the locale."""
    done = run(program(tmp_path / "file"), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout.decode().splitlines()[0]) == (0, ALIKE["ascii"][:-2])


@pytest.mark.parametrize("charset", sorted(ALIKE))
def test_a_likeness_is_as_wide_as_the_character(charset: str) -> None:
    """Each letter of TEXT that a charset lacks is replaced by one letter of the charset (ALIKE)."""
    printing.codecs.register_error(printing.ALIKE, printing.replace_by_lookalike)
    assert TEXT.encode(charset, printing.ALIKE).decode(charset) == ALIKE[charset]


@pytest.mark.parametrize("status", [0, 3])
def test_a_reader_that_goes_away_changes_nothing_but_the_output(
    status: int, tmp_path: Path
) -> None:
    """The reader is `| head -1`. The file is written, and the status is the command's own."""
    process = subprocess.Popen(
        program(tmp_path / "file", status=status),
        cwd=ROOT,
        env=os.environ | {"PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    assert (process.wait(HANG_S), said) == (status, TEXT[:-2] + "\n")
    assert (tmp_path / "file").exists()


def test_output_to_a_full_disk_is_told_and_the_work_is_done(tmp_path: Path) -> None:
    """/dev/full refuses each write."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            program(tmp_path / "file"), cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert "the output is not whole: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "file").exists()


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_commands_print_whatever_the_locale_and_the_reader(words: tuple[str, ...]) -> None:
    """The reader has gone before the first line, and only letters of ASCII can be printed."""
    module, *rest = words
    line = [sys.executable, "-m", module, *rest]
    env = os.environ | {"PYTHONUTF8": "1", "PYTHONIOENCODING": "ascii"}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(line, cwd=ROOT, env=env, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "/disk/page.html"),
        shutil.Error([("/from", "/disk/page.html", "[Errno 28] No space left on device: 'x'")]),
    ],
    ids=["a file", "the copying of a folder"],
)
def test_a_full_disk_ends_a_command_in_one_line(
    error: OSError, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the file, and what was kept."""

    def fill() -> None:
        raise error

    before = interrupt.signal.getsignal(interrupt.signal.SIGINT)
    try:
        assert interrupt.run_interruptible(fill, "all is as it was") == 1
    finally:
        interrupt.signal.signal(interrupt.signal.SIGINT, before)
    said = "stopped: /disk/page.html: No space left on device; all is as it was\n"
    assert capsys.readouterr().err == said


def test_an_experiment_says_on_a_full_disk_what_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Making the runs fails as if the disk were full, before any of three is done."""

    def fill(*_: object) -> bool:
        raise OSError(errno.ENOSPC, "No space left on device", "/disk/results.jsonl")

    monkeypatch.setattr(session, "make_and_print", fill)
    one = SimpleNamespace(name="one", runs=[1, 2, 3])
    request = session.Request(folder=tmp_path)
    before = interrupt.signal.getsignal(interrupt.signal.SIGINT)
    try:
        assert interrupt.run_interruptible(lambda: session.make_experiments([one], request)) == 1
    finally:
        interrupt.signal.signal(interrupt.signal.SIGINT, before)
    said = "stopped: /disk/results.jsonl: No space left on device; 0 of 3 runs are done and kept in"
    assert capsys.readouterr().err.startswith(said)


def test_other_errors_are_not_taken_for_a_full_disk() -> None:
    """Permission denied."""
    assert interrupt.describe_full(OSError(errno.EACCES, "Permission denied", "/x")) == ""
    assert interrupt.describe_full(shutil.Error([("/a", "/b", "[Errno 13] denied")])) == ""


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_table_fits_and_loses_no_figure(width: int) -> None:
    """A table that is too wide is split into parts, with blank lines between them."""
    lines = format_table(ROWS, heads=2, width=width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert text.count("12,345 to 67,890") == 27
    assert [text.count(f"field_{i}") for i in range(9)] == [1] * 9
    assert (lines.count("") > 0) == (width < 150)


def test_a_row_without_figures_in_a_part_is_not_in_it() -> None:
    """The second part has a row that the first lacks."""
    rows = [["", "first", "second"], ["all", "1" * 30, "2" * 30], ["  published", "", "3"]]
    assert format_table(rows, width=45) == [
        *[f"{'first':>35}", f"all  {'1' * 30}", ""],
        *[f"{'second':>43}", f"all          {'2' * 30}", f"  published  {'3':>30}"],
    ]


def on_a_terminal(line: list[str], columns: int) -> str:
    """Return what a command prints on a terminal of this width."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    pipes = {"stdout": theirs, "stderr": theirs, "stdin": theirs}
    process = subprocess.Popen(line, cwd=ROOT, env=plain_environment(), **pipes)
    os.close(theirs)
    said = io.BytesIO()
    while True:
        try:
            said.write(os.read(ours, 1 << 16))
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert process.wait(HANG_S) == 0
    return said.getvalue().decode().replace("\r\n", "\n")


@pytest.mark.parametrize("words", [("papers", "mogul"), ("trace", "look"), ("trace", "curve")])
def test_sentences_fit_a_narrow_terminal(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Bars of progress come before the sentences, with the terminal's commands."""
    path = tmp_path / "a.csv"
    path.write_text("".join(f"0,{i * 8},4096,R,{i}\n" for i in range(1000)))
    more = {"look": [path], "curve": [path, "--folder", tmp_path]}.get(words[-1], [])
    shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", on_a_terminal([*LINE, *words, *more], 40))
    lines = re.split(r"[\r\n]+", shown)
    assert max(map(len, lines)) <= 40 < sum(map(len, lines))


@pytest.mark.parametrize("columns", [40, 80])
def test_lists_fit_the_terminal_and_a_pipe_gets_them_plain(columns: int) -> None:
    """The words are the same; only a terminal gets line breaks and colours."""
    line = [*LINE, "experiment", "list"]
    shown = on_a_terminal(line, columns)
    assert max(map(len, shown.splitlines())) <= columns
    plain = run(line, COLUMNS="33").stdout.decode()
    assert "\x1b" not in plain
    assert " ".join(shown.split()) == " ".join(plain.split())
    assert re.search(r".{81}", plain)  # a claim is one line, to be searched for
