"""`sluice debug`: the machine stops at any event, in gdb, and the run stays the same.

A run is made once and kept with its trace (`kept`, a Kept: its recording, and how many first events
were lost). For debugging it is made again in QEMU, by its record, up to the event that is asked
for; gdb's commands `back`, `forth` and `at` go to other events. Events have numbers; read:longest
and times name events as well.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_experiment import reads_beside_writes
from typed import LINE, enter

from grade.definition.lab import find_lab, load_mistakes
from grade.engine import grading, tree
from sluice.debug import stored_run as keeping
from sluice.debug.instant import event_numbers, reads
from sluice.debug.stored_run import Kept, find_or_record
from sluice.experiment.files import FOLDER
from sluice.experiment.load import load
from sluice.experiment.run import RunFailed
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.system import trace
from sluice.system.guest import MEMORY_START
from sluice.system.requests import Request

# One worker does all: they share the kept run, and one test changes its trace.
pytestmark = pytest.mark.xdist_group("replay")

# A trace with room for 2,048 events, and three times as many: it wraps twice.
WRAPS = reads_beside_writes("a run stops at any event", 600, seed=2, machine="trace_k = 2")


@pytest.fixture(scope="module")
def toml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the experiment WRAPS."""
    path = tmp_path_factory.mktemp("replay") / "wraps.toml"
    path.write_text(WRAPS)
    return path


@pytest.fixture(scope="module")
def kept(toml: Path) -> Kept:
    """Return the run of WRAPS, made anew."""
    run = load(toml).runs[0]
    shutil.rmtree(find_or_record(run, FOLDER).trace.parent)
    return find_or_record(run, FOLDER)


def replay(toml: Path, at: str, *commands: str) -> subprocess.CompletedProcess[str]:
    """Run `sluice debug` with these commands of gdb."""
    return run_debug("--run", "1", "--at", at, "--do", ";".join(commands), str(toml))


def run_debug(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `sluice debug` with these words to its end."""
    return subprocess.run(
        [*LINE, "debug", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def stops(said: str) -> list[int]:
    """Return the events at which gdb said that it stopped."""
    return [int(number) for number in re.findall(r"^event (\d+)  ", said, re.M)]


# ---- what is kept ----


def test_a_trace_that_is_not_wholly_removed_is_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is stopped when the first file of the oldest trace is gone."""
    monkeypatch.setattr(keeping, "FOLDER", tmp_path)
    for number in range(keeping.KEPT + 1):
        folder = tmp_path / f"{number:02}"
        folder.mkdir()
        (folder / "trace").touch()
        (folder / keeping.ABOUT).touch()
        os.utime(folder, (number, number))

    def stop(folder: Path, **how: object) -> None:
        next(folder.rglob(keeping.ABOUT)).unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", stop)
    with pytest.raises(KeyboardInterrupt):
        keeping.remove_old_traces()
    there = sorted(path.name for path in tmp_path.glob("[0-9]*"))
    assert there == [f"{number:02}" for number in range(1, keeping.KEPT + 1)]


def test_what_killed_commands_left_of_traces_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that an earlier command left is removed before the run begins."""
    base = tmp_path / keeping.BASE
    abandoned = base / "abandoned"
    abandoned.mkdir(parents=True)
    (abandoned / "memory").touch()

    def make(run: object, console: Path, memory: Path) -> None:
        assert list(base.iterdir()) == [memory.parent]
        raise RunFailed("there is no machine")

    monkeypatch.setattr(keeping, "FOLDER", tmp_path)
    monkeypatch.setattr(
        keeping, "runs", SimpleNamespace(make_run=make, result_key=lambda run: "key")
    )
    monkeypatch.setattr(keeping.runner, "stored_result", lambda *_: None)
    with pytest.raises(RunFailed, match="there is no machine"):
        keeping.record_run(SimpleNamespace(experiment="made"), tmp_path / "key", tmp_path)
    assert list(tmp_path.iterdir()) == [base] and not list(base.iterdir())


# ---- the machine in gdb ----


def find_longest(kept: Kept) -> Request:
    """Return the read that took longest."""
    return max(reads(kept), key=lambda r: r.response_ns)


def test_it_stops_at_the_event_with_the_machine_as_it_was_then(toml: Path, kept: Kept) -> None:
    """The queue in the machine is as long as the trace says that it was."""
    read = find_longest(kept)
    numbers = event_numbers(kept, read)
    # The event before this one is in a file that has another variable of the name `disks`.
    commands = ("queue 1", "back", "echo ==\\n", "queue 1 all", "echo ==\\n", "forth")
    commands += ("backtrace", "procs", "forth completed")
    done = replay(toml, "read:longest", *commands)
    assert done.returncode == 0, done.stdout
    assert "Python Exception" not in done.stdout and "0x0000000000001000 in" not in done.stdout
    assert stops(done.stdout)[0] == numbers["queued"]
    assert "kernel/cache/bio.c" in done.stdout.split("==")[0]
    grouped = [int(n) for n in re.findall(r"^  (\d+) in a row: ", done.stdout, re.M)]
    first, second, *_ = done.stdout.split("==")
    single, every = (len(re.findall("^  (?:read|write) ", part, re.M)) for part in (first, second))
    assert every == read.found_queued > 5
    assert grouped and single + sum(grouped) == read.found_queued
    assert "arrive (" in done.stdout and "kernel/disk/disk.c" in done.stdout
    assert "trace_io(io->request.queued_ns, TRACE_queued" in done.stdout  # a line of the source
    assert re.search(r"RUNNING +iogen", done.stdout)


def test_back_and_forth_go_by_event_request_and_decision(toml: Path, kept: Kept) -> None:
    """Each command goes to the event before or after of some kind. Going back makes the run
    again."""
    events = kept.recording.events
    last_flush = max(i for i, event in enumerate(events) if event.name == "flush")
    start = last_flush // 2

    def after(i: int, step: int, *names: str) -> int:
        """Return the next event with one of these names, in this direction."""
        i += step
        while names and events[i].name not in names:
            i += step
        return i

    at = [start]
    at.append(after(at[-1], -1))
    at.append(after(at[-1], 1, "queued"))
    at.append(after(at[-1], -1, "issued", "writing", "ahead", "evicted", "flush"))
    at.append(after(at[-1], 1, "flush"))
    commands = ("back", "forth request", "back decision", "forth flush", "at 0", "back nothing")
    done = replay(toml, f"event:{kept.number(start)}", *commands)
    assert stops(done.stdout) == [kept.number(i) for i in at], done.stdout
    again = re.findall(r"^Making the run again, up to event (\d+)\.$", done.stdout, re.M)
    assert again[1:] == [str(kept.number(i)) for i in (at[1], at[3])]  # the first is the start
    assert "the trace has events" in done.stdout  # event 0 was overwritten
    assert "nothing: give event, request, decision, or one of queued issued" in done.stdout


def test_a_machine_that_starts_again_leaves_no_descriptor_open(toml: Path, kept: Kept) -> None:
    """A user may go back in gdb all day, and the machine starts again each time."""
    start = f"event:{kept.number(len(kept.recording.events) // 2)}"
    count = "python print('open:', len(__import__('os').listdir('/proc/self/fd')))"
    done = replay(toml, start, "back", count, "back", "back", count)
    assert len(stops(done.stdout)) == 4, done.stdout
    one, other = re.findall(r"^open: (\d+)$", done.stdout, re.M)
    assert one == other


def test_stops_and_steps_change_no_later_event(toml: Path, kept: Kept) -> None:
    """Stops, steps by instruction and a breakpoint leave the run as it was, up to its last
    event."""
    first, last = kept.lost + 5, kept.number(len(kept.recording.events)) - 1
    commands = ("forth 500", "stepi 500", "hbreak bio_burst", "continue", "finish", "delete")
    done = replay(toml, f"event:{first}", *commands, f"at {last}")
    assert done.returncode == 0, done.stdout
    assert stops(done.stdout) == [first, first + 500, last], done.stdout
    assert "bio_burst (" in done.stdout


def test_a_machine_that_has_ended_is_started_again_by_back(toml: Path, kept: Kept) -> None:
    """`at` goes back to the last event after the machine has ended."""
    last = kept.number(len(kept.recording.events)) - 1
    done = replay(toml, f"event:{last}", "continue", f"at {last}")
    assert done.returncode == 0, done.stdout
    assert stops(done.stdout) == [last, last], done.stdout


def test_a_run_that_differs_from_the_first_time_is_an_error(toml: Path, kept: Kept) -> None:
    """One byte of the kept trace is changed, in its event 100. The run stops there, ten events
    before the moment that is asked for."""
    whole = kept.trace.read_bytes()
    number = kept.lost + 100  # events are counted from the first one, which may be lost
    at = trace.TRACE_FILE.size + 100 * trace.RECORD.size + 8
    kept.trace.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    try:
        done = replay(toml, f"event:{number + 10}", "queue")
    finally:
        kept.trace.write_bytes(whole)
    assert done.returncode == 1, done.stdout
    assert f"this run differs from the first time at event {number}" in done.stdout
    assert "disk1: sched" not in done.stdout


def test_a_machine_that_does_not_start_says_why(toml: Path, kept: Kept) -> None:
    """QEMU cannot replay a file that is no record."""
    kept.rr.write_bytes(b"no record")
    try:
        done = replay(toml, "read:1")
    finally:
        kept.rr.unlink()
    assert done.returncode == 1, done.stdout
    assert "the machine did not start" in done.stdout
    assert "it said:\nReplay: invalid input log file version" in done.stdout  # as QEMU has it


def test_wrong_words_say_what_there_is(toml: Path, kept: Kept, capsys) -> None:
    """The first events were overwritten, so the trace has neither event 1 nor the time 0.5 s."""
    for at, said in {
        "later": "--at=later: give a time as 12.345s, read:longest, read:17 or event:48211",
        "event:1": f"--at=event:1: the trace has events {kept.lost} to ",
        "0.5s": "--at=0.5s: the trace is from ",
    }.items():
        assert enter("debug", "--run", "1", "--at", at, toml) == 2
        assert said in capsys.readouterr().err


def test_the_trace_has_wrapped(kept: Kept) -> None:
    """Otherwise the tests above would not try a wrapped trace."""
    assert kept.lost > kept.records == 2048
    assert kept.phys > MEMORY_START
    assert kept.trace.stat().st_size == trace.TRACE_FILE.size + 2048 * trace.RECORD.size


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the folder in which a wrong elevator was graded, and the message of its failed
    test."""
    lab, folder = find_lab("elevator"), tmp_path_factory.mktemp("graded")
    wrong = next(mistake for mistake in load_mistakes(lab) if mistake.name == "sstf")
    files, one = tree.solution_files(lab, wrong.edits), "return.each_time_it_returns_to_the_lowest"
    (test,) = grading.grade_submission(lab, lambda: files, folder, "3", "make grade", one).tests
    return folder, test.came


def test_a_failed_test_of_a_lab_tells_how_to_stop_where_it_went_wrong(
    failed: tuple[Path, str],
) -> None:
    """The command in the message stops at the wrong choice of a sector. If the stored trace is
    changed, it refuses."""
    folder, came = failed
    sector = int(re.match(r"sector (\d+)", came)[1])
    typed = r"`bin/sluice debug --graded build/grade/elevator/(\S+) --at event:(\d+)`"
    shown = re.search(typed, came)
    number = int(shown[2])
    stopped = run_debug(
        "--graded", str(folder / shown[1]), "--at", f"event:{number}", "--do", "back"
    )
    assert stops(stopped.stdout) == [number, number - 1], stopped.stdout
    assert re.search(rf"^event {number}  .* issued\s+disk\d {sector} ", stopped.stdout, re.M)
    kept = (folder / shown[1] / "trace").read_bytes()
    # a bit of the last record, of 32 bytes
    (folder / shown[1] / "trace").write_bytes(kept[:-32] + bytes([kept[-32] ^ 1]) + kept[-31:])
    for record in (folder / shown[1]).glob("rr-*"):
        record.unlink()
    other = run_debug("--graded", str(folder / shown[1]), "--at", f"event:{number}", "--do", "back")
    assert other.returncode == 1 and "another trace" in other.stdout


def test_a_folder_without_a_graded_run_says_what_to_give(
    failed: tuple[Path, str], tmp_path: Path
) -> None:
    """An empty folder, and one whose about.json is cut off."""
    nothing = run_debug("--graded", str(tmp_path))
    assert nothing.returncode == 2 and f"{tmp_path}: there is no " in nothing.stdout
    run = failed[0] / "runs" / "crowd"
    (run / "about.json").write_text("{")
    damaged = run_debug("--graded", str(run))
    assert damaged.returncode == 2 and "damaged" in damaged.stdout
