"""--out: a place that cannot be written is refused in one line, before any work."""

import os
import subprocess
from pathlib import Path

import pytest
from typed import LINE, enter

from grade.engine import example
from sluice.cli.verbs import theatre
from sluice.experiment.files import write_atomically
from sluice.export import recording
from sluice.host.out import BadOut, expect_file, expect_folder
from sluice.host.paths import ROOT
from sluice.sweep import matrix

EXPERIMENT = ("mogul-4.1-fast", "--size", "quick", "--run", "1")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file, which is no folder, so nothing can be written below it."""
    (tmp_path / "file").write_text("kept")
    return tmp_path / "file"


def never(*_: object, **__: object) -> None:
    """Fail, because the work of a command was begun."""
    raise AssertionError("the work was begun")


@pytest.mark.native
def test_what_cannot_be_written_is_refused_and_nothing_is_left(tmp_path: Path, file: Path) -> None:
    """A folder can be no file, or below a file; its name may be too long. A file may take a file's
    place."""
    for bad in (file, file / "below", Path("/proc/none/x"), tmp_path / ("x" * 300)):
        with pytest.raises(BadOut) as refused:
            expect_folder(bad)
        assert str(refused.value).startswith(f"--out={bad}: nothing can be written there: ")
    for bad in (tmp_path, file / "below", Path("/proc/none/x")):
        with pytest.raises(BadOut, match=f"^--out={bad}: "):
            expect_file(bad)
    expect_folder(tmp_path / "new" / "folder")
    expect_file(tmp_path / "new" / "file")
    expect_file(file)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "kept"


@pytest.mark.parametrize(
    ("module", "work", "words"),
    [
        (recording, "repeat_and_record", ("export", *EXPERIMENT)),
        (theatre, "build_scenes", ("theatre", *EXPERIMENT, "--animation")),
        (theatre, "build_scenes", ("theatre", *EXPERIMENT)),
        (example, "expected_texts", ("lab", "example", "elevator")),
    ],
)
def test_a_command_refuses_such_a_place_before_its_work(
    monkeypatch, capsys, file: Path, module, work: str, words: tuple[str, ...]
) -> None:
    """work: the function of the module that does the command's work."""
    monkeypatch.setattr(module, work, never)
    assert enter(*words, "--out", f"{file}/below") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"--out={file}/below: nothing can be written there: ")
    assert said.err.count("\n") == 1


def test_a_bundle_is_not_made_where_nothing_can_be_written(file: Path) -> None:
    line = [*LINE, "lab", "bundle", "elevator"]
    for out in (file / "below.zip", Path("/proc/none/x.zip")):
        done = subprocess.run(
            [*line, f"--out={out}"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert done.stderr.startswith(f"--out={out}: nothing can be written there: ")
        assert done.stderr.count("\n") == 1


def test_a_matrix_refuses_such_a_place_before_its_work(monkeypatch, capsys, file: Path) -> None:
    monkeypatch.setattr(matrix, "requested_loads", never)
    assert enter("dev", "matrix", "mogul-4.1-fast", "--out", file / "below") == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"--out={file}/below: nothing can be written there: ")


def test_a_search_whose_name_is_too_long_for_a_file_is_not_there(capsys) -> None:
    assert enter("dev", "tune", "x" * 300) == 2
    assert "there is no such search; there are sluice" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("experiment", "run", *EXPERIMENT),
        ("sweep", "mogul-4.1-fast", "--over", "nbuf=256..512:2"),
        ("crash", "run"),
        ("replay", __file__),
        ("trace", "curve", __file__),
        ("validate", "repeat", "mogul-4.1-fast"),
        ("dev", "matrix", "mogul-4.1-fast"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_results_are_not_kept_where_nothing_can_be_written(
    capsys, file: Path, words: tuple[str, ...]
) -> None:
    for folder in (file, file / "below"):
        assert enter(*words, "--folder", folder) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "nothing can be written there: " in said


def test_a_trace_does_not_take_the_place_of_a_device(capsys, tmp_path: Path) -> None:
    """A pipe stands for the device."""
    os.mkfifo(tmp_path / "pipe")
    for there in (tmp_path / "pipe", tmp_path):
        assert enter("trace", "generate", there, "--requests", 10) == 2
        assert "is no file" in " ".join(capsys.readouterr().err.split())
    assert [path.is_fifo() for path in tmp_path.iterdir()] == [True]


def test_a_page_goes_into_a_pipe_and_does_not_take_its_place(tmp_path: Path) -> None:
    """A pipe with a name stands for a device such as /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # so that no end waits for the other
    write_atomically(pipe, "a page")
    assert pipe.is_fifo()
    assert os.read(reader, 100) == b"a page"
    os.close(reader)
