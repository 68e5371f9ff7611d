"""Experiments: files are checked strictly, runs repeat to the last byte, failures stay apart."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from grade.experiment import expect, metrics, runner, summary
from grade.experiment.__main__ import EXPERIMENTS
from grade.experiment.load import load
from grade.experiment.locate import Lines
from grade.experiment.schema import BadExperiment
from grade.paths import ROOT

SMALL = """\
claim = "a delayed write is not waited for"
source = "this test"

[machine]
nbuf = 100
virtual_limit_s = 100

[machine.data]
drive = "rz58"
size = "16M"
files = {"/read" = "4M", "/write" = "2M"}

[policies]
sched = "fcfs"
update = "aipu"

[[arms]]
name = "async"
policies = {write = "async"}

[[arms]]
name = "delayed"
policies = {write = "delayed"}
tunables = {"aipu.age_ms" = "2 s"}

[workload]
commands = \"\"\"
iogen seed={seed} name=read rw=randread filename=/data/read nr=300 -- \\
    name=write rw=write filename=/data/write rate_iops=10 until=read
\"\"\"

[sweep]
seed = [1, 2]

[plot]
columns = ["read.p99_ms", "stat.disk.writes", "hist.disk1.queued.max"]
histogram = "read"

[[published]]
arm = "async"
metric = "read.p99_ms"
value = "about 30"

[[expectations]]
says = "few writes"
metric = "stat.disk.writes"
arm = "async"
op = "<"
value = 1000
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def command(path: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What `make experiment` runs."""
    line = [sys.executable, "-m", "grade.experiment", path, "--folder", folder, *words]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def changed(path: Path, old: str, new: str) -> int:
    """Change the file; the number of the line where the change begins."""
    text = path.read_text()
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new))
    return text[: text.index(old)].count("\n") + 1


# ---- files ----


def test_the_experiments_that_ship_have_no_problems_and_are_listed():
    done = subprocess.run(
        [sys.executable, "-m", "grade.experiment", "--list"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for path in EXPERIMENTS.glob("*.toml"):
        assert f"{path.stem}\n    {load(path).claim}\n" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nbuf = 100", "nbfu = 100", 'unknown key "nbfu"; did you mean "nbuf"?'),
        ("nbuf = 100", 'nbuf = "many"', 'nbuf = "many": must be a whole number'),
        ("nbuf = 100", "nbuf = true", "nbuf = true: must be a whole number"),
        ("nbuf = 100", "nbuf = 3", "nbuf = 3: not in 16 to"),
        ("nbuf = 100", 'memory = "64X"', 'memory = "64X": must be a size as "34M"'),
        ("nbuf = 100", 'memory = "1M"', 'memory = "1M": not in'),
        ("nbuf = 100", 'block = "3K"', 'unknown block "3K"'),
        ("nbuf = 100", 'root = "disk0"', 'root = "disk0": must be a table'),
        ("nbuf = 100", "nbuf =", "not TOML: Invalid value"),
        ('drive = "rz58"', 'drive = "rz85"', 'unknown drive "rz85"; did you mean "rz58"?'),
        ('"/write" = "2M"', '"/write" = 2', "/write = 2: must be a size"),
        ('sched = "fcfs"', 'sched = "fscf"', 'unknown sched policy "fscf"; did you mean "fcfs"?'),
        ('sched = "fcfs"', 'shed = "fcfs"', 'unknown kind of policy "shed"; did you mean "sched"?'),
        ('sched = "fcfs"', "sched = 1", "sched = 1: must be a policy's name"),
        ('name = "delayed"', 'name = "async"', 'a second arm "async"'),
        ('"aipu.age_ms"', '"aipu.age"', 'unknown tunable "aipu.age"; did you mean "aipu.age_ms"?'),
        ('"2 s"', '"2 sec"', 'unknown unit "sec"'),
        ('"2 s"', '"0.1 us"', "must be a whole number of ms"),
        ('"2 s"', "99999999999", "not in 0 to 3600000 ms (age at which a dirty block is due)"),
        ("seed={seed} ", "seed={sede} ", 'unknown variable "sede"; did you mean "seed"?'),
        ("seed = [1, 2]", "seed = 1", "seed: must be a list of values"),
        ("seed = [1, 2]", "seed = [1, 1]", "seed: the same value twice"),
        ('"read.p99_ms", ', '"read.p99", ', 'unknown metric "read.p99"'),
        ('"read.p99_ms", ', '"fast", ', '"fast" is no metric'),
        ('"stat.disk.writes", ', '"stat.disk.writs", ', 'did you mean "disk.writes"?'),
        ('"hist.disk1.queued.max"]', '"hist.disk1.queue.max"]', 'did you mean "disk1.queued"?'),
        ('histogram = "read"', 'histogram = "reed"', 'unknown job "reed"; did you mean "read"?'),
        ('op = "<"', 'op = "<>"', 'unknown op "<>"'),
        ("value = 1000", 'than = "asink"', 'unknown arm "asink"; did you mean "async"?'),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_meaning(small: Path, old, new, said):
    line = changed(small, old, new)
    with pytest.raises(BadExperiment) as refused:
        load(small)
    [problem] = [text for text in str(refused.value).splitlines() if said in text]
    assert problem.startswith(f"{small}:{line}: "), problem


def test_all_problems_are_told_at_once_and_nothing_runs(small: Path, tmp_path: Path):
    changed(small, "nbuf = 100", "nbuf = 1")
    changed(small, 'op = "<"', "")
    done = command(small, tmp_path / "out")
    assert done.returncode == 2
    assert "nbuf = 1: not in" in done.stderr
    assert 'the key "op" is missing' in done.stderr
    assert not (tmp_path / "out").exists()


def test_lines_are_found_past_text_of_several_lines_and_in_arrays_of_tables():
    lines = Lines('a = """\n[b]\nc = 1\n"""\n[[d]]\n[[d]]\n"e.f" = 2\ng.h = 3\n')
    assert lines.line(("d", 1, "e.f")) == 7
    assert lines.line(("d", 1, "g", "h")) == 8
    assert lines.line(("d", 0, "no")) == 5
    assert lines.line(("c",)) == 1


# ---- runs ----


def test_two_processes_at_once_get_the_same_bytes(small: Path, tmp_path: Path):
    folders = [tmp_path / "a", tmp_path / "b"]
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda folder: command(small, folder, "--jobs", "2"), folders))
    assert [d.returncode for d in done] == [0, 0], done[0].stdout + done[0].stderr
    texts = [(folder / "small" / "results.jsonl").read_bytes() for folder in folders]
    assert texts[0] == texts[1]
    assert texts[0].count(b"\n") == 4
    assert str(tmp_path).encode() not in texts[0]


def test_what_is_there_is_not_run_again(small: Path, tmp_path: Path):
    def make() -> runner.Outcome:
        experiment = load(small)
        return runner.execute(experiment, experiment.runs, 2, lambda step: None, tmp_path)

    first = make()
    again = make()
    assert (first.made, again.made) == (4, 0)
    assert again.results == first.results
    changed(small, '"2 s"', '"3 s"')
    assert make().made == 2


FAILING = """\
claim = "failures stay apart"
source = "this test"
[machine]
virtual_limit_s = 1000
nbuf = "{nbuf}"
[[arms]]
name = "only"
[workload]
commands = '''
echo before
{command}
'''
[sweep]
nbuf = [100, 99999999]
command = ["true", "false", "sleep 2000"]
"""


def test_a_run_that_fails_is_shown_and_the_others_go_on(tmp_path: Path):
    path = tmp_path / "failing.toml"
    path.write_text(FAILING)
    done = command(path, tmp_path / "out")
    assert done.returncode == 1
    assert "FAILED only_nbuf=100_command=false: the machine ended with status 1" in done.stdout
    assert "| before\n" in done.stdout
    assert "FAILED only_nbuf=100_command=sleep 2000: took more than 1000 s of virt" in done.stdout
    assert "FAILED only_nbuf=99999999_command=true: the machine ended with status" in done.stdout
    lines = (tmp_path / "out" / "failing" / "results.jsonl").read_text().splitlines()
    assert len(lines) == 1
    assert '"command":"true"' in lines[0]


def test_an_expectation_that_is_not_met_is_shown_and_is_the_status(small: Path, tmp_path: Path):
    done = command(small, tmp_path / "out")
    assert done.returncode == 0
    assert "as said  few writes" in done.stdout
    changed(small, "value = 1000", "value = 1")
    done = command(small, tmp_path / "out")
    assert done.returncode == 1
    assert "NOT SO  few writes" in done.stdout
    assert "expected < 1" in done.stdout
    assert "0 runs made" in done.stdout


# ---- numbers ----


def test_metrics_are_right_on_a_known_distribution():
    times_ms = [1] * 90 + [10] * 9 + [1000]
    buckets = [[t * 10**6, t * 10**6 + 1000, times_ms.count(t)] for t in sorted(set(times_ms))]
    histogram = {"unit": "ns", "count": 100, "sum": sum(times_ms) * 10**6, "buckets": buckets}
    result = {"counters": {"c": [7, "times"]}, "histograms": {"h": histogram}, "iogen": []}
    found = {
        name: metrics.of(result, f"hist.h.{name}")
        for name in ("count", "mean_ms", "p50_ms", "p99_ms", "p99.9_s", "max_s", "over_10_ms")
    }
    assert found == pytest.approx(
        {
            **{"count": 100, "mean_ms": 11.8, "p50_ms": 1, "p99_ms": 10},
            **{"p99.9_s": 1, "max_s": 1, "over_10_ms": 10},
        },
        rel=1e-3,
    )
    assert metrics.of(result, "stat.c") == 7


def test_mogul_4_1_comes_out_as_the_paper_says(tmp_path: Path):
    """One trial of the fast system; all of its expectations."""
    whole = load(EXPERIMENTS / "mogul-4.1-fast.toml")
    trial = [run for run in whole.runs if run.variables["seed"] == 1]
    experiment = replace(whole, runs=trial)
    outcome = runner.execute(experiment, trial, 2, lambda step: None, tmp_path)
    assert outcome.errors == {}
    for verdict in expect.judge(experiment, outcome.results):
        assert verdict.met, verdict.why
    shown = summary.text(experiment, outcome.results)
    assert "8000-9000" in shown
    assert "█" in shown
