"""Reports of programs on their jobs: any program's line gives metrics, a wrong one is refused.

A program prints a line with its name and JSON, which names the job. SAID has three such lines: two
processes of the job `a`, and the job `b` with response times. Metrics are job.NAME.FIELD, or
NAME.mean_ms and the like of response times.
"""

import re
from pathlib import Path

import pytest

from sluice.experiment import jobs, metrics, runner, summary
from sluice.experiment.load import load
from sluice.experiment.result import BadResult, check_line
from sluice.experiment.schema import BadExperiment
from sluice.report.wording import Words, metric_words
from sluice.system.devtext import BadText

SAID = """\
starting {now}
one {"job":"a","ios":3,"elapsed_ns":2000}
two {"job":"a","ios":4,"elapsed_ns":5000,"rw":"read"}
three {"job":"b","response_ns":{"min":1,"max":9,"mean":5,"std":4},"histogram":[[1,1],[9,1]]}
done
"""


def result() -> dict:
    """Return a result with the lines of SAID and two counters."""
    counters = {"cpu.idle": [500 * 10**6, "ns"], "disk.reads": [7, "requests"]}
    return {
        "arm": "x",
        "virtual_ms": 2000,
        "counters": counters,
        "jobs": jobs.parse_job_lines(SAID),
    }


def test_lines_of_all_programs_are_found_among_what_is_printed():
    assert [(row["program"], row["job"]) for row in jobs.parse_job_lines(SAID)] == [
        ("one", "a"),
        ("two", "a"),
        ("three", "b"),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('mine {"job":"a",}', "a line of mine is not JSON"),
        ('mine {"jobs":"a"}', 'a line of mine lacks the name of its "job"'),
        ('mine {"job":7}', 'a line of mine lacks the name of its "job"'),
    ],
)
def test_a_wrong_line_is_refused(line: str, said: str):
    with pytest.raises(BadText, match=re.escape(said)):
        jobs.parse_job_lines(f"first\n{line}\n")


def test_numbers_of_several_processes_add_up_but_times_are_the_longest():
    """The two lines of job a have 3 + 4 requests, and 2000 and 5000 ns."""
    assert metrics.evaluate(result(), "job.a.ios") == 7
    assert metrics.evaluate(result(), "job.a.elapsed_ns") == 5000
    assert metrics.evaluate(result(), "job.a.elapsed_us") == 5
    assert metrics.evaluate(result(), "b.max_ns") == 9


def test_numbers_of_all_jobs_add_up():
    """job.* means all jobs; each must have printed the number. read_bytes is reads times bs."""
    said = 'one {"job":"a","reads":3,"bs":4096}\ntwo {"job":"b","reads":2,"bs":8192,"ios":7}\n'
    both = result() | {"jobs": jobs.parse_job_lines(said)}
    assert metrics.evaluate(both, "job.*.reads") == 5
    assert metrics.evaluate(both, "job.*.read_bytes") == 3 * 4096 + 2 * 8192
    assert metrics.evaluate(both, "job.b.read_bytes") == 2 * 8192
    assert metrics.jobs_in_metric("job.*.reads / job.b.ios") == ["b"]
    assert metrics.find_metric_error("job.*.reads", {}, {}) is None
    assert metric_words("job.*.ios").text == "requests of all jobs"
    with pytest.raises(BadResult, match='job "a" printed no number "ios"'):
        metrics.evaluate(both, "job.*.ios")


def test_a_summary_of_times_is_numbers_too():
    assert metrics.evaluate(result(), "job.b.response_max_us") == 0.009


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("job.c.ios", 'x: no job "c" printed a line; there is a, b'),
        ("job.a.iso", 'x: job "a" printed no number "iso"; it has ios, elapsed_ns'),
        ("job.a.rw", 'x: job "a" printed no number "rw"'),
        ("job.b.mean_ms", 'x: job "b" printed no number "mean_ns"'),
        ("a.mean_ms", 'x: job "a" printed no response times'),
    ],
)
def test_what_was_not_printed_is_no_metric(metric: str, said: str):
    """The message names what there is."""
    with pytest.raises(BadResult, match=re.escape(said)):
        metrics.evaluate(result(), metric)


def test_a_metric_may_be_one_divided_by_another():
    """Divided by 0, a metric is 0. Two divisions are refused."""
    units = {"cpu.idle": "ns", "disk.reads": "requests"}
    assert metrics.evaluate(result(), "stat.disk.reads / job.a.ios") == 1
    assert metrics.evaluate(result(), "stat.cpu.idle_s / stat.disk.reads") == pytest.approx(0.5 / 7)
    nothing = {**result(), "counters": {"disk.reads": [0, "requests"]}}
    assert metrics.evaluate(nothing, "job.a.ios / stat.disk.reads") == 0
    assert metrics.jobs_in_metric("stat.disk.reads / job.a.ios") == ["a"]
    assert metrics.jobs_in_metric("a.count / b.mean_ms") == ["a", "b"]
    assert metrics.find_metric_error("stat.disk.reads / job.a.ios", units, {}) is None
    assert metrics.find_metric_error("job.a.ios / stat.disk.raeds", units, {})[1] == "disk.raeds"
    assert metrics.find_metric_error("a.count / a.count / a.count", units, {})[0] == "metric"


def test_a_metric_may_be_a_sum() -> None:
    """The sum is computed before the division."""
    units = {"disk.reads": "requests"}
    assert metrics.evaluate(result(), "stat.disk.reads + job.a.ios") == 14
    assert metrics.evaluate(result(), "stat.disk.reads + job.a.ios / job.a.ios") == 2
    assert metrics.jobs_in_metric("a.count + b.count / c.mean_ms") == ["a", "b", "c"]
    assert metrics.aggregation("a.max_ms + b.max_ms") == "mean"
    assert metrics.find_metric_error("stat.disk.reads + stat.disk.reads", units, {}) is None
    error = metrics.find_metric_error("stat.disk.reads + stat.disk.raeds", units, {})
    assert error and error[1] == "disk.raeds"
    assert metric_words("stat.disk.reads + stat.disk.writes") == Words(
        "reads from the disk + writes to the disk", "requests"
    )
    assert summary.column_head("stat.disk.reads + job.a.ios") == ("stat.disk.reads", "+ job.a.ios")


def test_times_that_are_counted_have_units_and_shares():
    """500 ms of 2000 ms are 25 %."""
    assert metrics.evaluate(result(), "stat.cpu.idle") == 500 * 10**6
    assert metrics.evaluate(result(), "stat.cpu.idle_s") == 0.5
    assert metrics.evaluate(result(), "stat.cpu.idle_percent") == 25
    units = {"cpu.idle": "ns", "disk.reads": "requests"}
    assert metrics.find_metric_error("stat.cpu.idle_percent", units, {}) is None
    assert metrics.find_metric_error("stat.disk.reads_s", units, {})
    assert metrics.find_metric_error("stat.cpu.idle_h", units, {})


FILE = """\
claim = "whatever prints a line is measured"
source = "this test"
[[arms]]
name = "only"
[workload]
commands = '''
echo 'mine {"job":"m","steps":41,"elapsed_ns":3000000}'
kbuild name=k prepare=1 dir=/ sources=2 seed=3
kbuild name=k dir=/ sources=2 seed=3 work=1
'''
[plot]
columns = ["job.k.elapsed_ms", "job.k.reads", "k.max_ms"]
"""


def test_a_run_has_the_lines_of_all_its_programs(tmp_path: Path):
    """The shell's echo is a program, too; kbuild reads and compiles."""
    path = tmp_path / "lines.toml"
    path.write_text(FILE)
    experiment = load(path)
    outcome = runner.execute(experiment, experiment.runs, 1, lambda step: None, tmp_path)
    assert outcome.errors == {}
    [row] = outcome.results
    assert metrics.evaluate(row, "job.m.steps") == 41
    assert metrics.evaluate(row, "k.count") == metrics.evaluate(row, "job.k.reads") > 100
    assert 0 < metrics.evaluate(row, "job.k.compile_ms") < metrics.evaluate(row, "job.k.elapsed_ms")


def test_response_times_are_whole_or_not_there(tmp_path: Path):
    """A line with response times must have their histogram."""
    del (row := jobs.parse_job_lines(SAID)[2])["histogram"]
    with pytest.raises(BadResult, match=re.escape('result.jobs[0] lacks "histogram"')):
        check_line_of([row])


def check_line_of(rows: list[dict]) -> None:
    """Check a result in which everything is right except, perhaps, the lines of jobs."""
    series = {
        **dict.fromkeys(("bin_ms", "bins", "lost", "from_bin"), 0),
        "disks": {},
        "flushes": [],
    }
    config = {"args": "", "data": None, "policies": {}, "tunables": {}}
    texts = dict.fromkeys(("experiment", "arm", "key", "kernel"), "")
    tables = {name: {} for name in ("variables", "images", "counters", "histograms")}
    check_line(
        {**texts, **tables, "config": config, "virtual_ms": 1, "series": series, "jobs": rows}
    )


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("job.q.reads", 'unknown job "q"'),
        ("job.kk.reads", 'unknown job "kk"; did you mean "k"?'),
        ("stat.cpu.idle_hours", 'unknown counter "cpu.idle_hours"; did you mean "cpu.idle'),
    ],
)
def test_a_job_that_no_command_names_is_refused(tmp_path: Path, metric: str, said: str):
    path = tmp_path / "lines.toml"
    path.write_text(FILE.replace("job.k.reads", metric))
    with pytest.raises(BadExperiment, match=re.escape(said)):
        load(path)


@pytest.mark.parametrize(
    ("column", "lines"),
    [
        ("read.p99.9_ms", ("read", "p99.9_ms")),
        ("hist.bio.burst.max", ("hist.bio.burst", "max")),
        ("stat.disk.reads", ("stat.disk", "reads")),
        ("stat.disk.reads / job.a.ios", ("stat.disk.reads", "/ job.a.ios")),
    ],
)
def test_a_columns_head_is_two_lines(column: str, lines: tuple[str, str]):
    assert summary.column_head(column) == lines
