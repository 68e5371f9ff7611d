"""Fuzzing by seed (tools/fuzz): the same number is the same input, a failure is kept and told with
the command that repeats it, and each target finds a planted fault."""

import dataclasses
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from grade.trust import submission
from sluice.cli.verb import NONE
from sluice.cli.verbs import dev
from sluice.experiment import catalogue, load
from sluice.trace import stream
from tools.fuzz import command
from tools.fuzz import fuzz_targets as targets
from tools.fuzz import reader_process as reader
from tools.fuzz.command import Request
from tools.fuzz.random_change import change_data

READERS = ("traces", "archives", "toml")
ENOUGH = 200  # inputs, of which some meet a planted fault


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have failing inputs kept in the test's folder."""
    monkeypatch.setattr(command, "FOLDER", tmp_path / "fuzz")


def test_a_change_is_of_its_seed_alone_and_never_longer_than_it_may_be() -> None:
    data = b"[machine]\nmemory_mb = 16\n" * 10
    changed = [change_data(data, Random(seed)) for seed in range(50)]
    assert changed == [change_data(data, Random(seed)) for seed in range(50)]
    assert len(set(changed)) > 40
    assert change_data(b"", Random(1)) == b""


@pytest.mark.parametrize("name", READERS)
def test_an_input_is_of_its_number_alone(name: str, tmp_path: Path) -> None:
    """Input `number` of seed 7 is the same bytes each time; other numbers give other bytes."""
    make = targets.TARGETS[name].make
    for number in range(20):
        first = make(7, number, tmp_path).read_bytes()
        assert make(7, number, tmp_path).read_bytes() == first
    assert len({make(7, number, tmp_path).read_bytes() for number in range(20)}) > 10


def test_the_command_offers_every_target() -> None:
    assert {*dev.FUZZED} == {*targets.TARGETS}


@pytest.mark.parametrize("name", ["traces", "archives"])
def test_readers_refuse_bad_input_with_their_own_error(name: str, tmp_path: Path) -> None:
    for number in range(ENOUGH):
        path = targets.TARGETS[name].make(3, number, tmp_path)
        assert not reader.try_input(name, path), number


def test_a_reader_runs_in_a_process_of_its_own_that_begins_anew_when_it_dies(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The process is killed between two commands; the second one tries its input in a new
    process."""
    assert command.run(Request("archives", 0, 5, number=1)) == 0
    tried = targets.TARGETS["archives"].run
    assert isinstance(tried, targets.Reader)
    assert tried.child
    tried.child.kill()
    tried.child.wait()
    assert command.run(Request("archives", 0, 5, number=2)) == 0
    assert "archives: 1 inputs of seed 5, 0 failed" in capsys.readouterr().out


def test_what_a_build_may_replace_is_copied_before_inputs_are_tried() -> None:
    for what in ("arguments", "calls", "images", "toml"):
        assert dev.needs_of_fuzz({"what": what}).snapshot != NONE, what


def test_the_names_of_the_kernel_are_read_before_a_reader_has_its_limits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process that reads an input has too little memory to run a machine, which would print the
    kernel's names. So the names are stored before such a process starts."""
    known = {field.name for field in dataclasses.fields(catalogue.Known)}
    names: dict[str, object] = {name: {} for name in known - {"drives"}}
    monkeypatch.setattr(catalogue, "KEPT", tmp_path)
    monkeypatch.setattr(catalogue, "boot_and_read", lambda: names)
    catalogue.load_catalogue.cache_clear()
    tried: list[bool] = []

    def run(path: Path) -> str:
        tried.append(any(tmp_path.glob("known-*.json")))
        return ""

    toml = dataclasses.replace(targets.TARGETS["toml"], run=run)
    monkeypatch.setitem(targets.TARGETS, "toml", toml)
    assert command.run(Request("toml", 0, 1, number=1)) == 0
    catalogue.load_catalogue.cache_clear()
    assert tried == [True]


def test_calls_with_any_arguments_are_made_and_a_failure_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = targets.make_seed(2, 3, tmp_path)
    assert not targets.run_arguments(path)
    monkeypatch.setattr(targets, "ANY", "no_such_test")
    assert "no_such_test" in targets.run_arguments(path)


def plain_load(path: Path) -> tuple[Any, str]:
    """Return the values and the text of an experiment's file without checking them, as a reader
    with a fault would."""
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text), text


def forget_bad_lines(*given: Any) -> None:
    """Fail at a bad line of a trace."""
    raise IndexError("planted")


def always(error: BaseException) -> bool:
    """Take each error for the host's."""
    return True


# By target: a module, a function of it, and what replaces the function.
FAULTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "traces": (stream, "take_bad_line", forget_bad_lines),
    "archives": (submission, "is_host_fault", always),
    "toml": (load, "read_toml", plain_load),
}


@pytest.mark.parametrize("name", READERS)
def test_a_planted_fault_of_a_reader_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(*FAULTS[name])
    make = targets.TARGETS[name].make
    wrong = (reader.try_input(name, make(1, number, tmp_path)) for number in range(ENOUGH))
    assert "Traceback" in next(filter(None, wrong), "")


def test_a_failure_is_kept_and_told_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = targets.Target("", targets.make_seed, lambda path: "all is wrong")
    monkeypatch.setitem(targets.TARGETS, "calls", target)
    assert command.run(Request("calls", 0, 9, number=4)) == 1
    said = capsys.readouterr().out
    assert "calls: seed 9, input 4:\nall is wrong" in said
    assert "sluice dev fuzz calls --seed 9 --input 4" in said
    assert (command.FOLDER / "calls-9-4-seed").read_text(encoding="utf-8") == "9000004"


def test_the_same_command_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user stops the command at its third input; the next one begins with that input."""
    tried: list[int] = []

    def stop_at_three(path: Path) -> str:
        """Be interrupted by the third input. The sixth one is a failure."""
        tried.append(int(path.read_text(encoding="utf-8")))
        if len(tried) == 3:
            raise KeyboardInterrupt
        return "wrong" if len(tried) == 6 else ""

    target = targets.Target("", targets.make_seed, stop_at_three)
    monkeypatch.setitem(targets.TARGETS, "calls", target)
    monkeypatch.setattr(command, "MOST_FAILURES", 1)
    with pytest.raises(KeyboardInterrupt):
        command.run(Request("calls", 3600, 0))
    assert command.run(Request("calls", 3600, 0)) == 1
    assert tried == [0, 1, 2, 2, 3, 4]


def test_a_program_that_a_signal_ends_has_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "tool"
    program.write_text('#!/bin/sh\ncat >/dev/null\necho "bad access" >&2\nkill -SEGV $$\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(targets, "EXT2_TOOL", program)
    (tmp_path / "image-1024").write_bytes(b"image")
    wrong = targets.run_image(tmp_path / "image-1024")
    assert "bad access" in wrong
    assert wrong.startswith("status -11")
