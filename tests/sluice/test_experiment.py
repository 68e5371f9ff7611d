"""Experiments: files are checked strictly, runs repeat to the last byte, failures stay apart.

SMALL is the experiment's file that most tests change. It has two arms, `async` and `delayed`, which
differ in the write policy, and two seeds: four runs. Its workload has two jobs, `read` and `write`.
Fixtures: `small` is SMALL in a file, `sized` has sizes as well, and `made` has SMALL's results. An
arm is a set of policies; a run is one machine's execution.

The twin, which is the kernel compiled for the host, makes the runs in less time than QEMU's
machine, except where the machine is what is tested.
"""

import copy
import json
import os
import re
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import shipped
from records import packed
from typed import LINE, enter

from sluice.cli import options
from sluice.experiment import (
    files,
    findings,
    metrics,
    result,
    runner,
    selection,
    series,
    sets,
    summary,
)
from sluice.experiment import run as runs
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.load import load
from sluice.experiment.locate import Lines
from sluice.experiment.schema import MACHINE_ENGINE, TWIN, BadExperiment, Run
from sluice.experiment.selection import experiment_file, find_experiment_files, twin_variant
from sluice.experiment.verdict import Verdict
from sluice.host.experiments import EXPERIMENTS, OTHERS, experiment_files
from sluice.host.hashes import hash_file, hash_version
from sluice.host.paths import ROOT
from sluice.system import devtext
from sluice.system.image import Content
from sluice.system.trace import Event
from sluice.twin import engine

ENGINE = MACHINE_ENGINE if engine.host_refusal_reason() else TWIN
NAME = "small"

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
tunables = {"aipu.age_ms" = "1 s"}

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
    """Return the file of the experiment SMALL."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def command(path: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `sluice experiment run` with these words to its end."""
    line = [*LINE, "experiment", "run", "--no-report", path]
    words = (f"--engine={ENGINE}", "--folder", str(folder), *words)
    return subprocess.run([*line, *words], cwd=ROOT, capture_output=True, text=True, check=False)


def change_file(path: Path, old: str, new: str) -> int:
    """Replace `old`, which the file has once, and return the line number at which it began."""
    text = path.read_text()
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new))
    return text[: text.index(old)].count("\n") + 1


SIZES = """\

[sizes.full]
seed = [1, 2, 3]
nr = 300

[sizes.quick]
seed = [1]
nr = 50
"""


@pytest.fixture
def sized(small: Path) -> Path:
    """Return the file of SMALL with two sizes: full (three seeds, 300 reads) and quick (one seed,
    50)."""
    change_file(small, "nr=300", "nr={nr}")
    small.write_text(small.read_text() + SIZES)
    return small


# ---- files ----


@pytest.mark.xdist_group(shipped.GROUP)
def test_the_experiments_that_ship_have_no_problems_and_are_listed():
    """Each file loads in both sizes, and `sluice experiment list` prints its claim."""
    done = subprocess.run(
        [*LINE, "experiment", "list"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for path in experiment_files():
        if "[sizes." in path.read_text():
            shipped.load_once(path, "quick")
        assert f"{path.stem}\n    {shipped.load_once(path).claim}\n" in done.stdout


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
        ('name = "delayed"', 'name = "async"', 'a second arm "async"; the first is in line 18'),
        ('"aipu.age_ms"', '"aipu.age"', 'unknown tunable "aipu.age"; did you mean "aipu.age_ms"?'),
        ('"1 s"', '"2 sec"', 'unknown unit "sec"'),
        ('"1 s"', '"0.1 us"', "must be a whole number of ms"),
        ('"1 s"', "99999999999", "not in 0 to 3600000 ms (age at which a dirty block is due)"),
        ("seed={seed} ", "seed={sede} ", 'unknown variable "sede"; did you mean "seed"?'),
        ("seed = [1, 2]", "seed = 1", "seed: must be a list of values"),
        ("seed = [1, 2]", "seed = [1, 1]", "seed: the same value twice"),
        ('"read.p99_ms", ', '"read.p99", ', 'unknown metric "read.p99"'),
        ('"read.p99_ms", ', '"read.count_ms", ', 'unknown metric "read.count_ms"; did you mean'),
        ('"read.p99_ms", ', '"drive.read.commands_ms", ', '"drive.read.commands_ms"'),
        ('"read.p99_ms", ', '"drive.unknown_ms", ', '"drive.unknown_ms"'),
        ('"read.p99_ms", ', '"fast", ', '"fast" is no metric'),
        ('"read.p99_ms", ', '"read.p999_ms", ', '"read.p999_ms" is no metric'),
        ('"stat.disk.writes", ', '"stat.disk.writs", ', 'did you mean "disk.writes"?'),
        ('"hist.disk1.queued.max"]', '"hist.disk1.queue.max"]', 'did you mean "disk1.queued"?'),
        (
            'source = "this test"',
            'equal = [{arms = ["async", "delaid"], why = "chance"}]\nsource = "this test"',
            'unknown arm "delaid"; did you mean "delayed"?',
        ),
        (
            "[[expectations]]",
            '[[equal]] # arms\narms = ["async"]\nwhy = "chance"\n[[expectations]]',
            "arms: must be two arms",
        ),
        (
            "[[expectations]]",
            '[[equal]] # why\narms = ["async", "delayed"]\nwhy = " "\n[[expectations]]',
            "why: say what makes the two arms equal",
        ),
        (
            "[[expectations]]",
            '[[equal]] # why\narms = ["async", "delayed"]\n[[expectations]]',
            'the key "why" is missing',
        ),
        ('histogram = "read"', 'histogram = "reed"', 'unknown job "reed"; did you mean "read"?'),
        (
            'histogram = "read"',
            'distribution = "hist.bio.brust"',
            'unknown histogram "hist.bio.brust"; did you mean "hist.bio.burst"?',
        ),
        (
            'columns = ["read.p99_ms", ',
            'columns = ["read.p99_ms", "read.p99_ms", ',
            'a second column "read.p99_ms"; the first is in line 36',
        ),
        ('op = "<"', 'op = "<>"', 'unknown op "<>"'),
        (
            'value = "about 30"',
            'than = "asink"\nvalue = "+5 %"',
            'unknown arm "asink"; did you mean "async"?',
        ),
        ('value = "about 30"', 'whose = "modl"\nvalue = "30"', 'unknown whose "modl"'),
        (
            'value = "about 30"',
            'than_where = {sead = 1}\nthan = "async"\nvalue = "+5 %"',
            'unknown variable "sead"; did you mean "seed"?',
        ),
        ("value = 1000", 'than = "asink"', 'unknown arm "asink"; did you mean "async"?'),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_meaning(small: Path, old, new, said):
    """`old` in SMALL is replaced by `new`; the message names the line and says what is wrong with
    it."""
    line = change_file(small, old, new)
    with pytest.raises(BadExperiment) as refused:
        load(small)
    [problem] = [text for text in str(refused.value).splitlines() if said in text]
    assert problem.startswith(f"{small}:{line}: "), problem


def test_expectations_and_figures_that_are_there_twice_are_refused_with_both_lines(small: Path):
    """SMALL's expectation and a published figure are each in the file twice."""
    text = small.read_text()
    last = text[text.index("[[expectations]]") :]
    figure = '[[published]]\narm = "async"\nmetric = "read.max_ms"\nvalue = "{}"\n'
    small.write_text(text + last + figure.format(1) + figure.format(2))
    with pytest.raises(BadExperiment) as refused:
        load(small)
    said = str(refused.value).splitlines()
    lines = small.read_text().splitlines()
    for word, what in (("says =", "expectation"), ('metric = "read.max_ms"', "figure")):
        one, other = [i for i, line in enumerate(lines, 1) if line.startswith(word)][-2:]
        why = f"{small}:{other}: a second {what} "
        assert [line for line in said if line.startswith(why) and line.endswith(f"line {one}")], (
            said
        )


def test_a_difference_and_a_figure_of_the_sources_model_are_figures_of_their_own(small: Path):
    """A metric may have a published figure, one that the paper's model gives, and one that is a
    difference from another arm. None of them is a duplicate of another."""
    one = '[[published]]\narm = "async"\nmetric = "read.p99_ms"\nvalue = "28"\n'
    more = (one + 'whose = "model"\n', one + 'than = "delayed"\n')
    small.write_text(small.read_text() + "".join(more))
    experiment = load(small)
    assert [row["value"] for row in experiment.published] == ["about 30", "28", "28"]
    result = {"arm": "async", "variables": {"seed": 1}}
    assert summary.published_figure(experiment, result, "read.p99_ms") == "about 30"
    experiment.published.reverse()
    assert summary.published_figure(experiment, result, "read.p99_ms") == "about 30"
    small.write_text(small.read_text() + more[1])
    with pytest.raises(BadExperiment, match=r"a second figure .* of async from delayed"):
        load(small)


def test_an_arm_of_the_file_and_one_of_its_sets_are_refused(small: Path) -> None:
    """The file has an arm of its own with the name of an arm in experiments/sets/core.toml."""
    line = change_file(small, 'name = "delayed"', 'name = "IPU"')
    small.write_text('sets = "core"\n' + small.read_text())
    why = 'a second arm "IPU"; experiments/sets/core.toml has one, too'
    with pytest.raises(BadExperiment, match=f"{small}:{line + 1}: {why}"):
        load(small)


def test_two_sets_of_one_name_are_refused_with_both_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set is an arm with a name that several experiments use."""
    monkeypatch.setattr(sets, "SETS", tmp_path)
    one = '[[sets]]\nname = "PU"\nabout = "x"\npolicies = {}\n'
    (tmp_path / "a.toml").write_text(one)
    assert [row.name for row in sets.read_sets("a")] == ["PU"]
    (tmp_path / "b.toml").write_text("\n" + one)
    with pytest.raises(BadExperiment, match=rf'"PU", {tmp_path}/a\.toml:2 and .*/b\.toml:3'):
        sets.read_sets("a")


def test_a_policy_whose_name_two_kinds_have_is_not_guessed(small: Path) -> None:
    """The name `none` is that of an order policy and of a prefetch policy."""
    why = r"--with=none: several policies have this name, policies/order/none\.c and policies/pref"
    with pytest.raises(BadExperiment, match=why):
        load(small, policy="none")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("FOLDER", "this is a folder; FOLDER/ means the experiments in it"),
        ("FOLDER/none.toml", "there is no such file"),
        ("FOLDER/none/", "there is no such folder"),
        ("FOLDER/empty/", "there is no .toml file in this folder"),
        ("FOLDER/notes", "an experiment's file has a name that ends in .toml"),
        ("FOLDER/none", "there is no such experiment; there are awol-link, awol-mixed, "),
        ("FOLDER/folder.toml", "there is no such file"),
        ("/**", "there is no such experiment; there are awol-link, awol-mixed, "),
        ("x" * 300, "there is no such experiment; there are awol-link, awol-mixed, "),
        ("x" * 300 + ".toml", "there is no such file"),
    ],
)
def test_a_word_that_means_no_experiment_is_refused_in_one_line(tmp_path: Path, word, said):
    """FOLDER stands for a folder that has a folder `empty`, a folder `folder.toml` and a file
    `notes`."""
    for name in ("empty", "folder.toml"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes").write_text("notes")
    word, said = (text.replace("FOLDER", str(tmp_path)) for text in (word, said))
    with pytest.raises(BadExperiment) as refused:
        find_experiment_files(word)
    assert str(refused.value).startswith(f"{word}: {said}")
    assert "\n" not in str(refused.value)


def test_the_beginning_of_names_may_have_stars():
    assert [path.stem for path in find_experiment_files("mogul-4.1-*st")] == ["mogul-4.1-fast"]


def test_two_experiments_of_one_name_are_refused_and_both_are_named(monkeypatch) -> None:
    """mogul-2.toml appears to be in the folder wang, too."""
    first = selection.experiments_by_name()["mogul-2"]
    second = first.parent.parent / "wang" / first.name
    monkeypatch.setattr(selection, "experiment_files", lambda: [*experiment_files(), second])
    with pytest.raises(BadExperiment, match="have one name") as refused:
        find_experiment_files("wang")
    assert {str(first), str(second)} <= set(str(refused.value).split())


@pytest.mark.parametrize("find", [find_experiment_files, options.files_of])
def test_the_folder_experiments_means_all_and_one_of_its_folders_what_is_in_it(find) -> None:
    """find: the two functions that turn a command's word into files."""
    assert find(f"{EXPERIMENTS}/") == experiment_files()
    there = find(f"{EXPERIMENTS}/mogul/")
    assert there == [path for path in experiment_files() if path.parent.name == "mogul"]
    assert find("mogul-4.1-fast") == [EXPERIMENTS / "mogul" / "mogul-4.1-fast.toml"]


def test_searches_and_sets_are_no_experiments() -> None:
    """The folders in OTHERS hold other TOML files, which no command takes for experiments."""
    names = {path.stem for path in experiment_files()}
    for folder in OTHERS:
        others = {path.stem for path in (EXPERIMENTS / folder).glob("*.toml")}
        assert others and not others & names


def test_each_folder_of_experiments_has_a_line_in_their_readme() -> None:
    said = (EXPERIMENTS / "README.md").read_text()
    listed = re.findall(r"^\| `(\w+)/` \| .", said, re.M)
    assert sorted(listed) == sorted(path.name for path in EXPERIMENTS.iterdir() if path.is_dir())


def test_a_file_that_is_no_text_is_refused_in_one_line(tmp_path: Path):
    (tmp_path / "picture.toml").write_bytes(b"\x89PNG")
    with pytest.raises(BadExperiment, match=r"^\S+picture\.toml: cannot be read: "):
        load(tmp_path / "picture.toml")


def test_a_tunable_is_known_whatever_words_its_unit_has():
    """The unit "% of the cache" has several words."""
    found = load_catalogue().tunables["throttled.dirty_percent"]
    assert (found.unit, found.low, found.high) == ("% of the cache", 1, 100)


@pytest.mark.parametrize(
    "verb",
    [
        "experiment run",
        "experiment report",
        "export",
        "debug",
        "results store",
        "theatre",
        "why",
        "sweep",
        "validate repeat",
    ],
)
def test_every_verb_refuses_a_folder_without_experiments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
):
    assert enter(*verb.split(), f"{tmp_path}/") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{tmp_path}/: there is no .toml file in this folder\n" in said.err


def test_all_problems_are_told_at_once_and_nothing_runs(small: Path, tmp_path: Path):
    """A number is out of its range, and a key is missing."""
    change_file(small, "nbuf = 100", "nbuf = 1")
    change_file(small, 'op = "<"', "")
    done = command(small, tmp_path / "out")
    assert done.returncode == 2
    assert "nbuf = 1: not in" in done.stderr
    assert 'the key "op" is missing' in done.stderr
    assert not (tmp_path / "out").exists()


def test_lines_are_found_past_text_of_several_lines_and_in_arrays_of_tables():
    """Lines finds a key's line by its path. The text in lines 1 to 4 looks like a table and is
    none; a key that is not there has the line of its table."""
    lines = Lines('a = """\n[b]\nc = 1\n"""\n[[d]]\n[[d]]\n"e.f" = 2\ng.h = 3\n')
    assert lines.line(("d", 1, "e.f")) == 7
    assert lines.line(("d", 1, "g", "h")) == 8
    assert lines.line(("d", 0, "no")) == 5
    assert lines.line(("c",)) == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seed = [1]\n", "", 'quick: lacks the variable "seed" of another size'),
        ("seed = [1]\n", "seed = 1\n", "seed: must be a list, as in [sweep]"),
        ("nr = 50", "nr = [50]", "nr: not in [sweep]"),
        ("[sizes.full]", "[sizes.large]", "there is no [sizes.full]"),
        ("op = ", 'size = "fool"\nop = ', 'unknown size "fool"; did you mean "full"?'),
    ],
)
def test_wrong_sizes_are_refused(sized: Path, old, new, said):
    """`old` in the experiment with sizes is replaced by `new`."""
    change_file(sized, old, new)
    with pytest.raises(BadExperiment, match=re.escape(said)):
        load(sized)


def test_a_size_gives_variables_and_replaces_the_values_of_the_sweep(sized: Path):
    """Two arms with three seeds are six runs in full, and with one seed two runs in quick. The
    expectation is of the size full only."""
    change_file(sized, "op = ", 'size = "full"\nop = ')
    full, quick = load(sized), load(sized, "quick")
    assert (full.name, quick.name) == ("small", "small-quick")
    assert (len(full.runs), len(quick.runs)) == (6, 2)
    assert "nr=50 " in quick.runs[0].config["commands"]
    assert (len(full.expectations), len(quick.expectations)) == (1, 0)
    with pytest.raises(BadExperiment, match='unknown size "quik"; did you mean "quick"'):
        load(sized, "quik")


def test_a_size_may_leave_arms_out_with_what_is_expected_of_them(sized: Path):
    """The size quick has only the arm `delayed`. SMALL's expectation is about `async`, so quick has
    none."""
    change_file(sized, "seed = [1]\nnr = 50", 'seed = [1]\nnr = 50\narms = ["delayed"]')
    full, quick = load(sized), load(sized, "quick")
    assert (full.arms, quick.arms) == (["async", "delayed"], ["delayed"])
    assert {run.arm for run in quick.runs} == {"delayed"}
    assert (len(full.expectations), len(quick.expectations)) == (1, 0)
    change_file(sized, '["delayed"]', '["delay"]')
    with pytest.raises(BadExperiment, match='unknown arm "delay"; did you mean "delayed"'):
        load(sized, "quick")


def test_arms_have_variables_of_their_own(small: Path):
    """An arm's variables are filled into the machine, and are no variables of the run."""
    change_file(small, "nbuf = 100", 'nbuf = "{n}"')
    change_file(small, 'drive = "rz58"', 'drive = "{drive}"')
    change_file(small, 'name = "async"', 'name = "async"\nvariables = {n = 100, drive = "rz57"}')
    change_file(
        small, 'name = "delayed"', 'name = "delayed"\nvariables = {n = 200, drive = "fixed"}'
    )
    experiment = load(small)
    assert [run.config["nbuf"] for run in experiment.runs] == [100, 100, 200, 200]
    assert experiment.drive == "rz57, fixed"
    assert experiment.runs[0].variables == {"seed": 1}


@pytest.mark.parametrize(
    ("async_has", "delayed_has", "said"),
    [
        ("{n = 1}", "{}", 'lacks the variable "n" of another arm'),
        ("{seed = 1}", "{seed = 2}", '"seed" is a variable of the sweep or size'),
    ],
)
def test_wrong_variables_of_arms_are_refused(small: Path, async_has, delayed_has, said):
    change_file(small, 'name = "async"', f'name = "async"\nvariables = {async_has}')
    change_file(small, 'name = "delayed"', f'name = "delayed"\nvariables = {delayed_has}')
    with pytest.raises(BadExperiment, match=re.escape(said)):
        load(small)


# ---- runs ----


def test_two_processes_at_once_get_the_same_bytes(small: Path, tmp_path: Path):
    """Two commands at once, whose machines are QEMU's, write results that are equal to the byte and
    name no folder of the host."""
    change_file(small, "[sweep]\nseed = [1, 2]", "[sweep]\nseed = [1]")
    folders = [tmp_path / "a", tmp_path / "b"]
    with ThreadPoolExecutor() as pool:
        done = list(
            pool.map(lambda folder: command(small, folder, "--jobs=2", "--engine=machine"), folders)
        )
    assert [d.returncode for d in done] == [0, 0], done[0].stdout + done[0].stderr
    texts = [(folder / "small" / "results.jsonl").read_bytes() for folder in folders]
    assert texts[0] == texts[1]
    assert texts[0].count(b"\n") == 2
    assert str(tmp_path).encode() not in texts[0]


def test_what_is_there_is_not_run_again(small: Path, tmp_path: Path):
    def make() -> runner.Outcome:
        """Execute the experiment; runs whose results are stored are not made again."""
        experiment = load(small) if engine.host_refusal_reason() else twin_variant(load(small))
        return runner.execute(experiment, experiment.runs, 2, lambda step: None, tmp_path)

    first = make()
    again = make()
    assert (first.made, again.made) == (4, 0)
    assert again.results == first.results
    # this tunable is of the arm `delayed` only, which has two of the four runs
    change_file(small, '"1 s"', '"3 s"')
    assert make().made == 2


def test_runs_of_several_are_one_queue_which_goes_on_while_one_is_looked_at(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """All eight runs of two experiments are made although the caller took only the first outcome so
    far."""
    made: list[str] = []
    all_made = threading.Event()

    def make(run: Run, console: Path) -> tuple[dict, float]:
        """Note the experiment of a run that is begun; set `all_made` at the eighth."""
        made.append(run.experiment)
        if len(made) == 8:
            all_made.set()
        console.write_text("")
        return {"run": run.name}, 0.0

    monkeypatch.setattr(runner.runs, "make_run", make)
    other = small.with_name("other.toml")
    other.write_text(small.read_text())
    asked = [(experiment, experiment.runs) for experiment in (load(small), load(other))]
    steps: list[str] = []
    outcomes = runner.execute_all(asked, 1, lambda step: steps.append(step.run.name), tmp_path)
    first = next(outcomes)
    assert all_made.wait(60)
    assert (first.made, len(first.results), len(steps)) == (4, 4, 4)
    assert made == ["small"] * 4 + ["other"] * 4
    (second,) = outcomes
    assert (second.made, len(steps)) == (4, 8)
    assert len(runner.execute(*asked[1], 1, lambda step: None, tmp_path).results) == 4


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
nbuf = [100, 99999999]  # buffers: the second is more than the memory holds
command = ["true", "false", "sleep 2000"]
"""


def test_a_run_that_fails_is_shown_and_the_others_go_on(tmp_path: Path):
    """Of six runs, one succeeds. The others end with a status other than 0, take too long, or have
    no memory for their buffers."""
    path = tmp_path / "failing.toml"
    path.write_text(FAILING)
    done = command(path, tmp_path / "out")
    assert done.returncode == 1
    assert "FAILED only_nbuf=100_command=false: the machine ended with status 1" in done.stdout
    assert "| before\n" in done.stdout
    assert "FAILED only_nbuf=100_command=sleep 2000: took more than 1000 s of virt" in done.stdout
    _, _, rest = done.stdout.partition("s of virtual time (virtual_limit_s), or was stuck\n")
    where, after, *_ = rest.splitlines()
    console = Path(re.fullmatch(r"    \(the whole console: (.+)\)", where)[1])
    assert "@limit" in console.read_text()
    # The runs are shown as they end; this one may be the last.
    shown = after.startswith(("FAILED ", "1 run made"))
    assert shown, f"only other runs must be shown behind it: {after}"
    assert "FAILED only_nbuf=99999999_command=true: the machine ended with status" in done.stdout
    assert "\n1 run made, 5 failed; results in" in done.stdout
    lines = (tmp_path / "out" / "failing" / "results.jsonl").read_text().splitlines()
    assert len(lines) == 1
    assert '"command":"true"' in lines[0]


def test_an_expectation_that_is_not_met_is_shown_and_is_the_status(small: Path, tmp_path: Path):
    """SMALL expects fewer than 1000 writes, which is met. Fewer than 1 is not met. No run is made
    again for the changed expectation."""
    done = command(small, tmp_path / "out")
    assert done.returncode == 0
    assert "as said  few writes" in done.stdout
    change_file(small, "value = 1000", "value = 1")
    done = command(small, tmp_path / "out")
    assert done.returncode == 1
    assert "NOT SO  few writes" in done.stdout
    assert "expected less than 1" in done.stdout
    assert "0 runs made" in done.stdout


def test_a_papers_expectation_agrees_or_differs_for_a_known_cause(small: Path, tmp_path: Path):
    """An expectation of a paper that is not met makes the command fail, unless the file gives a
    cause (`differs`)."""
    change_file(small, "value = 1000", 'value = 1000\npaper = "Author 1999: fewer than 1,000"')
    done = command(small, tmp_path / "out")
    assert "as the paper  few writes" in done.stdout
    assert "the paper: Author 1999: fewer than 1,000" in done.stdout
    change_file(small, "value = 1000", "value = 1")
    done = command(small, tmp_path / "out")
    assert (done.returncode, "NOT SO  few writes" in done.stdout) == (1, True)
    change_file(small, 'fewer than 1,000"', 'fewer than 1,000"\ndiffers = "our file is longer"')
    done = command(small, tmp_path / "out")
    assert (done.returncode, "differs  few writes" in done.stdout) == (0, True)
    assert "why it differs: our file is longer" in done.stdout
    assert "0 runs made" in done.stdout


def test_our_own_expectation_may_differ_for_a_known_cause(small: Path, tmp_path: Path):
    """The cause (`differs`) is shown only if the expectation is not met."""
    change_file(small, "value = 1000", 'value = 1\ndiffers = "the file is longer"')
    done = command(small, tmp_path / "out")
    assert (done.returncode, "differs  few writes" in done.stdout) == (0, True)
    assert "why it differs: the file is longer" in done.stdout
    change_file(small, "value = 1\n", "value = 1000\n")
    done = command(small, tmp_path / "out")
    assert "as said  few writes" in done.stdout
    assert "why it differs" not in done.stdout


def test_a_finding_needs_its_paper_and_a_check_one_of_two_words(small: Path):
    """A line is added to the expectation, which has no `paper`."""
    for line, why in (
        ('finding = "Author 1999: few"', 'finding: only with "paper"'),
        ('check = "arithmetics"', "arithmetic"),
    ):
        text = small.read_text()
        change_file(small, "value = 1000", f"value = 1000\n{line}")
        with pytest.raises(BadExperiment, match=why):
            load(small)
        small.write_text(text)


def test_the_findings_of_each_paper_are_counted():
    """Expectations with the same words of a paper are one finding. It is confirmed if all of them
    are met, in part if some are, and open (met is None) if nothing was measured."""
    rows = [
        ("Author 1999, 2: all of it", True, ""),
        ("Author 1999, 2: all of it", True, ""),
        ("Author 1999, 3: half of it", True, ""),
        ("Author 1999, 3: half of it", False, "another drive"),
        ("Author 1999: more", False, "another drive"),
        ("Writer 2001: less", False, ""),
        ("Writer 2001: nothing", None, ""),
        ("", False, ""),
    ]
    verdicts = [Verdict("", met, "", paper=said, differs=why) for said, met, why in rows]
    verdicts += [
        Verdict("", True, ""),
        Verdict("", False, "", differs="a longer file"),
        Verdict("", False, "", contest=True),  # a lost contest is not a finding
        Verdict("", True, "", paper="Writer 2001: two and two", check="arithmetic"),
        Verdict("", True, "", paper="Author 1999: all", finding="Author 1999, 2: all of it"),
    ]
    lines = findings.format_findings(findings.verdict_findings(verdicts))
    papers, apart = lines.index(""), lines.index("") + 2
    heads = ["findings", "confirmed", "in", "part", "differ", "NOT", "SO", "open"]
    assert lines[0].split()[2:] == [*heads, "places"]
    assert [line.split()[1:] for line in lines[1:papers]] == [
        ["1999", "3", "1", "1", "1", "0", "0", "4", "of", "6"],
        ["2001", "2", "0", "0", "0", "1", "1", "0", "of", "2"],
    ]
    assert [line.split(")")[1].split() for line in lines[apart:]] == [
        ["3", "1", "1", "1", "0"],
        ["1", "1", "0", "0", "0"],
    ]
    assert findings.format_findings(findings.verdict_findings(verdicts[-3:-2])) == []


# ---- numbers ----


def test_metrics_are_right_on_a_known_distribution():
    """Of 100 times 90 are 1 ms, 9 are 10 ms and one is 1000 ms, so the 99th percentile is 10 ms and
    one time in a hundred is over 10 ms."""
    times_ms = [1] * 90 + [10] * 9 + [1000]
    buckets = [[t * 10**6, t * 10**6 + 1000, times_ms.count(t)] for t in sorted(set(times_ms))]
    histogram = {"unit": "ns", "count": 100, "sum": sum(times_ms) * 10**6, "buckets": buckets}
    result = {"counters": {"c": [7, "times"]}, "histograms": {"h": histogram}}
    found = {
        name: metrics.evaluate(result, f"hist.h.{name}")
        for name in ("count", "mean_ms", "p50_ms", "p99_ms", "p99.9_s", "max_s", "over_10_ms")
    }
    assert found == pytest.approx(
        {
            "count": 100,
            "mean_ms": 11.8,
            "p50_ms": 1,
            "p99_ms": 10,
            "p99.9_s": 1,
            "max_s": 1,
            "over_10_ms": 10,
        },
        rel=1e-3,
    )
    assert metrics.evaluate(result, "stat.c") == 7


@pytest.mark.parametrize(
    ("percent", "value"), [("99.9", 998), ("99", 989), ("0.1", 0), ("100", 999)]
)
def test_a_percentile_is_exceeded_by_no_more_values_than_it_says(percent: str, value: int):
    """The values are 0 to 999. In floating point 99.9 / 100 * 1000 is more than 999, which must not
    make the percentile too large."""
    whole = metrics.Series("us", [[one, one + 1, 1] for one in range(1000)], {})
    assert whole.value(f"p{percent}") == value


@pytest.mark.parametrize(
    ("percent", "value"), [("10", 1), ("11", 2), ("50", 2), ("50.1", 5), ("100", 5)]
)
def test_a_share_is_the_value_up_to_which_values_make_that_part_of_the_sum(
    percent: str, value: int
) -> None:
    """There are 20 blocks: 2 in bursts of one, 8 in bursts of two, 10 in bursts of five."""
    bursts = metrics.Series("blocks", [[1, 2, 2], [2, 3, 4], [5, 6, 2]], {})
    assert bursts.value(f"share{percent}") == value


# Two histograms as /dev/hist prints them. a has 3 values in ns, whose sum is 9: two in the bucket
# from 1 to 2, one in the bucket from 5 to 6. b is empty.
HIST = "hist a ns 3 9\nbucket 1 2 2\nbucket 5 6 1\nhist b requests 0 0\n"


def test_the_name_of_a_run_may_be_a_files_whatever_its_variables_are():
    """A slash in an arm's name or in a variable becomes a hyphen."""
    run = load(experiment_file("mogul-4.1-fast"), "quick").runs[0]
    name = replace(run, arm="a/b", variables={"file": "/data/f"}).name
    assert name == "a-b_file=-data-f"


def test_the_text_of_dev_hist_is_read_strictly():
    """A bucket before any head, a line with a field missing, a last line without its end, and a
    head with a field missing are refused."""
    a = {"unit": "ns", "count": 3, "sum": 9, "buckets": [[1, 2, 2], [5, 6, 1]]}
    b = {"unit": "requests", "count": 0, "sum": 0, "buckets": []}
    assert devtext.parse_histograms(HIST) == {"a": a, "b": b}
    assert devtext.parse_histograms("") == {}
    for text, line in (
        ("bucket 1 2 2\n", "bucket 1 2 2"),
        (HIST + "bucket 1 2\n", "bucket 1 2"),
        (HIST + "bucket 1 2 3", "bucket 1 2 3"),
        (HIST + "hist c ns 1\n" + HIST, "hist c ns 1"),
    ):
        with pytest.raises(devtext.BadText, match=f"not a line of /dev/hist: '{line}'$"):
            devtext.parse_histograms(text)


def test_the_parts_of_a_console_are_found_whatever_the_workload_says():
    """The workload's own output has lines that look like the marks @stat, @workload, @end and
    @done."""
    said = f"@stat\n{HIST}@workload\n@end\nup\n@done\n"
    parts = {"start": "up 1", "stat0": "s 1 n\n", "hist0": HIST, "said": said}
    parts |= {"end": "up 2", "stat1": "s 2 n\n", "hist1": HIST}
    console = (
        f"boot\n@start\nup 1\n@stat\ns 1 n\n@hist\n{HIST}@workload\n{said}"
        f"@end\nup 2\n@stat\ns 2 n\n@hist\n{HIST}@done\npower off\n"
    )
    assert runs.split_readings(console) == parts
    for mark in ("@start", "@done"):
        with pytest.raises(devtext.BadText, match="lacks a part"):
            runs.split_readings(console.replace(f"{mark}\n", ""))


def test_an_image_is_known_by_all_that_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, their contents, links and the script each change the digest; equal contents have the
    same."""
    monkeypatch.setattr(files, "CACHE", tmp_path)
    plain = Content(size="1M", programs=False)
    others = [
        replace(plain, files={"/f": b"1"}),
        replace(plain, files={"/f": b"2"}),
        replace(plain, links={"/l": "f"}),
        replace(plain, rc="ls"),
    ]
    digests = [files.cached_image(content).digest for content in (plain, *others, plain)]
    assert len(set(digests)) == 5
    assert digests[0] == digests[-1]


# ---- time series ----


# all tests that use `made` run in one worker, so that it is made once
its_runs_are_made_once = pytest.mark.xdist_group("experiment")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of SMALL."""
    folder = tmp_path_factory.mktemp("made")
    path = folder / "small.toml"
    path.write_text(SMALL)
    assert command(path, folder).returncode == 0
    return folder / NAME / "results.jsonl"


def test_a_file_is_hashed_again_after_each_change_and_only_then(tmp_path: Path):
    """Here neither the file's size nor the time of its last write shows a change."""
    path = tmp_path / "program"
    found = []
    for text in ("one", "two", "one"):
        path.write_text(text)
        os.utime(path, ns=(10**18, 10**18))
        found += [hash_file(path), hash_file(path)]
    texts = (b"one", b"one", b"two", b"two", b"one", b"one")
    assert found == [sha256(text).hexdigest() for text in texts]
    before = hash_version.cache_info().misses
    hash_file(path)
    assert hash_version.cache_info().misses == before


def request(name: str, at_ms: int, sector: int = 0, response_us: int = 0, write: bool = False):
    """Return an event of disk 1. response_us: the argument of an event "completed"."""
    return Event(at_ms * 10**6, name, 1, sector, 0, response_us * 1000, write)


def test_series_are_right_on_known_events():
    """Events from 1000 to 4500 ms are counted in four bins of 1 s. A queue's length counts also
    requests that were queued before. A heat bucket is [bin, lowest response time in us, count]; a
    bin of flushes has [bin, flushes, blocks, largest]."""
    events = [
        request("queued", 500),
        request("queued", 900, write=True),
        request("completed", 1100, 7, 600_000),
        request("queued", 1200, 8),
        request("queued", 1300, 9),
        request("completed", 3100, 8, 1_900_000),
        request("completed", 3200, 9, 1_900_001),
        Event(3_300 * 10**6, "flush", 0, 0, 0, 5, False),
        Event(3_400 * 10**6, "flush", 0, 0, 0, 9, False),
        request("completed", 3900, 99, 3_000_000, write=True),
        request("queued", 4600),
    ]
    found = series.gather_series(packed(events), 0, 1000, 4500)
    assert found["disks"].pop("disk1") == {
        "reads": [1, 0, 2, 0],
        "writes": [0, 0, 1, 0],
        "queue_max": [3, 3, 3, 0],
        "queue_end": [3, 3, 0, 0],
        "read_sector": [7, None, 9, None],
        "write_sector": [None, None, 99, None],
        "read_heat": [[0, 524288, 1], [2, 1835008, 2]],
    }
    rest = {"bin_ms": 1000, "bins": 4, "lost": 0, "from_bin": 0, "disks": {}}
    assert found == {**rest, "flushes": [[2, 2, 14, 9]]}


def test_series_begin_after_what_was_lost():
    """The first event that was kept, of three lost before it, is in bin 2. So the first whole bin
    is 3."""
    found = series.gather_series(packed([request("completed", 2100)]), 3, 0, 5000)
    assert (found["lost"], found["from_bin"]) == (3, 3)


def test_there_are_never_more_than_a_thousand_bins():
    """For runs of 1 to 20,001 s a bin is 1, 2 or 5 times a power of ten of seconds long."""
    widths = [series.bin_width_ms(s * 1000) for s in (1, 1000, 1001, 2001, 5001, 10_001, 20_001)]
    assert widths == [1000, 1000, 2000, 5000, 10_000, 20_000, 50_000]


def test_buckets_of_the_heat_map_adjoin():
    """Where a bucket ends, the next one begins, so each of the first 5000 us belongs to exactly
    one."""
    low = 0
    for us in range(5000):
        if us == series.bucket_high(low):
            low = us
        assert series.bucket_low(us) == low


def test_many_response_times_have_the_buckets_of_each():
    """The function for arrays agrees with that for one time, next to each power of two up to 2^52
    us."""
    near = [2**n + step for n in range(53) for step in (-1, 0, 1)]
    lows = series.bucket_lows(np.array(near, np.uint64)).tolist()
    assert lows == [series.bucket_low(us) for us in near]


def test_a_queue_whose_beginning_was_lost_is_not_negative():
    """queued: True for a request that is queued, False for one that ends. The first end has no
    known beginning."""
    queued = np.array([False, True, True, False, False, False, True])
    assert series.queue_lengths(queued).tolist() == [0, 1, 2, 1, 0, 0, 1]


def test_without_requests_a_queue_is_empty_in_each_bin():
    """A hit in the cache is no request. Without events a queue keeps its length."""
    found = series.gather_series(packed([request("queued", 500), request("hit", 1500)]), 0, 0, 3000)
    assert found["disks"] == {} and found["bins"] == 3
    events = [request("queued", 500), request("queued", 1500), request("completed", 1500, 7)]
    found = series.gather_series(packed(events), 0, 1000, 4000)["disks"]["disk1"]
    assert (found["queue_max"], found["queue_end"]) == ([2, 1, 1], [1, 1, 1])


@its_runs_are_made_once
def test_series_agree_with_the_kernels_counters(made: Path):
    """The series come from the trace. Two requests, and the 20 blocks of a flush, may be counted
    while /dev is being read."""
    for row in result.read(made):
        disk = result.disk_series(row)
        for kind in ("read", "write"):
            counted = row["histograms"][f"disk1.{kind}_response"]["count"]
            assert abs(sum(disk[f"{kind}s"]) - counted) <= 2  # done while /dev was read
        assert sum(n for *_, n in disk["read_heat"]) == sum(disk["reads"])
        queued = row["histograms"]["disk1.queued"]["buckets"]  # the maximum is that since boot
        low, high = next((low, high) for low, high, n in reversed(queued) if n)
        assert low <= max(disk["queue_max"]) <= high + 2
        blocks = sum(blocks for _, _, blocks, _ in row["series"]["flushes"])
        assert abs(blocks - row["histograms"]["bio.burst"]["sum"]) <= 20


def test_lost_events_are_told_of_and_their_time_left_out(small: Path, tmp_path: Path):
    """A trace of 1 KiB loses events in each of the four runs, so the series begin late."""
    change_file(small, "nbuf = 100", "nbuf = 100\ntrace_k = 1")
    done = command(small, tmp_path / "out")
    assert done.stdout.count("events; a larger trace_k keeps them") == 4
    for row in result.read(tmp_path / "out" / NAME / "results.jsonl"):
        assert row["series"]["lost"] > 1000
        first = row["series"]["from_bin"]
        assert 0 < first < row["series"]["bins"]
        assert not any(result.disk_series(row)["reads"][: first - 1])


@its_runs_are_made_once
def test_the_terminal_shows_when_writes_are_done(made: Path):
    """Each bar is the writes of one bin."""
    row = result.read(made)[0]
    writes = [0, 60, 0, 30]
    row["series"] |= {"bins": 4, "disks": {"disk1": {"writes": writes}}}
    assert summary.sparklines([row])[-1] == "async  ▁█▁▅"
    row["series"]["disks"] = {}
    assert summary.sparklines([row]) == []


# ---- a line of the results ----


@its_runs_are_made_once
def test_lines_of_results_are_as_documented(made: Path):
    """Each key of a result is a word of the docstring of sluice/experiment/result.py."""
    results = result.read(made)
    assert len(results) == 4
    documented = re.findall(r"\w+", result.__doc__)
    for name in (*results[0], *results[0]["series"], *result.DISK):
        assert name in documented, name


@its_runs_are_made_once
@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (["series"], None, 'result lacks "series"'),
        (["arm"], None, 'result lacks "arm"'),
        (["extra"], 1, 'result has an unknown "extra"'),
        (["virtual_ms"], "7", 'result.virtual_ms is "7"'),
        (["virtual_ms"], True, "result.virtual_ms is true"),
        (["counters", "disk.reads"], [1], "result.counters.disk.reads has 1 parts, not 2"),
        (["series", "disks", "disk1", "reads"], None, 'result.series.disks.disk1 lacks "reads"'),
        (["series", "disks", "disk1", "reads", 3], 0.5, "disk1.reads[3] is 0.5"),
        (["series", "bins"], 3, "parts, not 3"),
        (["jobs", 0, "histogram", 0], [1, "2"], 'result.jobs[0].histogram[0][1] is "2"'),
    ],
)
def test_a_line_that_is_no_result_is_refused_with_words(
    made: Path, tmp_path: Path, where, value, said
):
    """The value at the path `where` is replaced, or deleted if the new value is None."""
    good = json.loads(made.read_text().splitlines()[0])
    bad = copy.deepcopy(good)
    part = bad
    for key in where[:-1]:
        part = part[key]
    if value is None:
        del part[where[-1]]
    else:
        part[where[-1]] = value
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps(bad) + "\n")
    with pytest.raises(result.BadResult) as refused:
        result.read(path)
    assert str(refused.value).startswith(f"{path}:2: ")
    assert said in str(refused.value)


def test_a_policy_can_be_measured_beside_those_of_an_experiment(tmp_path: Path) -> None:
    """The policy sstf gives one more arm: the first arm, with this scheduler."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    alone, more = load(path), load(path, policy="sstf")
    assert (alone.name, more.name) == ("small", "small+sstf")
    assert more.arms == [*alone.arms, "sstf"]
    made = [run.config["policies"] for run in more.runs if run.arm == "sstf"]
    first = [run.config["policies"] for run in alone.runs if run.arm == alone.arms[0]]
    assert made == [policies | {"sched": "sstf"} for policies in first]


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("nosuch", "--with=nosuch: there is no policy of this name in policies/"),
        ("deadlin", 'no policy of this name in policies/; did you mean "deadline"?'),
        ("async", '--with=async: the first arm, "async", has this policy'),
    ],
)
def test_a_policy_to_be_measured_too_must_be_there_and_another(
    tmp_path: Path, policy: str, why: str
) -> None:
    """No policy has this name, or the first arm uses the policy already."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    with pytest.raises(BadExperiment) as raised:
        load(path, policy=policy)
    assert why in str(raised.value)


def test_the_hash_of_an_image_is_that_of_its_bytes_wherever_its_holes_are(tmp_path: Path):
    """A file with holes and its copy without them have the same hash. Another byte, or a longer
    file, has another."""
    sparse, full, other = (tmp_path / name for name in ("sparse", "full", "other"))
    for path in (sparse, other):
        with path.open("wb") as file:
            file.seek(5_000_000)
            file.write(b"here" if path is sparse else b"her" + bytes(1))
            file.truncate(9_000_000)
    full.write_bytes(sparse.read_bytes())
    assert full.stat().st_blocks > sparse.stat().st_blocks
    first = files.hash_sparse(sparse)
    assert files.hash_sparse(full) == first != files.hash_sparse(other)
    with full.open("r+b") as file:
        file.truncate(9_000_001)
    assert files.hash_sparse(full) != first
