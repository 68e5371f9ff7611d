"""Sweeps on the twin (sluice/sweep/), and their runs (sluice/experiment/trial.py).

A sweep measures an experiment at many points. A point has a value for each axis: an arm, a number
of buffers (nbuf), a tunable, a policy or a variable. `over` is the text that says which
(`nbuf=32..256:3`: three values from 32 to 256). Measured points are kept in a journal, so that none
is measured twice. `tiny` is an experiment with two arms and two seeds, and `sweep_over` makes a
sweep of it; no word about the objective means read.mean_ms.
"""

import platform
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, islice, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pyarrow import parquet
from typed import enter

from sluice import requests
from sluice.experiment import run as runs
from sluice.experiment import trial
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.load import load, open_experiment
from sluice.experiment.run import RunFailed
from sluice.experiment.runner import OtherTree
from sluice.experiment.selection import twin_variant
from sluice.sweep import full_sweep, journal, presentation, sampling, sizes
from sluice.sweep.full_sweep import Measured, Objective, Sweep
from sluice.sweep.journal import Journal, tree_hash
from sluice.sweep.ranges import BadSweep, Choice, Range, parse_axes
from sluice.sweep.sweep_runs import expect_same_tree, make_runs, open_measurer
from sluice.system import image
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    platform.machine() not in engine.HOSTS, reason=f"the twin runs on {engine.HOSTS} only"
)

TINY = '''
claim = "Reads of a file take longer with fewer buffers."
source = "a test"
[machine]
nbuf = 64
[machine.root]
drive = "rz58"
files = {"/f" = "1M"}
[[arms]]
name = "pu"
policies = {update = "pu"}
[[arms]]
name = "aipu"
policies = {update = "aipu"}
tunables = {"aipu.age_ms" = 3000}
[workload]
commands = """
sh -c 'exit {code}'
iogen bs=4k seed={seed} name=read rw=randread filename=/f nr={reads}"""
[sweep]
seed = [1, 20]
[sizes.full]
seed = [1, 20]
reads = 300
code = 0
[plot]
columns = ["read.mean_ms"]
'''


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Return the file of an experiment whose runs take some milliseconds."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture
def sweep_over(tiny: Path) -> Callable[..., Sweep]:
    """Return a function that makes a sweep of the experiment `tiny`."""

    def parse(over: str, want: str = "read.mean_ms", **more: object) -> Sweep:
        return full_sweep.parse_sweep(str(tiny), over, want=want, **more)

    return parse


def make_sweep(sweep: Sweep, folder: Path, done: Callable[[], None] = lambda: None) -> tuple:
    """Return the points of a sweep, and what was wrong with others. The journal is in the
    folder."""
    with open_measurer(Journal(folder / "journal.jsonl"), sweep.columns, 2) as measurer:
        return full_sweep.measure_points(sweep, measurer, done)


# ---- runs ----


def test_a_run_of_a_resident_twin_has_the_figures_of_a_plain_one(tiny: Path) -> None:
    """The seeds 1 and 20 make scripts of two lengths. Each run finds what the run before has left
    in the resident twin."""
    for run in twin_variant(load(tiny)).runs:
        result, _ = runs.make_run(run, tiny.with_suffix(".console"))
        figures = trial.measure_run(run).figures
        assert figures == {name: result[name] for name in figures}
        assert {"counters", "histograms", "jobs", "virtual_ms"} == figures.keys()


def test_the_disk_of_a_run_is_the_one_that_mkfs_makes(tiny: Path, tmp_path: Path) -> None:
    """A root disk is made once for many runs, and each run's scripts are put into it."""
    (run, *_) = twin_variant(load(tiny)).runs
    expected = image.make_image(
        tmp_path / "whole.img", runs.content(run, "root", runs.guest_scripts(run))
    )
    made, places = trial.build_root_disk(run, tmp_path)
    disk = bytearray(made.read_bytes())
    assert disk != expected.read_bytes()
    for path, text in runs.guest_scripts(run).items():
        disk[places[path] : places[path] + len(text)] = text.encode()
    assert disk == expected.read_bytes()


def test_a_run_that_fails_says_why(tiny: Path) -> None:
    """A program that is not there, a status that is not 0, and a run that takes too long."""
    (run, *_) = twin_variant(load(tiny)).runs
    for change, why in (
        ({"commands": "usertests"}, "no program usertests"),
        ({"commands": "false"}, "ended with status 1"),
        ({"commands": "sleep 50", "virtual_limit_s": 5}, "more than 5 s of virtual time"),
    ):
        with pytest.raises(RunFailed, match=why):
            trial.measure_run(replace(run, config=run.config | change))


def test_of_a_run_whose_time_is_up_the_console_is_kept_and_not_shown(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the file of the console."""
    monkeypatch.setattr(trial, "CONSOLES", tmp_path / "consoles")
    (run, *_) = twin_variant(load(tiny)).runs
    long = {"commands": "echo so far; sleep 50", "virtual_limit_s": 5}
    with pytest.raises(RunFailed) as failed:
        trial.measure_run(replace(run, config=run.config | long))
    line, where = str(failed.value).splitlines()
    assert line == "took more than 5 s of virtual time (virtual_limit_s), or was stuck"
    (console,) = (tmp_path / "consoles").iterdir()
    assert where == f"    (the whole console: {console})"
    assert "so far\n" in console.read_text()


# ---- points ----

# Axes with 3 arms, 5 values of nbuf in logarithmic steps, and 3 values of a variable
AXES = [
    Choice("arm", "arm", ("a", "b", "c")),
    Range("nbuf", "machine", 16, 4096, 5, True),
    Range("share", "variable", 0.0, 1.0, 3, False),
]


@pytest.mark.native
def test_a_grid_has_every_combination_of_evenly_spaced_values() -> None:
    """AXES has 3 arms, 5 sizes of the cache in logarithmic steps, and 3 shares."""
    points = list(chain.from_iterable(sampling.grid_points(AXES, 0, 1)))
    assert len(points) == len({tuple(point.values()) for point in points}) == 3 * 5 * 3
    assert sorted({point["nbuf"] for point in points}) == [16, 64, 256, 1024, 4096]
    assert sorted({point["share"] for point in points}) == [0, 0.5, 1]
    assert Range("x", "variable", 1, 3, None, False).grid() == [1, 2, 3]


@pytest.mark.native
@pytest.mark.parametrize("how", ["random", "quasi"])
def test_points_are_in_their_ranges_even_and_the_same_each_time(how: str) -> None:
    """3000 points: each of the three arms has about 1000 of them. The values of nbuf, from 16 to
    4096, are even in their logarithms, so half of them are below 256."""
    first, second = (list(chain.from_iterable(sampling.HOW[how](AXES, 3000, 1))) for _ in range(2))
    assert first == second
    assert len(first) == 3000
    assert all(800 < n < 1200 for n in Counter(point["arm"] for point in first).values())
    buffers = np.array([point["nbuf"] for point in first])
    assert 16 <= buffers.min() < 20 and 4000 < buffers.max() <= 4096
    assert 0.45 < np.mean(buffers < 256) < 0.55
    assert all(isinstance(point["nbuf"], int) for point in first)


@pytest.mark.native
def test_quasi_random_points_are_haltons() -> None:
    """The first numbers of Halton's sequence to the bases 2 and 3. Its points leave smaller holes
    than random points."""
    assert [sampling.halton_number(i, 2) for i in range(1, 6)] == [
        1 / 2,
        1 / 4,
        3 / 4,
        1 / 8,
        5 / 8,
    ]
    assert [sampling.halton_number(i, 3) for i in range(1, 4)] == pytest.approx(
        [1 / 3, 2 / 3, 1 / 9]
    )
    shares = [point["share"] for point in islice(chain(*sampling.halton_points(AXES, 256, 1)), 256)]
    holes = np.diff([0, *sorted(shares), 1])
    assert holes.max() < 4 / 256  # of points by chance the largest is some 6 / 256


@pytest.mark.native
def test_a_search_goes_where_results_were_good() -> None:
    """The result is lowest at nbuf = 90 and share = 0, and points above nbuf = 2000 fail. The
    search repeats exactly, and most of its last 30 points are near the minimum."""

    def result_at(point: dict) -> tuple[float] | None:
        """Return a point's result; None means that its run fails."""
        if point["nbuf"] > 2000:
            return None
        return (np.log2(point["nbuf"] / 90) ** 2 + point["share"],)

    def search() -> list[dict]:
        """Return the 80 points that a search tries. It yields some, and is sent their results."""
        batches = sampling.search_points(AXES[1:], 80, 1)
        points: list[dict] = []
        results = None
        while True:
            try:
                batch = batches.send(results)
            except StopIteration:
                return points
            points += batch
            results = [result_at(point) for point in batch]

    points = search()
    assert len(points) == 80
    assert points == search()
    near = [abs(np.log2(p["nbuf"] / 90)) < 1 and p["share"] < 0.3 for p in points]
    assert sum(near[-30:]) > 15 > 2 * sum(near[:20])


WRONG = {  # what is swept over, and the message that refuses it
    "": "--over: say what the sweep goes over",
    "nbux=1..3": r'--over: nbux=1..3: unknown .* "nbux"; did you mean "nbuf"\?',
    "nbuf": "must be NAME=LOW..HIGH or NAME=A|B",
    "nbuf=1..3": "1: must be 16 or more",
    "nbuf=90..30": "the first must be less than the second",
    "nbuf=16..3000": "say how many values a grid takes, as nbuf=16..3000:5",
    "nbuf=16..30:1": "a range has at least 2 values",
    "nbuf=16..64:100001": "a range has at most 100000 values",
    "nbuf=16..64:99999999999": "a range has at most 100000 values",
    "nbuf=16...30": "must be LOW..HIGH, LOW..HIGH:STEPS",
    "nbuf=16..30:3, nbuf=20": "nbuf=20: stands there twice",
    "nbuf=16|16": "every value must be there, and only once",
    "nbuf=many": "must be a number",
    "nbuf=20.5": "must be a whole number",
    "seed=0..9:3:log": "a logarithmic range begins above 0",
    "sched=fcfs|cloock": r'unknown sched policy "cloock"; did you mean "clook"\?',
    "sched=1..3": "give values as sched=A|B",
    "arm=pu|ipau": r'unknown arm "ipau"; did you mean "aipu"\?',
    "aipu.age_ms=1..99999999999:3": "99999999999: must be [0-9]+ to [0-9]+",
}


@pytest.mark.parametrize("over", WRONG)
def test_what_cannot_be_swept_is_refused_with_the_item_and_the_reason(
    over: str, sweep_over: Callable[..., Sweep]
) -> None:
    with pytest.raises(BadSweep, match=WRONG[over].replace("|", r"\|")):
        sweep_over(over)


def test_a_sweep_that_lacks_something_is_refused(sweep_over: Callable[..., Sweep]) -> None:
    """A word is missing or wrong, or the sweep has 17 axes."""
    for more, why in (
        ({"how": "random"}, "--points: say how many"),
        ({"points": 7}, "--points: a grid takes all"),
        ({"want": ""}, "--metrics: say what is to be less.*read.mean_ms"),
        ({"want": "raed.mean_ms"}, '--metrics: raed.mean_ms: unknown job "raed"; did you mean'),
        ({"want": "read.mean"}, "--metrics: read.mean: unknown metric"),
        ({"how": "grit"}, r'unknown --how "grit"; did you mean "grid"'),
    ):
        with pytest.raises(BadSweep, match=why):
            sweep_over("nbuf=32..64:2", **more)
    many = [f"{name}={row.default}" for name, row in load_catalogue().tunables.items()]
    with pytest.raises(BadSweep, match="a sweep goes over 16 at most"):
        sweep_over(", ".join(many[:17]))


def test_each_kind_of_name_changes_the_runs(sweep_over: Callable[..., Sweep]) -> None:
    """An arm, a machine's key, a tunable, a policy and two variables."""
    over = "arm=aipu, nbuf=32, aipu.age_ms=4000, sched=sstf, reads=7, seed=3"
    sweep = sweep_over(over)
    (point,) = chain.from_iterable(sampling.grid_points(sweep.axes, 0, 1))
    (run,) = sweep.maker.runs(point, 1)
    assert (sweep.runs, run.arm, run.config["engine"]) == (1, "aipu", "twin")
    words = run.config["args"].split()
    assert {"nbuf=32", "aipu.age_ms=4000", "sched=sstf", "update=aipu"} <= set(words)
    assert "seed=3 " in run.config["commands"]
    assert run.config["commands"].endswith("nr=7")


def test_a_sweep_says_that_its_time_is_charged(tmp_path: Path, tiny: Path) -> None:
    """The twin has no counted time, so the sweep has charged time, whatever the file says."""
    counted = tmp_path / "counted.toml"
    counted.write_text(tiny.read_text().replace("[machine]\n", '[machine]\nclock = "counted"\n', 1))
    assert load(counted).runs[0].config["clock"] == "counted"
    sweep = full_sweep.parse_sweep(str(counted), "arm=aipu, nbuf=32", want="read.mean_ms")
    (point,) = chain.from_iterable(sampling.grid_points(sweep.axes, 0, 1))
    assert {run.config["clock"] for run in sweep.maker.runs(point, 1)} == {"charged"}


def test_arms_that_are_not_named_are_all_swept(tiny: Path) -> None:
    found = parse_axes("nbuf=32", open_experiment(tiny), load_catalogue())
    assert found[0] == Choice("arm", "arm", ("pu", "aipu"))


# ---- whole sweeps ----


def test_a_sweep_that_is_stopped_goes_on_and_no_run_is_made_twice(
    sweep_over: Callable[..., Sweep], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """^C comes at the third run of six. Another sweep finds the point that it shares in the
    journal, and makes the two runs of its other point."""
    sweep, done = sweep_over("arm=pu, nbuf=32..256:3"), []
    measure, measured = trial.measure_run, []
    monkeypatch.setattr(trial, "measure_run", lambda run: measured.append(run) or measure(run))

    def stop() -> None:
        """Be interrupted after the third run."""
        done.append(1)
        if len(done) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_sweep(sweep, tmp_path, stop)
    points, errors = make_sweep(sweep, tmp_path)
    assert errors == []
    assert [point.point for point in points] == [
        {"arm": "pu", "nbuf": nbuf} for nbuf in (32, 144, 256)
    ]
    assert sweep.runs == 6
    assert len({str(run.config) for run in measured}) == 6
    again = len(measured)
    assert again < 6 + 6
    assert make_sweep(sweep_over("arm=pu, nbuf=256..32000:2"), tmp_path)[0][0].figures == (
        points[2].figures
    )
    assert len(measured) == again + 2


def test_the_figures_of_a_sweep_are_the_means_of_plain_runs(
    sweep_over: Callable[..., Sweep], tiny: Path, tmp_path: Path
) -> None:
    """With 144 buffers the plain runs have the same mean. With 32 buffers reads take 20 % longer
    than with 256, at least."""
    points, _ = make_sweep(sweep_over("arm=pu, nbuf=32..256:3"), tmp_path)
    tiny.write_text(tiny.read_text().replace("nbuf = 64", "nbuf = 144"))
    plain = [run for run in twin_variant(load(tiny)).runs if run.arm == "pu"]
    results = [runs.make_run(run, tmp_path / "console")[0] for run in plain]
    assert points[1].figures["read.mean_ms"] == pytest.approx(
        np.mean([full_sweep.metrics.evaluate(result, "read.mean_ms") for result in results])
    )
    assert points[0].figures["read.mean_ms"] > points[2].figures["read.mean_ms"] * 1.2


def test_a_run_that_fails_is_told_and_its_point_is_missing(
    sweep_over: Callable[..., Sweep], tmp_path: Path
) -> None:
    """With code=1 the workload's script fails."""
    points, errors = make_sweep(sweep_over("arm=pu, seed=1, code=0|1"), tmp_path)
    assert [point.point["code"] for point in points] == [0]
    assert len(errors) == 1
    assert "pu_seed=1_code=1: the machine ended with status 1" in errors[0]


def test_a_worker_with_another_tree_is_refused(sweep_over: Callable[..., Sweep]) -> None:
    """tree_hash() is a hash of the programs that a run needs."""
    sweep = sweep_over("arm=pu, seed=1")
    (run,) = sweep.maker.runs({"arm": "pu", "seed": 1}, 1)
    assert make_runs({"a": run}, ["read.mean_ms"], tree_hash())[0].error == ""
    with pytest.raises(OtherTree, match="has another tree"):
        make_runs({"a": run}, ["read.mean_ms"], "another")


def test_a_twin_that_was_built_anew_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin's file changes while workers run."""
    twin = tmp_path / "twin"
    twin.write_bytes(b"old")
    monkeypatch.setattr(engine, "TWIN", twin)
    monkeypatch.setattr(journal, "TWIN", twin)
    before = tree_hash()
    expect_same_tree(before, "is right")
    twin.write_bytes(b"newer")
    with pytest.raises(OtherTree, match="had its tree built anew"):
        expect_same_tree(before, "had its tree built anew")
    assert make_runs({}, [], tree_hash()) == []
    with pytest.raises(OtherTree):
        make_runs({}, [], before)


def test_what_the_drive_did_is_no_column_of_a_sweep_which_reads_no_traces() -> None:
    """Of the columns of this experiment's table, four need a trace."""
    assert full_sweep.parse_sweep("wang-trends", "nbuf=64", want="update.p99_ms").columns == [
        "update.p99_ms",
        "update.mean_ms",  # the only column of its table that needs no trace
    ]


def test_a_sweep_of_too_many_points_is_refused_before_any_is_made(
    sweep_over: Callable[..., Sweep],
) -> None:
    """At most 100,000 points; 1000 by 101 values for two arms are 202,000."""
    axis = "aipu.age_ms=1..3600000"
    assert sweep_over(axis, how="random", points=100_000).count == 100_000
    for over, more, why in (
        (axis, {"how": "random", "points": 100_001}, "--points: give fewer: 100001 points"),
        (f"{axis}:1000, nbuf=16..4096:101", {}, "--over: give fewer values: 202000 points"),
    ):
        with pytest.raises(BadSweep, match=f"{why}, and a sweep has at most 100000"):
            sweep_over(over, **more)


def test_the_blocks_that_a_trace_reads_are_counted_once_each() -> None:
    """The count is that of a set of all blocks of the reads. Its time does not depend on the
    longest request: 4 GiB once took a million passes."""
    chance = np.random.default_rng(7)
    for reach in (1 << 16, 1 << 20):
        places, lengths = chance.integers(0, reach, 200), chance.integers(1, 20_000, 200)
        found = requests(0, places, lengths, np.arange(200) % 3 > 1)
        reads = [row for row in found.tolist() if not row[3]]  # a row: time, offset, bytes, write
        spans = [range(at // 4096, (at + size - 1) // 4096 + 1) for _, at, size, _ in reads]
        assert sizes.count_blocks_read(found) == len(set().union(*spans))
    long = requests(0, [0, 5 << 30, 4096], [(1 << 32) - 1, 1, 1])
    assert sizes.count_blocks_read(long) == (1 << 20) + 1
    assert sizes.count_blocks_read(requests(0, [0], write=1)) == 0


def test_a_trace_with_fewer_blocks_than_a_cache_needs_has_no_larger_share(tmp_path: Path) -> None:
    """Half of 15 or 16 blocks are 8 buffers. All of 16 would be enough, all of 15 would not."""
    for blocks, why in ((15, "give no --cache"), (16, "give a larger share")):
        (tmp_path / "w.spc").write_text("".join(f"0,{8 * i},4096,R,0\n" for i in range(blocks)))
        with pytest.raises(BadSweep, match=f"are 8 buffers, and the kernel needs 16: {why}$"):
            sizes.buffer_counts(tmp_path / "w.spc", "", None, "50" if blocks == 16 else "53")


def test_a_number_of_points_below_1_is_refused() -> None:
    with pytest.raises(BadSweep, match="1 or more"):
        full_sweep.parse_sweep("wang-trends", "nbuf=64..128", "random", -5, "update.p99_ms")


def test_the_command_writes_a_table_and_a_page_that_loads_nothing(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Two sizes and three seeds for two arms are 12 points. The metrics are two objectives; + means
    that more is better."""
    words = ["--over", "nbuf=32..256:2, seed=1|2|3", "--metrics", "read.mean_ms, +read.p99_ms"]
    assert enter("sweep", *words, "--folder", tmp_path, tiny) == 0
    said = capsys.readouterr().out
    assert said.startswith("The Pareto front:\npoint")
    paths = [Path(path) for path in re.findall(r"^(?:table|page): +(.*)$", said, re.M)]
    table = parquet.read_table(paths[0])
    assert table.column_names == ["point", "arm", "nbuf", "seed", "read.mean_ms", "read.p99_ms"]
    assert table.num_rows == 12
    assert b"sluice sweep" in table.schema.metadata[b"sluice"]
    page = paths[1].read_text()
    assert "1 run each, so no interval" in said and "1 run each, so no interval" in page
    assert page.count("<figure>") == 3
    assert page.count("<svg") >= 3
    assert not re.search(r"<script|(?:src|href)=\"http", page)
    assert enter("sweep", *words[2:], "--over", "x=1", tiny) == 2
    assert "--over: x=1: unknown" in capsys.readouterr().err


@pytest.mark.native
def test_the_front_has_the_points_that_no_other_beats_and_all_of_equal_ones() -> None:
    """a is to be low and b high; b is stored with its sign changed."""
    values = [(1, 9), (2, 5), (2, 6), (3, 5), (4, 1), (1, 9)]
    points = [Measured(i, {}, {"a": a, "b": -b}, []) for i, (a, b) in enumerate(values)]
    objectives = [Objective("a", False), Objective("b", True)]  # lower a, higher b
    sweep = Sweep("", Path(), "", "grid", 0, objectives, [], None)
    assert [point.number for point in full_sweep.pareto_front(sweep, points)] == [0, 5, 1, 4]


@pytest.mark.native
def test_a_mean_over_seeds_has_its_interval_and_other_runs_have_none() -> None:
    """An interval needs several runs that differ in the seed only."""

    def texts_of(**variables: list) -> tuple[str, str]:
        """Return the last cell of a point's row for runs with these variables, and the note about
        the runs."""
        lists = [dict(zip(variables, row, strict=True)) for row in product(*variables.values())]
        rows = [{"read.mean_ms": 20 + i % 3, **row} for i, row in enumerate(lists)]
        point = Measured(1, {"arm": "a"}, {"read.mean_ms": 21.0}, rows)
        maker = SimpleNamespace(axes=AXES[:1], opened=SimpleNamespace(sweep=variables))
        sweep = Sweep("", Path(), "", "grid", 1, [Objective("read.mean_ms", False)], [], maker)
        return presentation.point_table(sweep, [point])[1][-1], presentation.describe_runs(
            sweep, [point]
        )

    assert texts_of(seed=[1]) == ("21", "1 run each, so no interval.")
    assert texts_of(seed=[1, 2]) == ("21", "2 runs each, too few for an interval.")
    several = "6 runs each, which differ in more than the seed, so no interval."
    assert texts_of(seed=[1, 2, 3], scale=[1, 2]) == ("21", several)
    figure, said = texts_of(seed=[1, 2, 3, 4, 5, 6])
    assert re.fullmatch(r"21 \(20\.\d+ to 21\.\d+\)", figure)
    assert said == "6 runs each; in brackets are 95 % intervals of means."


@pytest.mark.native
def test_a_journal_that_was_cut_short_is_read_to_there(tmp_path: Path) -> None:
    """The process was killed while it wrote the second line."""
    path = tmp_path / "journal.jsonl"
    Journal(path).add("a", {"x": 1})
    with path.open("a") as out:
        out.write('{"key": "b", "fig')
    journal = Journal(path)
    assert journal.find("a", ["x"]) == {"x": 1}
    assert journal.find("a", ["x", "y"]) is journal.find("b", ["x"]) is None
    journal.add("c", {"x": 3})
    assert Journal(path).find("c", ["x"]) == {"x": 3}
